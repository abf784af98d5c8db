// Tensors of texts.
#include "tensor/text.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/text_scope.h"

namespace trainyard {
namespace {

TEST(Texts, EqualTextsHaveEqualNumbers) {
  EXPECT_EQ(text_number(""), 0U);
  const uint64_t number = text_number("monday");
  EXPECT_EQ(text_number(std::string("mon") + "day"), number);
  EXPECT_NE(text_number("Monday"), number);
  EXPECT_EQ(text_of(number), "monday");
}

TEST(Texts, BytesFromElsewhereAreNoText) {
  EXPECT_THROW(text_of(uint64_t{1} << 60), Error);
}

TEST(Texts, ThreadsAgreeOnNumbers) {
  std::vector<uint64_t> found[2];
  const auto count = [](std::vector<uint64_t>& numbers) {
    for (int i = 0; i < 1000; ++i) numbers.push_back(text_number("thread " + std::to_string(i)));
  };
  std::thread other(count, std::ref(found[0]));
  count(found[1]);
  other.join();
  EXPECT_EQ(found[0], found[1]);
}

TEST(Texts, ShapeAndTextsMustAgree) {
  const std::vector<std::string> texts = {"a", "b"};
  EXPECT_EQ(text_at(text_tensor(Shape{2, 1}, texts).view(), 1), "b");
  EXPECT_THROW(text_tensor(Shape{3}, texts), Error);
}

Tensor as_texts(const Tensor& numbers) {
  return cast(numbers, DType::kText);
}

TEST(Texts, SpellNumbersShortly) {
  EXPECT_EQ(text_at(as_texts(Tensor::scalar<float>(0.1F)).view(), 0), "0.1");
  EXPECT_EQ(text_at(as_texts(Tensor::scalar<double>(-0.1)).view(), 0), "-0.1");
  EXPECT_EQ(text_at(as_texts(Tensor::scalar<int64_t>(-42)).view(), 0), "-42");
  EXPECT_EQ(text_at(as_texts(Tensor::scalar<uint64_t>(~uint64_t{0})).view(), 0),
            "18446744073709551615");
  EXPECT_EQ(text_at(as_texts(Tensor::scalar<bool>(true)).view(), 0), "True");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text_at(as_texts(Tensor::scalar<float>(-infinity)).view(), 0), "-INF");
}

TEST(Texts, BecomeNumbersAgain) {
  const std::vector<std::string> texts = {"1e-5", "+INF", "-inf", "NaN", "+2.5", "1e999"};
  const Tensor numbers = cast(text_tensor(Shape{6}, texts), DType::kF64);
  EXPECT_EQ(numbers.values<double>()[0], 1e-5);
  EXPECT_EQ(numbers.values<double>()[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(numbers.values<double>()[2], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(numbers.values<double>()[3]));
  EXPECT_EQ(numbers.values<double>()[4], 2.5);
  EXPECT_EQ(numbers.values<double>()[5], std::numeric_limits<double>::infinity());
  for (const char* wrong : {"", "+", "two", "1 2", "++1", "+-1", "0x10"}) {
    const std::vector<std::string> one = {wrong};
    EXPECT_THROW(cast(text_tensor(Shape{}, one), DType::kF32), Error) << wrong;
    EXPECT_THROW(cast(text_tensor(Shape{}, one), DType::kI64), Error) << wrong;
  }
}

TEST(Texts, BecomeWholeNumbersExactly) {
  const std::vector<std::string> texts = {"9007199254740993", "-5", "+3", "1e3", "-inf"};
  const Tensor numbers = cast(text_tensor(Shape{5}, texts), DType::kI64);
  const int64_t least = std::numeric_limits<int64_t>::min();
  const std::vector<int64_t> expected = {9007199254740993, -5, 3, 1000, least};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(numbers.values<int64_t>()[i], expected[i]) << texts[i];
  }
  const std::vector<std::string> large = {"18446744073709551615"};
  const Tensor unsigned_number = cast(text_tensor(Shape{1}, large), DType::kU64);
  EXPECT_EQ(unsigned_number.values<uint64_t>()[0], ~uint64_t{0});
}

TEST(Texts, ForgetsThoseOfAScope) {
  const uint64_t kept = text_number("known before");
  uint64_t passing = 0;
  {
    const TextScope scope;
    EXPECT_EQ(text_number("known before"), kept);
    passing = text_number("of a request");
    EXPECT_EQ(text_number("of a request"), passing);
    EXPECT_EQ(text_of(passing), "of a request");
    // What others add meanwhile lasts, and does not change the scope's own numbers.
    std::thread([&] { EXPECT_NE(text_number("of a request"), passing); }).join();
    EXPECT_EQ(text_number("of a request"), passing);
  }
  EXPECT_THROW(text_of(passing), Error);
  EXPECT_EQ(text_of(kept), "known before");
  const uint64_t lasting = text_number("of a request");
  EXPECT_NE(lasting, passing);
  const TextScope again;
  EXPECT_NE(text_number("new"), passing);
}

}  // namespace
}  // namespace trainyard

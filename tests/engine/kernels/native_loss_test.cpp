// The fast losses beside the reference.
#include <gtest/gtest.h>

#include "support/op_case.h"

namespace trainyard::testing {
namespace {

constexpr int64_t kIgnored = -7;

OpInput labels(int64_t rows, int64_t classes) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows; ++i) {
    values.push_back(static_cast<double>(i % 3 == 2 ? kIgnored : i * 5 % classes));
  }
  return given({rows}, values, DType::kI64);
}

// Both with class weights and without, for each reduction.
template <typename F>
void for_each_form(F&& f) {
  for (const Shape& x : {Shape{1, 2}, Shape{7, 10}, Shape{4, 1003}}) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      for (const bool weighted : {false, true}) {
        OpCase c{.op = "",
                 .inputs = {draw(x), labels(x[0], x[1])},
                 .attributes = {{"reduction", text(reduction)}, {"ignore_index", kIgnored}}};
        std::vector<double> weights;
        for (int64_t i = 0; i < x[1]; ++i) weights.push_back(0.5 + static_cast<double>(i % 4));
        c.inputs.push_back(weighted ? given({x[1]}, weights) : absent());
        f(c, std::string(reduction) == "none" ? Shape{x[0]} : Shape{});
      }
    }
  }
}

TEST(NativeLoss, CrossEntropyEqualsTheReference) {
  for_each_form([](OpCase c, const Shape& loss) {
    c.op = "SoftmaxCrossEntropyLoss";
    c.outputs = {gives_type(loss), gives_type(c.inputs[0].type.shape)};
    EXPECT_TRUE(is_fast(c));
    check_case(c);
  });
}

TEST(NativeLoss, GradientOfCrossEntropyEqualsTheReference) {
  for_each_form([](OpCase c, const Shape& loss) {
    c.op = "SoftmaxCrossEntropyLossGrad";
    c.inputs.insert(c.inputs.begin() + 2, draw(loss));
    EXPECT_TRUE(is_fast(c));
    check_case(c);
  });
}

// A hundred between neighbors: naive exponentials overflow.
TEST(NativeLoss, LargeScoresDoNotOverflow) {
  std::vector<double> scores;
  for (int i = 0; i < 12; ++i) scores.push_back(100.0 * i);
  check_case({.op = "SoftmaxCrossEntropyLoss",
              .inputs = {given({1, 12}, scores), given({1}, {3}, DType::kI64)},
              .outputs = {gives({}, {800})}});
}

}  // namespace
}  // namespace trainyard::testing

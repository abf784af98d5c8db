#include "base/json_reader.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/error.h"

namespace trainyard {
namespace {

double number_of(const std::string& text) {
  JsonReader reader(text, "test");
  const double value = reader.number();
  reader.finish();
  return value;
}

float float_of(const std::string& text) {
  JsonReader reader(text, "test");
  return reader.number_f32();
}

std::string error_of(const std::string& text) {
  try {
    JsonReader reader(text, "test");
    reader.skip();
    reader.finish();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(JsonReader, ReadsNumbersAsTheyAreWritten) {
  for (const char* text : {"0", "-0", "1", "-17", "3.5", "0.1", "1e3", "2.5E-3", "123456789012",
                           "0.123456789012345678", "1.7976931348623157e308", "5e-324",
                           "9007199254740993", "12345678.90123456", "1e22", "1e-30"}) {
    EXPECT_EQ(number_of(text), std::strtod(text, nullptr)) << text;
    EXPECT_EQ(float_of(text), static_cast<float>(std::strtod(text, nullptr))) << text;
  }
  EXPECT_TRUE(std::signbit(number_of("-0")));
  EXPECT_EQ(number_of("1e-5000"), 0);
}

TEST(JsonReader, ReadsEveryShortFloatBack) {
  uint32_t bits = 1;
  for (int i = 0; i < 20'000; ++i) {
    bits = bits * 1664525U + 1013904223U;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(float_of(fmt::format("{}", value)), value);
  }
}

TEST(JsonReader, ReadsArraysOfFloatsAsOneByOne) {
  std::string text = "[0";
  uint32_t bits = 7;
  for (int i = 0; i < 5'000; ++i) {
    bits = bits * 1664525U + 1013904223U;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) value = 0.25F;
    text += i % 3 == 0 ? " , " : ",";
    text += i % 5 == 0 ? fmt::format("{:.17f}", value / 1e30F) : fmt::format("{}", value);
  }
  text += "]";
  JsonReader slow(text, "test");
  JsonReader fast(text, "test");
  slow.enter_array();
  fast.enter_array();
  std::vector<float> expected;
  while (slow.next_item()) expected.push_back(slow.number_f32());
  std::vector<float> got(expected.size());
  size_t count = 0;
  while (fast.next_item()) {
    got[count++] = fast.number_f32();
    count += fast.more_numbers_f32(got.data() + count, got.size() - count);
  }
  EXPECT_EQ(count, expected.size());
  EXPECT_EQ(got, expected);
}

// Long lists are read many numbers at a time, and every form among them as it is alone.
TEST(JsonReader, ReadsAnyFormWithinALongList) {
  const std::string padding(100, ' ');
  for (const char* form : {"0", "-0", "7", "-1.5", "0.1", "12345678.87654321",
                           "0.49803921580314636", "-0.4980392158031463", "1234567890123456789",
                           "9999999999999999999", "0.0000000000000000001", "12345678901234567890.5",
                           "1e-05", "4.5E+3", "100", "-16777217", "3.4028235e38"}) {
    for (const char* comma : {",", ", ", " ,", ",\n  "}) {
      std::string text = padding + "[0.25";
      for (int i = 0; i < 50; ++i) text += std::string(comma) + (i % 7 == 3 ? "-2.5" : form);
      text += "]" + padding;
      JsonReader reader(text, "test");
      std::vector<float> got(51);
      reader.enter_array();
      size_t count = 0;
      while (reader.next_item()) {
        got[count++] = reader.number_f32();
        count += reader.more_numbers_f32(got.data() + count, got.size() - count);
      }
      reader.finish();
      ASSERT_EQ(count, 51U) << form;
      EXPECT_EQ(got[1], float_of(form)) << form;
      EXPECT_EQ(std::signbit(got[1]), form[0] == '-') << form;
      EXPECT_EQ(got[4], -2.5F) << form;
      EXPECT_EQ(got[50], got[1]) << form;
    }
  }
}

// Whatever the lengths are, eight numbers at a time are what each of them is alone.
TEST(JsonReader, ReadsLongListsOfMixedLengths) {
  uint32_t state = 3;
  const auto next = [&](uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  for (int list = 0; list < 200; ++list) {
    const uint32_t longest = 1 + next(20);
    const size_t size = 1 + next(90);
    std::string text = std::string(100, ' ') + "[0.5";
    std::vector<float> expected = {0.5F};
    for (size_t i = 0; i < size; ++i) {
      std::string number = next(2) == 0 ? "-" : "";
      const uint32_t digits = 1 + next(longest);
      const uint32_t point = next(2) == 0 ? 0 : next(digits + 1);  // digits behind it
      for (uint32_t d = 0; d < digits; ++d) {
        if (d > 0 && point == digits - d) number += '.';
        // A zero in front stands alone or before the point.
        const bool lone = d == 0 && (digits == 1 || point == digits - 1);
        number += static_cast<char>('0' + (lone || d > 0 ? next(10) : 1 + next(9)));
      }
      text += (next(3) == 0 ? ", " : ",") + number;
      expected.push_back(float_of(number));
    }
    text += "]" + std::string(100, ' ');
    JsonReader reader(text, "test");
    std::vector<float> got(expected.size());
    reader.enter_array();
    size_t count = 0;
    while (reader.next_item()) {
      got[count++] = reader.number_f32();
      count += reader.more_numbers_f32(got.data() + count, got.size() - count);
    }
    reader.finish();
    ASSERT_EQ(got, expected) << text;
  }
}

// Whatever was there of the text when, and whatever it is.
TEST(JsonReader, TakesNumbersThatWereReadWhileTheTextArrived) {
  std::string list;
  std::vector<float> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string number = i % 500 == 17 ? "1e-5" : fmt::format("{}", i * 0.37 - 300);
    list += (i == 0 ? "" : ",") + number;
    expected.push_back(float_of(number));
  }
  for (const size_t piece : {size_t{100}, size_t{5000}, size_t{1} << 20}) {
    for (const char* head : {R"({"datatype":"FP32","shape":[1,3000],"data":[)",
                             R"({"datatype":"INT8","shape":[1,3000],"data":[)",
                             R"({"x":"FP32 [1,2,3","datatype":"","shape":[],"data":[)"}) {
      const std::string text = head + list + "]}";
      EarlyNumbers ahead(text.size());
      for (size_t filled = piece; filled < text.size(); filled += piece) {
        ahead.feed(std::string_view(text).substr(0, filled));
      }
      ahead.feed(text);
      const size_t comma = text.find(',', std::strlen(head));
      const size_t known = ahead.from(text.data() + comma).size();
      EXPECT_EQ(known > 2900, std::string_view(head).find("FP32") != std::string_view::npos);
      JsonReader reader(text, "test");
      reader.set_ahead(&ahead);
      std::vector<float> got(expected.size());
      std::string key;
      size_t count = 0;
      reader.enter_object();
      while (reader.next_key(key)) {
        if (key != "data") {
          reader.skip();
          continue;
        }
        reader.enter_array();
        while (reader.next_item()) {
          ASSERT_LT(count, got.size());
          got[count++] = reader.number_f32();
          count += reader.more_numbers_f32(got.data() + count, got.size() - count);
        }
      }
      reader.finish();
      EXPECT_EQ(got, expected) << head << piece;
    }
  }
}

TEST(JsonReader, RefusesAWrongNumberWithinALongList) {
  const std::string padding(100, ' ');
  for (const char* wrong : {"01",
                            "-01.5",
                            ".5",
                            "5.",
                            "1.2.3",
                            "--1",
                            "1-",
                            "0x1",
                            "NaN",
                            "",
                            "1 2",
                            "-",
                            " -",
                            "- 1",
                            "00",
                            "-.5",
                            "  .5",
                            "0..5",
                            "1.2345678901234567890.5",
                            "01234567890123456789",
                            "0.1234567890123456789x"}) {
    std::string text = padding + "[0.25";
    for (int i = 0; i < 50; ++i) text += std::string(",") + (i == 20 ? wrong : "0.5");
    text += "]" + padding;
    JsonReader reader(text, "test");
    std::vector<float> got(51);
    const auto read = [&] {
      reader.enter_array();
      size_t count = 0;
      while (reader.next_item()) {
        got[count++] = reader.number_f32();
        count += reader.more_numbers_f32(got.data() + count, got.size() - count);
      }
    };
    EXPECT_THROW(read(), Error) << wrong;
    EXPECT_LT(reader.position(), 200U + std::strlen(wrong)) << wrong;
  }
}

TEST(JsonReader, KeepsWholeNumbersWhole) {
  const auto integer = [](const std::string& text) { return JsonReader(text, "test").integer(); };
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integer("-9223372036854775808"), INT64_MIN);
  EXPECT_THROW(integer("9223372036854775808"), Error);
  EXPECT_THROW(integer("1.0"), Error);
  EXPECT_EQ(JsonReader("18446744073709551615", "test").unsigned_integer(), UINT64_MAX);
  EXPECT_THROW(JsonReader("18446744073709551616", "test").unsigned_integer(), Error);
  EXPECT_THROW(JsonReader("-1", "test").unsigned_integer(), Error);
}

TEST(JsonReader, ReadsTextsWithEscapes) {
  JsonReader reader(R"("a\"\\\/\n\u00e9\ud83d\ude00")", "test");
  EXPECT_EQ(reader.text(), "a\"\\/\n\u00e9\U0001F600");
}

TEST(JsonReader, MakesTrees) {
  JsonReader reader(R"( {"a": [1, 2.5, "x", null, true], "b": {}} )", "test");
  const Json tree = reader.value();
  reader.finish();
  EXPECT_EQ(tree.dump(-1), R"({"a":[1,2.5,"x",null,true],"b":{}})");
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  for (const char* text : {"",         "{",   "[1,]",     "[1 2]",     "{\"a\" 1}",   "{a:1}",
                           "nul",      "NaN", "Infinity", "-",         "1.",          "01",
                           "1e",       "\"a", "\"\\x\"",  "\"\\u12\"", "\"\\ud800\"", "[1] 2",
                           "\"\x01\"", "+1",  ".5",       "\"\xff\"",  "\"\xc3\""}) {
    EXPECT_NE(error_of(text), "") << text;
  }
}

TEST(JsonReader, RefusesDeepNestingWithoutDepthOfItsOwn) {
  EXPECT_NE(error_of(std::string(100'000, '[')).find("limit (64)"), std::string::npos);
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += "{\"a\":";
  EXPECT_NE(error_of(objects).find("limit (64)"), std::string::npos);
}

TEST(JsonReader, SaysWhere) {
  EXPECT_EQ(error_of("[1, x]"),
            "test: expected a value, found 'x' (JSON has no NaN, Infinity or comments) at byte 4");
}

TEST(Base64, GoesBothWays) {
  for (const std::string text : {"", "f", "fo", "foo", "foob", "\xff\xfe\x00"}) {
    EXPECT_EQ(from_base64(to_base64(text)), text);
  }
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(from_base64("Zm9vYg"), "foob");
  EXPECT_THROW(from_base64("Zm9v!"), Error);
  EXPECT_THROW(from_base64("Z"), Error);
}

}  // namespace
}  // namespace trainyard

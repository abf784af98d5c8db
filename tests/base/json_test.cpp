#include "base/json.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard {
namespace {

TEST(Json, WritesAndReadsBack) {
  Json value =
      Json::object({{"name", "a \"b\"\n"}, {"dims", Json::array_of(std::vector<int64_t>{1, 2})}});
  value["nested"]["ok"] = true;
  value["ratio"] = 0.1;
  const std::string text = value.dump();
  EXPECT_EQ(Json::parse(text, "t").dump(), text);
  EXPECT_EQ(value.dump(-1),
            R"({"name":"a \"b\"\n","dims":[1,2],"nested":{"ok":true},"ratio":0.1})");
}

TEST(Json, ErrorsNameTheOriginAndThePlace) {
  try {
    Json::parse("{\"a\": }", "config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("column"), std::string::npos);
  }
  EXPECT_THROW(Json(1).as_string(), Error);
  EXPECT_THROW(Json::object().at("missing"), Error);
}

TEST(Json, NotANumberBecomesNull) {
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
}

// Found by json_fuzz with " -0e9".
TEST(Json, NegativeZeroKeepsItsSign) {
  const std::string text = Json::parse(" -0e9", "zero").dump(-1);
  EXPECT_EQ(text, "-0.0");
  EXPECT_TRUE(std::signbit(Json::parse(text, "again").as_number()));
  EXPECT_EQ(Json::parse(text, "again").dump(-1), text);
}

TEST(Json, DeepAndAmbiguousTextsAreErrors) {
  EXPECT_THROW(Json::parse(std::string(1'000'000, '['), "t"), Error);
  EXPECT_THROW(Json::parse(R"({"a": 1, "a": 2})", "t"), Error);
  EXPECT_THROW(Json::parse("1e999", "t"), Error);
  EXPECT_NO_THROW(Json::parse(std::string(200, '[') + std::string(200, ']'), "t"));
}

TEST(Json, ErrorsGiveLineAndColumn) {
  const auto error_of = [](std::string_view text) -> std::string {
    try {
      Json::parse(text, "config.json");
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of("{\n  \"a\": 1,\n  \"b\" 2\n}"),
            "config.json: not valid JSON: expected ':', found '2' at line 3, column 7");
  EXPECT_EQ(error_of("[1] 2"),
            "config.json: not valid JSON: something follows the JSON at line 1, column 5");
}

// Of a text the four ways to be no UTF-8: a lone continuation, a cut sequence, a surrogate, an
// overlong form.
TEST(Json, TextsAreUtf8) {
  for (const char* text :
       {"\"\x80\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"", "\"\xe2\\n\""}) {
    EXPECT_THROW(Json::parse(text, "t"), Error) << text;
  }
  EXPECT_EQ(Json::parse("\xef\xbb\xbf\"\xc3\xa9\"", "a byte order mark").as_string(), "\xc3\xa9");
}

TEST(Json, WholeNumbersBeyondSixtyFourBitsStayPositive) {
  EXPECT_EQ(Json::parse("18446744073709551615", "t").as_number(), 18446744073709551615.0);
  EXPECT_EQ(Json::parse("9223372036854775807", "t").as_int(), INT64_MAX);
}

TEST(Json, WritesBytesThatAreNotUtf8AsText) {
  const Json value = Json::object({{"na\xffme", "\xc3\x28 \xc3\xa9"}});
  EXPECT_EQ(value.dump(-1), "{\"na\\\\xffme\":\"\\\\xc3( \xc3\xa9\"}");
  EXPECT_NO_THROW(Json::parse(value.dump(), "t"));
}

// Looking each key up among those before it would take minutes.
TEST(Json, ManyKeysAreReadInLinearTime) {
  std::string text = "{\"0\":0";
  for (int i = 1; i < 200'000; ++i) text += fmt::format(",\"{}\":0", i);
  EXPECT_EQ(Json::parse(text + "}", "t").members().size(), 200'000U);
}

}  // namespace
}  // namespace trainyard

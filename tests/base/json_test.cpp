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

}  // namespace
}  // namespace trainyard

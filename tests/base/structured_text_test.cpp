#include "base/structured_text.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace trainyard {
namespace {

TEST(StructuredText, YamlReadsBackAsItWas) {
  Json value = Json::object({{"plain", "a.b/c"},
                             {"number", "12"},
                             {"word", "yes"},
                             {"nasty", "a: b # c\n- 'd' \"e\" *f &g !h %i @j `k {l} [m]"},
                             {"block", "one\n  two\n\nthree\n"},
                             {"key: with # marks", "x"},
                             {"list", Json::array_of(std::vector<std::string>{"a", "- b"})},
                             {"flag", true},
                             {"none", Json()}});
  value["nested"]["items"].push_back(Json::object({{"a", 1}, {"b", Json::object({{"c", 2.5}})}}));
  value["nested"]["items"].push_back(Json::object());
  const std::string text = text_of(yaml_lines(value));
  EXPECT_EQ(YamlDocument::parse(text, "t")->json().dump(-1), value.dump(-1)) << text;
}

TEST(StructuredText, JsonIsWhatDumpWrites) {
  Json value =
      Json::object({{"a", Json::array_of(std::vector<int64_t>{1, 2})}, {"e", Json::object()}});
  value["b"]["c"].push_back(Json::object({{"d", "x"}}));
  EXPECT_EQ(text_of(json_lines(value)), value.dump() + "\n");
}

TEST(StructuredText, LinesKnowTheirPath) {
  Json value;
  set_at_path(value, "spec.pods[1].limits[\"nvidia.com/gpu\"]", 4);
  const std::vector<StructuredLine> lines = json_lines(value);
  bool seen = false;
  for (const StructuredLine& line : lines) {
    if (line.text.find("nvidia") == std::string::npos) continue;
    EXPECT_EQ(line.path, "spec.pods[1].limits[\"nvidia.com/gpu\"]");
    seen = true;
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace trainyard

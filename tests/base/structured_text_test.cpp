#include "base/structured_text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "base/yaml.h"
#include "support/python_yaml.h"

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

// Texts drawn from what ends a line, a scalar or a document for some reader.
std::vector<Json> hostile_values(size_t count) {
  const std::vector<std::string> pieces = {"\n",
                                           "\r",
                                           "\r\n",
                                           "\xc2\x85",
                                           "\xe2\x80\xa8",
                                           "\xe2\x80\xa9",
                                           "\xef\xbb\xbf",
                                           "\xef\xbf\xbe",
                                           "\xef\xbf\xbf",
                                           "\xc2\x80",
                                           "\xc2\x9b",
                                           "\x7f",
                                           "\x1b",
                                           "\x01",
                                           "\t",
                                           "\v",
                                           "\f",
                                           " ",
                                           "  ",
                                           "setup: touch x",
                                           "- a",
                                           "---",
                                           "...",
                                           "# b",
                                           "'",
                                           "\"",
                                           "\\",
                                           "|",
                                           ">",
                                           "%YAML 1.1",
                                           "? k",
                                           ": v",
                                           "{",
                                           "]",
                                           "!!python/none",
                                           "&a",
                                           "*a",
                                           "no",
                                           "12",
                                           "1e3",
                                           "2026-01-01",
                                           "~",
                                           "<<",
                                           "=",
                                           "\xc3\xa4",
                                           "\xf0\x9f\x98\x80",
                                           "\xc2\xa0",
                                           "\xe2\x80\x8b"};
  const RandomStream random(20260718);
  uint64_t drawn = 0;
  const auto below = [&](size_t bound) { return random.below(drawn++, bound); };
  const auto text = [&] {
    std::string all;
    const size_t length = below(8);
    for (size_t i = 0; i < length; ++i) all += pieces[below(pieces.size())];
    return all;
  };
  std::vector<Json> values;
  while (values.size() < count) {
    Json value = Json::object({{"run", "echo " + text() + "\n"}, {"text", text()}});
    value["map"]["key" + text()] = text() + "\n";
    value["list"].push_back(text());
    value["list"].push_back(text());
    value["items"].push_back(Json::object({{"a", "x" + text() + "\n"}}));
    values.push_back(std::move(value));
  }
  return values;
}

// As base/yaml.h reads it, and as Python does.
TEST(StructuredText, NoTextBreaksOutWhoeverReadsIt) {
  const std::vector<Json> values = hostile_values(500);
  std::vector<std::string> texts;
  for (const Json& value : values) {
    for (const auto& lines : {yaml_lines(value), json_lines(value)}) {
      texts.push_back(text_of(lines));
      ASSERT_EQ(YamlDocument::parse(texts.back(), "t")->json().dump(-1), value.dump(-1))
          << texts.back();
    }
  }
  const auto read = read_by_python(texts);
  if (!read) GTEST_SKIP() << "no yaml module of Python";
  ASSERT_EQ(read->size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ((*read)[i].dump(-1), values[i / 2].dump(-1)) << texts[i];
  }
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

// Reports made of altered data, and what they say: shared by the tests of labs' claims.
#pragma once

#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "program/lab/lab_report.h"
#include "program/lab/query.h"
#include "support/temporary_folder.h"

namespace trainyard::lab::claims {

// What all answers, texts and formulas of the report say, in one line; notices only if they are
// asked for.
inline std::string said(const std::string& name, const Json& data, bool notices = true) {
  const report::Document document = lab_document(load_lab(name), data, "trainyard lab run " + name);
  std::string all = document.title + " ";
  for (const report::Block& block : document.blocks) {
    if (const auto* formula = std::get_if<report::Formula>(&block)) all += formula->text() + " ";
    const auto* paragraph = std::get_if<report::Paragraph>(&block);
    // What the course asks names devices and networks whatever the settings are.
    if (paragraph == nullptr || paragraph->tone == report::Tone::kQuestion) continue;
    if (notices || paragraph->tone != report::Tone::kNotice) all += paragraph->text + " ";
  }
  return all;
}

inline Json altered(const Json& data, const std::string& program) {
  return ask(program, data, "alteration");
}

struct Case {
  const char* alteration;
  const char* says;
  const char* does_not_say;
};

// "strong-weak" -> "StrongWeak": the test of a lab's claims has its name.
inline std::string test_name(const std::string& lab) {
  std::string name;
  bool upper = true;
  for (const char c : lab) {
    if (c != '-') name += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '-';
  }
  return name;
}

// `data` without any of its numbers of one name, and without the first or last of its lists.
inline std::vector<std::string> losses(const Json& data) {
  const Json names = ask(
      R"([to_entries[] | select(.value | type == "array") | .value[].result? | paths(type == "number") | map(strings)[-1] // empty] | unique)",
      data, "names");
  const std::string results = "(.[] | arrays | .[].result?) |= walk(";
  std::vector<std::string> alterations;
  for (const Json& item : names.items()) {
    const std::string name = item.dump(-1);
    alterations.push_back(results + "if type == \"object\" and (." + name +
                          "? | type == \"number\") then ." + name + " = null else . end)");
  }
  for (const std::string part : {".[1:]", ".[:-1]"}) {
    alterations.push_back("(.[] | arrays) |= if length > 1 then " + part + " else . end");
    alterations.push_back(
        results + "if type == \"array\" and length > 1 and (.[0] | type == \"object\") then " +
        part + " else . end)");
  }
  return alterations;
}

// The report is made whatever is missing, and has no sentence about what is not there.
inline void check_losses(const std::string& lab, const Json& data) {
  for (const std::string& alteration : losses(data)) {
    try {
      const std::string text = said(lab, altered(data, alteration), false);
      EXPECT_EQ(text.find("null"), std::string::npos) << alteration << "\n" << text;
      EXPECT_EQ(text.find("nan"), std::string::npos) << alteration << "\n" << text;
    } catch (const std::exception& error) {
      ADD_FAILURE() << lab << ": " << alteration << "\n" << error.what();
    }
  }
}

inline void check(const std::string& lab, const Json& data, std::initializer_list<Case> cases) {
  EXPECT_EQ(test_name(lab), ::testing::UnitTest::GetInstance()->current_test_info()->name());
  check_losses(lab, data);
  for (const Case& c : cases) {
    const std::string text = said(lab, altered(data, c.alteration));
    EXPECT_NE(text.find(c.says), std::string::npos) << c.alteration << "\n" << text;
    if (*c.does_not_say == '\0') continue;
    EXPECT_EQ(text.find(c.does_not_say), std::string::npos) << c.alteration << "\n" << text;
  }
}

inline Json parsed(const char* text) {
  return Json::parse(text, "test data");
}

inline constexpr const char* kCommon =
    R"(. + {quick: false, machine: {threads: 2, processor: "test"}, load_average: 0})";

// The folder of steps that have written pictures; reports carry their bytes and read no more
// than how they begin.
class PictureFolder {
 public:
  explicit PictureFolder(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const std::filesystem::path file = folder_.path() / name;
      std::filesystem::create_directories(file.parent_path());
      write_file(file, "\x89PNG\r\n\x1a\n" + std::string(16, '0'));
    }
  }
  // `data` with the folder in the first cell of `step`.
  Json added(const Json& data, const std::string& step) const {
    return altered(data, "." + step + "[0].folder = \"" + folder_.path().string() + "\"");
  }

 private:
  TemporaryFolder folder_{"claims"};
};

}  // namespace trainyard::lab::claims

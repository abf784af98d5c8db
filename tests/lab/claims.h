// Reports made of altered data, and what they say: shared by the tests of labs' claims.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "base/file.h"
#include "lab/query.h"
#include "lab/run_lab.h"
#include "support/temporary_folder.h"

namespace trainyard::lab::claims {

// What all answers and texts of the report say, in one line.
inline std::string said(const std::string& name, const Json& data) {
  const report::Document document = lab_document(load_lab(name), data, "trainyard lab run " + name);
  std::string all = document.title + " ";
  for (const report::Block& block : document.blocks) {
    if (const auto* paragraph = std::get_if<report::Paragraph>(&block))
      all += paragraph->text + " ";
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

inline void check(const std::string& lab, const Json& data, std::initializer_list<Case> cases) {
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

// The folder of a step that has written a picture; reports carry its bytes and read no more than
// how it begins.
class PictureFolder {
 public:
  explicit PictureFolder(const std::string& name) {
    const std::filesystem::path file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    write_file(file, "\x89PNG\r\n\x1a\n" + std::string(16, '0'));
  }
  // `data` with the folder in the first cell of `step`.
  Json added(const Json& data, const std::string& step) const {
    return altered(data, "." + step + "[0].folder = \"" + folder_.path().string() + "\"");
  }

 private:
  TemporaryFolder folder_{"claims"};
};

}  // namespace trainyard::lab::claims

// The functions that queries of labs share, by cases in functions/NAME.yaml: {does, input, gives}
// or {does, input, fails}.
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "program/lab/embedded.h"
#include "program/lab/query.h"
#include "support/error_message.h"

namespace trainyard::lab {
namespace {

// Numbers of both may be written as 1 and 1.0.
bool same_value(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    const double size = std::max(std::abs(a.as_number()), std::abs(b.as_number()));
    return std::abs(a.as_number() - b.as_number()) <= 1e-12 * size;
  }
  if (a.is_array() && b.is_array()) {
    if (a.items().size() != b.items().size()) return false;
    for (size_t i = 0; i < a.items().size(); ++i) {
      if (!same_value(a.items()[i], b.items()[i])) return false;
    }
    return true;
  }
  if (a.is_object() && b.is_object()) {
    if (a.members().size() != b.members().size()) return false;
    for (const auto& [key, value] : a.members()) {
      const Json* other = b.find(key);
      if (other == nullptr || !same_value(value, *other)) return false;
    }
    return true;
  }
  return a.dump(-1) == b.dump(-1);
}

// The names of functions that a text of jq defines at its beginning of lines.
std::set<std::string> defined(std::string_view functions) {
  std::set<std::string> names;
  for (size_t at = 0; at < functions.size();) {
    const std::string_view line = functions.substr(at, functions.find('\n', at) - at);
    if (line.starts_with("def ")) {
      names.emplace(line.substr(4, line.find_first_of(":(") - 4));
    }
    at += line.size() + 1;
  }
  return names;
}

class FunctionsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(FunctionsTest, DoWhatTheirCasesSay) {
  const std::string& name = GetParam();
  const std::string file = std::string(TY_LAB_TESTS) + "/functions/" + name + ".yaml";
  // The prelude is there always.
  const std::string_view functions =
      name == "prelude" ? "" : embedded_text(embedded_files(), name + ".jq");
  const auto cases = YamlDocument::parse(read_file(file), file);
  std::string programs;
  for (const YamlView& view : cases->root().items()) {
    view.only({"does", "input", "gives", "fails"});
    const std::string program = view.at("does").text();
    programs += program + "\n";
    const auto input = view.find("input");
    const auto answer = [&] {
      return ask(program, input ? input->json() : Json(), view.where(), functions);
    };
    if (const auto fails = view.find("fails")) {
      EXPECT_NE(message_of(answer).find(fails->text()), std::string::npos) << view.where();
      continue;
    }
    try {
      const Json given = answer();
      const auto expected = view.find("gives");  // null where it has no value
      EXPECT_TRUE(same_value(given, expected ? expected->json() : Json()))
          << view.where() << "\n"
          << program << "\ngives " << given.dump(-1);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  if (name == "prelude") return;  // older functions have tests of their own
  for (const std::string& function : defined(functions)) {
    EXPECT_NE(programs.find(function), std::string::npos)
        << "labs/" << name << ".jq: function " << function << " has no case in " << file;
  }
}

// Every NAME.jq has a file of cases.
std::vector<std::string> files_of_functions() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    constexpr std::string_view kEnd = ".jq";
    if (file.name.ends_with(kEnd)) {
      names.emplace_back(file.name.substr(0, file.name.size() - kEnd.size()));
    }
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Labs, FunctionsTest, ::testing::ValuesIn(files_of_functions()),
                         [](const auto& name) {
                           std::string word = name.param;
                           std::replace(word.begin(), word.end(), '-', '_');
                           return word;
                         });

}  // namespace
}  // namespace trainyard::lab

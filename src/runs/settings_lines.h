// config.yaml of many runs: lines that are alike are parsed once.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.h"

namespace trainyard::runs {

// Not thread-safe.
class SettingsLines {
 public:
  // What YamlDocument::parse_without_aliases() makes of the text: each line is parsed by it, alone
  // where the file is a list of "name: value", and as a whole otherwise. Throws Error as it does,
  // and for a file that is no list of names and values.
  Json parse(std::string_view text, const std::string& origin);

 private:
  struct Line {
    bool stands_alone = false;
    std::string name = {};
    Json value = {};
  };
  const Line& line_of(std::string_view text);

  std::unordered_map<std::string, Line> known_;
};

}  // namespace trainyard::runs

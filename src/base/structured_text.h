// A tree as lines of YAML or JSON, each with the way to the value that it shows. Whatever a text
// holds, it reads back as the same text: nothing in it can become a key, a value or a comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trainyard {

struct StructuredLine {
  std::string text;
  std::string path;  // "spec.nodes", "pools[0].image", "limits[\"nvidia.com/gpu\"]"
};

std::vector<StructuredLine> yaml_lines(const Json& value);
// As Json::dump writes them, with characters escaped that a YAML reader would not take as they are.
std::vector<StructuredLine> json_lines(const Json& value);

// The lines, each with its line break.
std::string text_of(const std::vector<StructuredLine>& lines);

// The path of a member or item of what is at `path`.
std::string member_path(std::string_view path, std::string_view key);
std::string item_path(std::string_view path, size_t index);
// Puts `value` at `path` in `root`, with the objects and lists that lead there; what stands there
// is replaced.
void set_at_path(Json& root, std::string_view path, Json value);

}  // namespace trainyard

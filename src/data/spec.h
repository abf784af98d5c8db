// The small language that names data sets: "name:place,key=value,...".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::data {

struct Option {
  std::string key;
  std::string value;
};

// Name and place may be missing.
struct Spec {
  std::string text;
  std::string name;
  std::string place;
  std::vector<Option> options;

  // "data set 'TEXT': KEY", as errors about an option begin.
  std::string what(std::string_view key) const;
};

// Every name there is.
const std::vector<std::string>& known_names();

// Options stand at the end; a comma elsewhere belongs to the place. A name that is not known is
// part of the place.
Spec parse_spec(std::string_view text);

// Throws Error for an option with another key.
void allow_options(const Spec& spec, const std::vector<std::string>& keys);

// The folder of the place. Throws Error if there is none.
std::filesystem::path require_place(const Spec& spec);

}  // namespace trainyard::data

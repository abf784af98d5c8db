#include "data/spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::data {
namespace {

bool is_known(const std::string& name) {
  return std::find(known_names().begin(), known_names().end(), name) != known_names().end();
}

}  // namespace

const std::vector<std::string>& known_names() {
  static const std::vector<std::string> kNames = {
      "fashion-mnist", "mnist", "cifar10", "cifar100",  "folder", "voc",   "coco",
      "openimages",    "csv",   "shapes",  "synthetic", "text",   "tokens"};
  return kNames;
}

std::string Spec::what(std::string_view key) const {
  return fmt::format("data set '{}': {}", text, key);
}

Spec parse_spec(std::string_view text) {
  Spec spec{.text = std::string(text), .name = {}, .place = {}, .options = {}};
  std::vector<std::string> parts = split(text, ',');
  // Options stand at the end; a comma elsewhere belongs to the place.
  while (parts.size() > 1 && parts.back().find('=') != std::string::npos) {
    const size_t equals = parts.back().find('=');
    spec.options.insert(spec.options.begin(),
                        {parts.back().substr(0, equals), parts.back().substr(equals + 1)});
    parts.pop_back();
  }
  const std::string head = join(parts, ",");
  const size_t colon = head.find(':');
  if (is_known(head.substr(0, colon))) {
    spec.name = head.substr(0, colon);
    if (colon != std::string::npos) spec.place = head.substr(colon + 1);
  } else {
    spec.place = head;
  }
  return spec;
}

void allow_options(const Spec& spec, const std::vector<std::string>& keys) {
  for (const Option& option : spec.options) {
    const bool known = std::find(keys.begin(), keys.end(), option.key) != keys.end();
    TY_REQUIRE(known, "data set '{}': there is no option '{}'{}.{}", spec.text, option.key,
               keys.empty() ? "" : ", there are " + join(keys, ", "),
               did_you_mean(option.key, keys));
  }
}

std::filesystem::path require_place(const Spec& spec) {
  TY_REQUIRE(!spec.place.empty(), "data set '{}': say where it is, as {}:DIR", spec.text,
             spec.name);
  TY_REQUIRE(std::filesystem::is_directory(spec.place), "data set '{}': {} is not a folder",
             spec.text, spec.place);
  return spec.place;
}

}  // namespace trainyard::data

#include "rl/env/environment.h"

#include <cctype>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "rl/env/atari.h"
#include "rl/env/child_environment.h"

namespace trainyard::rl {

#define ENVIRONMENT(name) extern const EnvironmentDef k##name;
#include "rl/env/environment_list.def"
#undef ENVIRONMENT

namespace {

constexpr const EnvironmentDef* kEnvironments[] = {
#define ENVIRONMENT(name) &k##name,
#include "rl/env/environment_list.def"
#undef ENVIRONMENT
};

constexpr std::string_view kChildPrefix = "exec:";
constexpr std::string_view kAlePrefix = "ale:";

// "MinAtar/Space_Invaders-v0" and "space invaders" are one name: "spaceinvaders".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  const size_t version = plain.size() >= 2 ? plain.size() - 2 : 0;
  if (plain.size() > 2 && plain[version] == 'v' && std::isdigit(plain.back()) != 0) {
    plain.resize(version);
  }
  if (plain.starts_with("minatar")) plain.erase(0, 7);
  return plain;
}

bool parse_yes(std::string_view key, std::string_view value) {
  if (value == "yes" || value == "true" || value == "1") return true;
  TY_REQUIRE(value == "no" || value == "false" || value == "0", "{}={}: expected yes or no", key,
             value);
  return false;
}

template <typename Number>
Number number_of(std::string_view key, std::string_view value) {
  const auto number = parse_number<Number>(value);
  TY_REQUIRE(number, "{}={}: expected a number", key, value);
  return *number;
}

void set_option(EnvOptions& options, std::string_view key, std::string_view value) {
  static const std::vector<std::string> kKeys = {"time_limit", "slippery", "map",
                                                 "sticky",     "ramping",  "minimal"};
  if (key == "time_limit") {
    options.time_limit = number_of<int64_t>(key, value);
    TY_REQUIRE(*options.time_limit >= 0, "time_limit={}: expected 0 or more steps", value);
  } else if (key == "slippery") {
    options.slippery = parse_yes(key, value);
  } else if (key == "map") {
    TY_REQUIRE(value == "4x4" || value == "8x8", "map={}: expected 4x4 or 8x8", value);
    options.map = value;
  } else if (key == "sticky") {
    options.sticky = number_of<double>(key, value);
    TY_REQUIRE(options.sticky >= 0 && options.sticky < 1, "sticky={}: expected a share below 1",
               value);
  } else if (key == "ramping") {
    options.ramping = parse_yes(key, value);
  } else if (key == "minimal") {
    options.minimal = parse_yes(key, value);
  } else {
    throw_error("environments have no option '{}'.{} They are {}", key, did_you_mean(key, kKeys),
                join(kKeys, ", "));
  }
}

}  // namespace

std::span<const EnvironmentDef* const> all_environments() {
  return kEnvironments;
}

const EnvironmentDef& find_environment(std::string_view name) {
  const std::string wanted = plain_name(name);
  std::vector<std::string> names;
  std::vector<std::string> plain;
  for (const EnvironmentDef* known : kEnvironments) {
    names.emplace_back(known->name);
    plain.push_back(plain_name(known->name));
    if (plain.back() == wanted) return *known;
  }
  std::vector<std::string> near;
  for (const std::string& close : nearest_names(wanted, plain)) {
    for (size_t i = 0; i < plain.size(); ++i) {
      if (plain[i] == close) near.push_back(names[i]);
    }
  }
  throw_error("there is no environment '{}'.{} There are {}, ale:ROM and exec:COMMAND", name,
              near.empty() ? "" : fmt::format(" Did you mean {}?", join(near, " or ")),
              join(names, ", "));
}

std::optional<std::string_view> command_of(std::string_view environment) {
  if (!environment.starts_with(kChildPrefix)) return {};
  return environment.substr(kChildPrefix.size());
}

EnvName parse_environment(std::string_view text) {
  EnvName name;
  // A command may contain commas, so it has no options.
  if (command_of(text)) {
    name.game = text;
    return name;
  }
  const std::vector<std::string> parts = split(text, ',');
  TY_REQUIRE(!parts.empty(), "an environment is missing; 'trainyard rl list' shows them");
  name.game = parts[0];
  // The ids that end in v1 know the smallest set of actions.
  name.options.minimal = parts[0].starts_with("MinAtar/") && parts[0].ends_with("-v1");
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    TY_REQUIRE(equals != std::string::npos, "`env` {}: '{}' is no option; expected NAME=VALUE",
               text, parts[i]);
    set_option(name.options, std::string_view(parts[i]).substr(0, equals),
               std::string_view(parts[i]).substr(equals + 1));
  }
  return name;
}

std::unique_ptr<Environment> make_environment(std::string_view text, int64_t copies) {
  TY_REQUIRE(copies >= 1 && copies <= 65536, "{} copies of an environment; expected 1 to 65536",
             copies);
  if (const auto command = command_of(text)) return start_children(*command, copies);
  const EnvName name = parse_environment(text);
  if (name.game.starts_with(kAlePrefix)) {
    return make_ale(name.game.substr(kAlePrefix.size()), name.options.sticky, copies);
  }
  return find_environment(name.game).make(name.options, copies);
}

}  // namespace trainyard::rl

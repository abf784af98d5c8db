#include "cli/rl_flags.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::cli {
namespace {

std::string rl_flag(const std::string& name) {
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

void RlSettingFlags::declare(Args& args) {
  const Settings settings = rl::settings_of(parsed_);
  for (const Settings::Setting& setting : settings.all()) {
    const std::string flag = "--" + rl_flag(setting.name);
    std::visit(
        [&](auto* variable) {
          if constexpr (std::is_same_v<decltype(variable), bool*>) {
            args.choice(flag, switches_[setting.name], {"on", "off"}, setting.help);
          } else {
            args.option(flag, *variable, setting.help);
          }
        },
        setting.variable);
  }
  args.given(given_);
}

rl::RlConfig RlSettingFlags::resolve(const std::string& file_text,
                                     const std::string& origin) const {
  // Environment and agent decide the rest, whether flags or the file name them.
  rl::RlConfig named = parsed_;
  std::set<std::string> flagged;
  for (const std::string& flag : given_) {
    std::string name = flag;
    std::replace(name.begin(), name.end(), '-', '_');
    flagged.insert(name);
  }
  if (!file_text.empty()) rl::settings_of(named).read_yaml(file_text, origin, flagged);
  rl::RlConfig config = rl::preset_config(named.env, named.agent);
  Settings target = rl::settings_of(config);
  if (!file_text.empty()) target.read_yaml(file_text, origin, flagged);
  rl::RlConfig source = parsed_;
  const Settings from = rl::settings_of(source);
  for (size_t i = 0; i < from.all().size(); ++i) {
    const Settings::Setting& setting = from.all()[i];
    if (!flagged.contains(setting.name)) continue;
    std::visit(
        [&](auto* to) {
          using Pointer = decltype(to);
          if constexpr (std::is_same_v<Pointer, bool*>) {
            *to = switches_.at(setting.name) == "on";
          } else {
            *to = *std::get<Pointer>(setting.variable);
          }
        },
        target.all()[i].variable);
  }
  rl::check(config);
  return config;
}

std::vector<std::string> RlSettingFlags::words() const {
  std::vector<std::string> words;
  rl::RlConfig source = parsed_;
  const Settings from = rl::settings_of(source);
  for (const Settings::Setting& setting : from.all()) {
    if (!given_.contains(rl_flag(setting.name))) continue;
    words.push_back("--" + rl_flag(setting.name));
    std::visit(
        [&](auto* value) {
          if constexpr (std::is_same_v<decltype(value), bool*>) {
            words.push_back(switches_.at(setting.name));
          } else {
            words.push_back(fmt::format("{}", *value));
          }
        },
        setting.variable);
  }
  return words;
}

}  // namespace trainyard::cli

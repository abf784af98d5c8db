#include "program/rl_flags.h"

namespace trainyard::cli {

void RlSettingFlags::declare(Args& args) {
  const Settings settings = rl::settings_of(parsed_);
  for (const Settings::Setting& setting : settings.all()) {
    const std::string flag = "--" + flag_of_setting(setting.name);
    std::visit(
        [&](auto* variable) {
          if constexpr (std::is_same_v<decltype(variable), bool*>) {
            args.choice(flag, switches_[setting.name], {"on", "off"}, setting.help);
          } else if constexpr (std::is_same_v<decltype(variable), std::vector<std::string>*>) {
            args.repeated(flag, *variable, setting.help);
          } else {
            args.option(flag, *variable, setting.help);
          }
        },
        setting.variable);
  }
  args.given(given_);
}

std::vector<std::string> RlSettingFlags::flags() const {
  rl::RlConfig config;
  std::vector<std::string> names;
  const Settings settings = rl::settings_of(config);
  for (const Settings::Setting& setting : settings.all()) {
    names.push_back(flag_of_setting(setting.name));
  }
  return names;
}

rl::RlConfig RlSettingFlags::resolve(const std::string& file_text,
                                     const std::string& origin) const {
  // Environment and agent decide the rest, whether flags or the file name them.
  rl::RlConfig named = parsed_;
  std::set<std::string> flagged;
  for (const std::string& flag : given_) flagged.insert(setting_of_flag(flag));
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

std::vector<std::string> RlSettingFlags::arguments() const {
  rl::RlConfig source = parsed_;
  const Settings from = rl::settings_of(source);
  for (const Settings::Setting& setting : from.all()) {
    // Switches were parsed as text.
    if (auto* const* on = std::get_if<bool*>(&setting.variable)) {
      **on = switches_.at(setting.name) == "on";
    }
  }
  return from.arguments(given_);
}

}  // namespace trainyard::cli

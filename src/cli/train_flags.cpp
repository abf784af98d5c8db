#include "cli/train_flags.h"

#include <algorithm>

namespace trainyard::cli {

std::string flag_of(std::string setting) {
  std::replace(setting.begin(), setting.end(), '_', '-');
  return setting;
}

void add_train_settings(Args& args, train::TrainConfig& config,
                        const std::set<std::string>& without) {
  const Settings settings = train::settings_of(config);
  for (const Settings::Setting& setting : settings.all()) {
    if (without.contains(setting.name)) continue;
    const std::string flag = "--" + flag_of(setting.name);
    std::visit(
        [&](auto* variable) {
          if constexpr (std::is_same_v<decltype(variable), bool*>) {
            args.flag(flag, *variable, setting.help);
          } else {
            args.option(flag, *variable, setting.help);
          }
        },
        setting.variable);
  }
}

void read_train_settings(train::TrainConfig& config, std::string_view text,
                         const std::string& origin, const std::set<std::string>& given_flags) {
  std::set<std::string> given;
  for (std::string name : given_flags) {
    std::replace(name.begin(), name.end(), '-', '_');
    given.insert(std::move(name));
  }
  Settings settings = train::settings_of(config);
  settings.read_yaml(text, origin, given);
}

}  // namespace trainyard::cli

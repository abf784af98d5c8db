#include "cli/train_flags.h"

namespace trainyard::cli {

void add_train_settings(Args& args, train::TrainConfig& config,
                        const std::set<std::string>& without) {
  const Settings settings = train::settings_of(config);
  for (const Settings::Setting& setting : settings.all()) {
    if (without.contains(setting.name)) continue;
    const std::string flag = "--" + flag_of_setting(setting.name);
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
  for (const std::string& flag : given_flags) given.insert(setting_of_flag(flag));
  train::settings_of(config).read_yaml(text, origin, given);
}

}  // namespace trainyard::cli

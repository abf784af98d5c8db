#include "program/train_flags.h"

namespace trainyard::cli {

void add_train_settings(Args& args, train::TrainConfig& config,
                        const std::set<std::string>& without) {
  args.unchecked_settings(train::settings_of(config), without);
}

void read_train_settings(train::TrainConfig& config, std::string_view text,
                         const std::string& origin, const std::set<std::string>& given_flags) {
  std::set<std::string> given;
  for (const std::string& flag : given_flags) given.insert(setting_of_flag(flag));
  train::settings_of(config).read_yaml(text, origin, given);
}

}  // namespace trainyard::cli

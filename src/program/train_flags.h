// The settings of a training as flags, for the commands that train.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "program/args.h"
#include "train/train_config.h"

namespace trainyard::cli {

// Declares every setting but those named here; `config` must outlive the parsing.
void add_train_settings(Args& args, train::TrainConfig& config,
                        const std::set<std::string>& without = {});

// Settings of a YAML file, except where a flag was given: flags win.
void read_train_settings(train::TrainConfig& config, std::string_view text,
                         const std::string& origin, const std::set<std::string>& given_flags);

}  // namespace trainyard::cli

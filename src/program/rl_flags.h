// The settings of a reinforcement-learning run as flags.
#pragma once

#include <map>
#include <set>
#include <string>

#include "program/args.h"
#include "rl/agents/config.h"

namespace trainyard::cli {

// Flags that are given win over a file, and that over what suits environment and agent.
class RlSettingFlags {
 public:
  RlSettingFlags() = default;
  RlSettingFlags(const RlSettingFlags&) = delete;
  RlSettingFlags& operator=(const RlSettingFlags&) = delete;

  // Switches take on or off, since a preset may have either.
  void declare(Args& args);
  // The names of them all, without hyphens in front.
  std::vector<std::string> flags() const;
  // Checked. `file_text` is YAML and may be empty.
  rl::RlConfig resolve(const std::string& file_text, const std::string& origin) const;
  // The flags again, for other processes.
  std::vector<std::string> arguments() const;
  const std::set<std::string>& given() const { return given_; }

 private:
  rl::RlConfig parsed_;
  std::map<std::string, std::string> switches_;
  std::set<std::string> given_;
};

}  // namespace trainyard::cli

// The settings of a run by name, so that flags, a YAML file and config.yaml are one list.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

// "weight_decay" in files is --weight-decay on a command line; both without the hyphens in front.
std::string flag_of_setting(std::string name);
std::string setting_of_flag(std::string flag);

// The text of a file of settings. Throws Error for one without any.
std::string read_settings_file(const std::string& path);

// Binds names to variables, which must outlive it.
class Settings {
 public:
  using Variable = std::variant<std::string*, int64_t*, double*, bool*>;
  struct Setting {
    std::string name;  // "weight_decay"
    Variable variable;
    std::string help;  // one line
  };

  void add(std::string name, Variable variable, std::string help);
  std::span<const Setting> all() const& { return settings_; }
  std::span<const Setting> all() const&& = delete;

  // Sets what the text names, except those in `given` (flags win over a file). Throws Error with
  // `origin`, line and the nearest name for an unknown one, and for a value of another kind.
  void read_yaml(std::string_view text, const std::string& origin,
                 const std::set<std::string>& given = {});
  // Every setting with its help; read_yaml restores the same values, bit by bit.
  std::string to_yaml() const;
  // Those whose flags are in `given`, as arguments of a command that declares them:
  // "--weight-decay", "0.1". A switch that is on is its name alone, unless the command wants
  // `switches` as on or off.
  enum class Switches : uint8_t { kNameAlone, kOnOrOff };
  std::vector<std::string> arguments(const std::set<std::string>& given,
                                     Switches switches = Switches::kNameAlone) const;
  // "name: value" for each setting.
  std::vector<std::string> lines() const;
  // A line "\n  name: value, asked for: name: value" for each that differs from the same list with
  // the values of `asked`; empty: none does.
  std::string differences(const Settings& asked) const;
  // 16 hexadecimal digits that change with any value.
  std::string hash() const;

 private:
  std::vector<Setting> settings_;
};

}  // namespace trainyard

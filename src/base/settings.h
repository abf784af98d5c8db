// The settings of a run by name, so that flags, a YAML file and config.yaml are one list.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
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

// The numbers that a setting may have; NaN is never among them.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool without_least = false;
  bool without_most = false;
  std::optional<double> or_else = {};  // allowed besides: 0 for "none"
  std::string note = {};               // for errors: "0.9 is 90 %"

  bool holds(double number) const;
  // "1 to 64", "more than 0, at most 64", "1 or more", "0, or 0.001 to 64".
  std::string text() const;
};
inline Range between(double least, double most) {
  return {.least = least, .most = most};
}
inline Range at_least(double least) {
  return {.least = least};
}
// `least` itself is not allowed.
inline Range above(double least, double most) {
  return {.least = least, .most = most, .without_least = true};
}
// `most` itself is not allowed.
inline Range below(double least, double most) {
  return {.least = least, .most = most, .without_most = true};
}

// Binds names to variables, which must outlive it.
class Settings {
 public:
  // Absent optionals are null in files. Lists of numbers are one flag, texts a flag each.
  using Variable = std::variant<std::string*, int64_t*, double*, bool*, std::optional<int64_t>*,
                                std::optional<double>*, std::vector<int64_t>*, std::vector<double>*,
                                std::vector<std::string>*>;
  struct Setting {
    std::string name;  // "weight_decay"
    Variable variable;
    std::string help;  // one line
    std::optional<Range> range = {};
    std::vector<std::string> choices = {};  // empty: any text
    std::string group = {};
  };

  void add(std::string name, Variable variable, std::string help, std::optional<Range> range = {});
  void choice(std::string name, std::string* variable, std::vector<std::string> choices,
              std::string help);
  // The group of what is added from now on.
  void group(std::string name) { group_ = std::move(name); }
  std::span<const Setting> all() const& { return settings_; }
  std::span<const Setting> all() const&& = delete;

  // Throws Error for a number outside of its range: "batch is 0, expected 1 to 64". With flags, the
  // name is as on a command line: "--batch".
  enum class Names : uint8_t { kSettings, kFlags };
  void check(Names names = Names::kSettings) const;

  // Sets what the text names, except those in `given` (flags win over a file). Throws Error with
  // `origin`, line and the nearest name for an unknown one, and for a value of another kind.
  void read_yaml(std::string_view text, const std::string& origin,
                 const std::set<std::string>& given = {});
  // Every setting with its help; read_yaml restores the same values, bit by bit.
  std::string to_yaml() const;
  // Those whose flags are in `given`, as arguments of a command that declares them:
  // "--weight-decay", "0.1". Switches are on or off.
  std::vector<std::string> arguments(const std::set<std::string>& given) const;
  // "name: value" for each setting.
  std::vector<std::string> lines() const;
  // A line "\n  name: value, asked for: name: value" for each that differs from the same list with
  // the values of `asked`; empty: none does.
  std::string differences(const Settings& asked) const;
  // 16 hexadecimal digits that change with any value. Of the settings in `later` those count that
  // differ from `usual`, the same list with its defaults: what was written before they existed
  // keeps its digits.
  std::string hash(const Settings& usual, std::span<const std::string_view> later) const;
  std::string hash() const { return hash(*this, {}); }

 private:
  std::vector<Setting> settings_;
  std::string group_;
};

}  // namespace trainyard

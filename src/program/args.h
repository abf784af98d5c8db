// The arguments of one command. CLI11 stands behind args.cpp and nowhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/settings.h"
#include "report/document.h"

namespace trainyard::cli {

// A command declares what it takes, then parse() fills the bound variables, which must outlive it.
// Wrong flags are Error with the nearest right one.
class Args {
 public:
  Args(std::string_view command, std::string_view summary, std::string_view examples);
  ~Args();
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;

  void positional(const std::string& name, std::string& target, const std::string& help);
  void optional_positional(const std::string& name, std::string& target, const std::string& help);
  void positionals(const std::string& name, std::vector<std::string>& target,
                   const std::string& help);
  void positionals(const std::string& name, std::vector<int64_t>& target, const std::string& help);
  void optional_positionals(const std::string& name, std::vector<std::string>& target,
                            const std::string& help);

  // The target's value at declaration is the default that help shows. parse() checks the ranges of
  // what was given.
  void option(const std::string& flag, std::string& target, const std::string& help);
  void option(const std::string& flag, int64_t& target, const std::string& help,
              std::optional<Range> range = {});
  void option(const std::string& flag, double& target, const std::string& help,
              std::optional<Range> range = {});
  void option(const std::string& flag, std::optional<int64_t>& target, const std::string& help,
              std::optional<Range> range = {});
  void option(const std::string& flag, std::optional<double>& target, const std::string& help,
              std::optional<Range> range = {});
  // Comma-separated; the range is that of each.
  void option(const std::string& flag, std::vector<int64_t>& target, const std::string& help,
              std::optional<Range> range = {});
  void option(const std::string& flag, std::vector<double>& target, const std::string& help,
              std::optional<Range> range = {});
  // May be given several times; not split at commas.
  void repeated(const std::string& flag, std::vector<std::string>& target, const std::string& help);
  // Values of the form key=value, several behind one flag or the flag again: --set a=1 b=2.
  void assignments(const std::string& flag, std::vector<std::string>& target,
                   const std::string& help);
  // What an option means that is given without a value.
  void value_when_bare(const std::string& flag, std::string value);
  void choice(const std::string& flag, std::string& target, const std::vector<std::string>& choices,
              const std::string& help);
  void flag(const std::string& flag, bool& target, const std::string& help);
  // A switch that a file of settings may have set too: "--flag" or "--flag on", and "--flag off".
  void toggle(const std::string& flag, bool& target, const std::string& help);
  // Every setting as a flag, but those named here; what they are bound to must outlive the parsing.
  void settings(const Settings& settings, const std::set<std::string>& without = {});
  // The same without that check, for settings that files set too, which are checked afterwards.
  void unchecked_settings(const Settings& settings, const std::set<std::string>& without = {});
  // --format text|md|csv|json|html|bundle, --json, and --html FILE, which run_program() acts on.
  // With `notebooks`, ipynb too, which report::render() leaves to the command.
  void format(report::Format& target, bool notebooks = false);
  // Of --html; empty: the result goes to stdout.
  const std::string& html_file() const;

  // --config FILE, a YAML file with options by name, unless the command reads such a file itself.
  // It is declared last, when all others are known; the command line wins over the file.
  void options_file();

  // A flag that had another name: giving the old one is an Error that says the new one.
  void renamed(const std::string& old_flag, const std::string& new_flag);

  // Flags that only some actions of a command read; parse() refuses them with another action, which
  // would ignore them. `action` is asked then.
  struct OwnFlags {
    std::vector<std::string> actions;
    std::vector<std::string> flags;  // without hyphens in front
  };
  void own_flags(std::function<std::string()> action, std::vector<OwnFlags> table);

  // Filled by parse() with the names of the flags that were given, without hyphens in front.
  void given(std::set<std::string>& target);

  // False if help was asked for, which is then in help().
  bool parse(std::span<const std::string> arguments);
  std::string help() const;
  // [{name, help, positional, required, takes_value, several, type, default, group, choices,
  // range, least, most}], for programs that call this one; what is not known is left out.
  Json description() const;
  // "--batch", "--json", …
  std::vector<std::string> flags() const;
  // The library names settings in backquotes, as `weight_decay`, because not all who read its texts
  // have a command line. Those that are flags of this command become "--weight-decay".
  std::string with_flags(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainyard::cli

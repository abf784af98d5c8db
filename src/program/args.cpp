#include "program/args.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <type_traits>
#include <variant>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/yaml.h"

namespace trainyard::cli {

// CLI11 stays behind this class: it takes long to compile, and only this file includes it.
struct Args::Impl {
  explicit Impl(std::string_view summary) : app(std::string(summary)) {}

  CLI::App app;
  std::string command;
  std::string examples;
  std::set<std::string>* given = nullptr;
  report::Format* format = nullptr;
  std::string html_file;
  std::map<std::string, std::string> renamed;
  std::set<std::string> assignments;
  std::map<std::string, std::string> bare_values;
  std::set<std::string> toggles;
  std::function<std::string()> action;
  std::optional<std::string> options_file;  // "": may be given and is not
  std::vector<OwnFlags> own_flags;
  Settings checked;                                   // whose ranges parse() checks
  Settings limited;                                   // the same where the flag is given
  std::map<std::string, Settings::Setting> settings;  // by flag, as declared

  void limit(const std::string& flag, Settings::Variable target, const std::optional<Range>& range);
  void check_ranges() const;
  void check_own_flags() const;
  std::vector<std::string> with_flags_repeated(std::span<const std::string> arguments) const;
  std::vector<std::string> with_bare_values(std::vector<std::string> words) const;
  std::vector<std::string> with_options_of_file(std::vector<std::string> words) const;
};

// "--set a=1 b=2" as "--set a=1 --set b=2", and "--nesterov off" as "--nesterov=off": only what has
// a name and '=', or is on or off, belongs to the flag, so that a positional behind it stays one.
std::vector<std::string> Args::Impl::with_flags_repeated(
    std::span<const std::string> arguments) const {
  constexpr std::string_view kName =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::vector<std::string> words;
  std::string open;  // the flag whose values these are
  bool first = false;
  for (const std::string& word : arguments) {
    const bool is_switch = word == "on" || word == "off";
    if (is_switch && !words.empty() && toggles.contains(words.back())) {
      words.back() += "=" + word;
      continue;
    }
    const size_t name = std::min(word.find_first_not_of(kName), word.size());
    const bool assigns = name > 0 && name < word.size() && word[name] == '=';
    if (assignments.count(word) > 0) {
      open = word;
      first = true;
    } else if (!open.empty() && assigns) {
      if (!first) words.push_back(open);
      first = false;
    } else {
      open.clear();
    }
    words.push_back(word);
  }
  return words;
}

// The range of a flag that is declared one by one, as settings have theirs.
void Args::Impl::limit(const std::string& flag, Settings::Variable target,
                       const std::optional<Range>& range) {
  if (!range) return;
  const std::string name = setting_of_flag(flag.substr(2));
  const std::string help = app.get_option(flag)->get_description();
  settings[flag] = {.name = name, .variable = target, .help = help, .range = range};
  limited.add(name, target, help, range);
}

// What was not given may be absent by a number outside of the range.
void Args::Impl::check_ranges() const {
  checked.check(Settings::Names::kFlags);
  for (const Settings::Setting& setting : limited.all()) {
    if (app.get_option("--" + flag_of_setting(setting.name))->count() == 0) continue;
    Settings one;
    one.add(setting.name, setting.variable, setting.help, setting.range);
    one.check(Settings::Names::kFlags);
  }
}

// After parsing, when the action is known.
void Args::Impl::check_own_flags() const {
  for (const OwnFlags& own : own_flags) {
    const std::string asked = action();
    if (std::find(own.actions.begin(), own.actions.end(), asked) != own.actions.end()) continue;
    for (const std::string& flag : own.flags) {
      TY_REQUIRE(app.get_option("--" + flag)->count() == 0,
                 "{} {}: --{} does not belong to it, but to {} {}. See 'trainyard {} --help'",
                 command, asked, flag, command, join(own.actions, ", "), command);
    }
  }
}

// A flag that stands alone, at the end or before another flag, gets its value.
std::vector<std::string> Args::Impl::with_bare_values(std::vector<std::string> words) const {
  for (size_t i = 0; i < words.size(); ++i) {
    const auto bare = bare_values.find(words[i]);
    if (bare == bare_values.end()) continue;
    const bool alone = i + 1 == words.size() || words[i + 1].starts_with('-');
    if (alone) words.insert(words.begin() + static_cast<ptrdiff_t>(i) + 1, bare->second);
  }
  return words;
}

namespace {

// A value of a file as it would be typed: nothing for null and for a switch that is off.
std::vector<std::string> words_of_option(const CLI::Option& option, bool toggles,
                                         const YamlView& value) {
  const std::string flag = option.get_name();
  const auto typed = [](const YamlView& item) {
    return item.json().is_string() ? item.text() : item.json().dump(-1);
  };
  if (value.json().is_null()) return {};
  if (value.json().is_object()) value.fail("expected a text, a number or a list of them");
  if (option.get_expected_max() == 0) {
    const bool on = value.boolean();
    if (toggles) return {flag + (on ? "=on" : "=off")};
    return on ? std::vector<std::string>{flag} : std::vector<std::string>{};
  }
  if (!value.json().is_array()) return {flag, typed(value)};
  std::vector<std::string> items;
  for (const YamlView& item : value.items()) items.push_back(typed(item));
  if (option.get_expected_max() == 1) return {flag, join(items, ",")};
  std::vector<std::string> words;
  for (const std::string& item : items) words.insert(words.end(), {flag, item});
  return words;
}

}  // namespace

// Those that the words do not have, behind them.
std::vector<std::string> Args::Impl::with_options_of_file(std::vector<std::string> words) const {
  constexpr std::string_view kFlag = "--config";
  if (!options_file) return words;
  const auto place = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
    return word == kFlag || word.starts_with(std::string(kFlag) + "=");
  });
  if (place == words.end()) return words;
  const bool apart = *place == kFlag;
  if (apart && std::next(place) == words.end()) return words;  // CLI11 says what is missing
  const std::string path = apart ? *std::next(place) : place->substr(kFlag.size() + 1);
  const auto document = YamlDocument::parse(read_settings_file(path), path);
  std::vector<std::string> names;
  std::map<std::string, const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name == "help" || name == kFlag.substr(2)) continue;
      options[setting_of_flag(name)] = option;
      names.push_back(setting_of_flag(name));
    }
  }
  document->root().only(names);
  for (const auto& [name, value] : document->root().members()) {
    const std::string flag = "--" + flag_of_setting(name);
    const bool has_flag = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word == flag || word.starts_with(flag + "=");
    });
    if (has_flag) continue;
    const auto more = words_of_option(*options.at(name), toggles.contains(flag), value);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

Args::Args(std::string_view command, std::string_view summary, std::string_view examples)
    : impl_(std::make_unique<Impl>(summary)) {
  impl_->command = command;
  impl_->examples = examples;
  impl_->app.name("trainyard " + impl_->command);
  impl_->app.set_help_flag("-h,--help", "Show this help");
  impl_->app.get_formatter()->column_width(34);
}

Args::~Args() = default;

namespace {

// Names and paths: an empty one is a variable of a shell that was not set.
const CLI::Validator kNotEmpty(
    [](const std::string& text) {
      const bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
      return blank ? std::string("an empty text; expected a name or a path") : std::string();
    },
    "");

// A whole number or a finite one, all of the text; `name` is that of the flag in errors.
template <typename Number>
Number number_of(std::string_view text, const std::string& name) {
  constexpr bool kWhole = std::is_integral_v<Number>;
  Number number = 0;
  // from_chars knows no plus sign.
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, number);
  bool fits = result.ec != std::errc::result_out_of_range;
  if constexpr (!kWhole) fits = fits && std::isfinite(number);
  if (!fits && result.ptr == end) {
    throw CLI::ValidationError(name, fmt::format("'{}' is too large", text));
  }
  if (result.ec != std::errc() || result.ptr != end || digits.starts_with('+')) {
    throw CLI::ValidationError(
        name, fmt::format("'{}' is no {}", text, kWhole ? "whole number" : "number"));
  }
  return number;
}

template <typename Number>
std::vector<Number> numbers_of(const std::string& text, const std::string& name) {
  std::vector<Number> numbers;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) {
      throw CLI::ValidationError(
          name, fmt::format("'{}' has an empty place; expected numbers such as 1,2,4", text));
    }
    numbers.push_back(number_of<Number>(part, name));
  }
  return numbers;
}

template <typename Number>
const char* type_of() {
  return std::is_integral_v<Number> ? "INT" : "FLOAT";
}

template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& flag, const std::string& help,
                        std::function<void(Number)> set) {
  return app
      .add_option_function<std::string>(
          flag,
          [flag, set = std::move(set)](const std::string& text) {
            set(number_of<Number>(text, flag));
          },
          help)
      ->type_name(type_of<Number>());
}

template <typename Number>
void add_list(CLI::App& app, const std::string& flag, std::vector<Number>& target,
              const std::string& help) {
  // The default as it would be typed.
  std::vector<std::string> words;
  for (const Number number : target) words.push_back(fmt::format("{}", number));
  CLI::Option* option = app.add_option_function<std::string>(
      flag, [flag, &target](const std::string& text) { target = numbers_of<Number>(text, flag); },
      help);
  option->type_name(std::string(type_of<Number>()) + ",...");
  if (!words.empty()) option->default_str(join(words, ","));
}

}  // namespace

void Args::positional(const std::string& name, std::string& target, const std::string& help) {
  impl_->app.add_option(name, target, help)->required()->check(kNotEmpty);
}

void Args::optional_positional(const std::string& name, std::string& target,
                               const std::string& help) {
  impl_->app.add_option(name, target, help)->check(kNotEmpty);
}

void Args::positionals(const std::string& name, std::vector<std::string>& target,
                       const std::string& help) {
  impl_->app.add_option(name, target, help)->required()->check(kNotEmpty);
}

void Args::positionals(const std::string& name, std::vector<int64_t>& target,
                       const std::string& help) {
  const auto whole = [name](const std::string& text) {
    number_of<int64_t>(text, name);
    return std::string();
  };
  impl_->app.add_option(name, target, help)->required()->check(CLI::Validator(whole, ""));
}

void Args::optional_positionals(const std::string& name, std::vector<std::string>& target,
                                const std::string& help) {
  impl_->app.add_option(name, target, help);
}

void Args::option(const std::string& flag, std::string& target, const std::string& help) {
  CLI::Option* option = impl_->app.add_option(flag, target, help)->check(kNotEmpty);
  if (!target.empty()) option->capture_default_str();
}

void Args::option(const std::string& flag, int64_t& target, const std::string& help,
                  std::optional<Range> range) {
  add_number<int64_t>(impl_->app, flag, help, [&target](int64_t number) {
    target = number;
  })->default_str(fmt::format("{}", target));
  impl_->limit(flag, &target, range);
}

void Args::option(const std::string& flag, double& target, const std::string& help,
                  std::optional<Range> range) {
  add_number<double>(impl_->app, flag, help, [&target](double number) {
    target = number;
  })->default_str(fmt::format("{}", target));
  impl_->limit(flag, &target, range);
}

void Args::option(const std::string& flag, std::optional<int64_t>& target, const std::string& help,
                  std::optional<Range> range) {
  add_number<int64_t>(impl_->app, flag, help, [&target](int64_t number) { target = number; });
  impl_->limit(flag, &target, range);
}

void Args::option(const std::string& flag, std::optional<double>& target, const std::string& help,
                  std::optional<Range> range) {
  add_number<double>(impl_->app, flag, help, [&target](double number) { target = number; });
  impl_->limit(flag, &target, range);
}

void Args::option(const std::string& flag, std::vector<int64_t>& target, const std::string& help,
                  std::optional<Range> range) {
  add_list(impl_->app, flag, target, help);
  impl_->limit(flag, &target, range);
}

void Args::option(const std::string& flag, std::vector<double>& target, const std::string& help,
                  std::optional<Range> range) {
  add_list(impl_->app, flag, target, help);
  impl_->limit(flag, &target, range);
}

void Args::repeated(const std::string& flag, std::vector<std::string>& target,
                    const std::string& help) {
  // One value per flag, so that a positional behind it is not taken for another value.
  impl_->app.add_option(flag, target, help)->take_all()->allow_extra_args(false)->check(kNotEmpty);
}

void Args::assignments(const std::string& flag, std::vector<std::string>& target,
                       const std::string& help) {
  repeated(flag, target, help);
  impl_->app.get_option(flag)->type_name("KEY=VALUE");
  impl_->assignments.insert(flag);
}

void Args::value_when_bare(const std::string& flag, std::string value) {
  impl_->bare_values[flag] = std::move(value);
}

// The list is in the error, as people do not ask for help after a typing error.
void Args::choice(const std::string& flag, std::string& target,
                  const std::vector<std::string>& choices, const std::string& help) {
  const auto known = [choices, flag](const std::string& word) -> std::string {
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return "";
    const std::string near = did_you_mean(word, choices);
    return fmt::format("'{}' is not one of {}{}", word, join(choices, ", "),
                       near.empty() ? "" : "." + near);
  };
  impl_->app.add_option(flag, target, help)
      ->check(CLI::Validator(known, "", ""))
      ->type_name(join(choices, "|"))
      ->capture_default_str();
}

void Args::flag(const std::string& flag, bool& target, const std::string& help) {
  impl_->app.add_flag(flag, target, help);
}

void Args::toggle(const std::string& flag, bool& target, const std::string& help) {
  impl_->app.add_flag(flag, target, help)->type_name("[on|off]");
  impl_->toggles.insert(flag);
}

void Args::unchecked_settings(const Settings& settings, const std::set<std::string>& without) {
  for (const Settings::Setting& setting : settings.all()) {
    if (without.contains(setting.name)) continue;
    const std::string name = "--" + flag_of_setting(setting.name);
    impl_->settings[name] = setting;
    const auto declare = [&](auto* variable) {
      using Value = std::remove_pointer_t<decltype(variable)>;
      if constexpr (std::is_same_v<Value, bool>) {
        toggle(name, *variable, setting.help);
      } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
        repeated(name, *variable, setting.help);
      } else {
        option(name, *variable, setting.help);
      }
    };
    if (setting.choices.empty()) {
      std::visit(declare, setting.variable);
    } else {
      choice(name, *std::get<std::string*>(setting.variable), setting.choices, setting.help);
    }
  }
}

void Args::settings(const Settings& settings, const std::set<std::string>& without) {
  unchecked_settings(settings, without);
  for (const Settings::Setting& setting : settings.all()) {
    if (!without.contains(setting.name)) {
      impl_->checked.add(setting.name, setting.variable, setting.help, setting.range);
    }
  }
}

void Args::format(report::Format& target, bool notebooks) {
  impl_->format = &target;
  const auto set = [&target, notebooks](const std::string& name) {
    target.kind = report::format_from_name(name);
    TY_REQUIRE(notebooks || target.kind != report::Format::kNotebook,
               "format 'ipynb' is of 'lab run' alone");
  };
  impl_->app
      .add_option_function<std::string>(
          "--format", set, "Output: text, md, csv, json, html, or all of it for notebooks: bundle")
      ->type_name(notebooks ? "text|md|csv|json|html|bundle|ipynb"
                            : "text|md|csv|json|html|bundle");
  impl_->app.add_flag_callback(
      "--json", [&target] { target.kind = report::Format::kJson; }, "The same as --format json");
  // --html FILE is a format and a place at once; the caller writes the file.
  const auto write = [this, &target](const std::string& file) {
    target.kind = report::Format::kHtml;
    impl_->html_file = file;
  };
  impl_->app.add_option_function<std::string>("--html", write, "Write the result as a page")
      ->check(kNotEmpty)
      ->type_name("FILE");
}

const std::string& Args::html_file() const {
  return impl_->html_file;
}

void Args::options_file() {
  if (impl_->app.get_option_no_throw("--config") != nullptr) return;
  option("--config", impl_->options_file.emplace(),
         "options from this YAML file, by their names here; the command line wins");
}

void Args::renamed(const std::string& old_flag, const std::string& new_flag) {
  impl_->renamed[old_flag] = new_flag;
}

void Args::given(std::set<std::string>& target) {
  impl_->given = &target;
}

void Args::own_flags(std::function<std::string()> action, std::vector<OwnFlags> table) {
  impl_->action = std::move(action);
  impl_->own_flags = std::move(table);
}

// CLI11's messages end in our form: the command, what is wrong, the nearest flag, where to look.
bool Args::parse(std::span<const std::string> arguments) {
  // As CLI11 wants them.
  std::vector<std::string> reversed =
      impl_->with_options_of_file(impl_->with_bare_values(impl_->with_flags_repeated(arguments)));
  std::reverse(reversed.begin(), reversed.end());
  try {
    impl_->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ExtrasError&) {
    const std::string extra = impl_->app.remaining().at(0);
    const auto renamed = impl_->renamed.find(extra.substr(0, extra.find('=')));
    if (renamed != impl_->renamed.end()) {
      throw_error("{}: {} is now called {}. See 'trainyard {} --help'", impl_->command,
                  renamed->first, renamed->second, impl_->command);
    }
    throw_error("{}: '{}' is not expected.{} See 'trainyard {} --help'", impl_->command, extra,
                did_you_mean(extra, flags()), impl_->command);
  } catch (const CLI::ArgumentMismatch& problem) {
    const std::string what = problem.what();
    // CLI11 tells one case from others only by its words.
    if (what.find("At Most 1") == std::string::npos) throw_error("{}: {}", impl_->command, what);
    throw_error("{}: {} is given more than once. See 'trainyard {} --help'", impl_->command,
                what.substr(0, what.find(':')), impl_->command);
  } catch (const CLI::ParseError& problem) {
    const std::string what = problem.what();
    throw_error("{}: {}{} See 'trainyard {} --help'", impl_->command, what,
                what.ends_with('?') || what.ends_with('.') ? "" : ".", impl_->command);
  }
  impl_->check_own_flags();
  impl_->check_ranges();
  // The command line stands in every report, quoted so that it can be pasted into a shell.
  if (impl_->format != nullptr) {
    impl_->format->command = "trainyard " + impl_->command;
    for (const std::string& word : arguments) impl_->format->command += " " + shell_word(word);
  }
  // Long names without dashes, as settings have them.
  if (impl_->given != nullptr) {
    for (const CLI::Option* option : impl_->app.get_options()) {
      if (option->count() == 0) continue;
      for (const std::string& name : option->get_lnames()) impl_->given->insert(name);
    }
  }
  return true;
}

std::vector<std::string> Args::flags() const {
  std::vector<std::string> flags;
  for (const CLI::Option* option : impl_->app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::string Args::with_flags(std::string_view text) const {
  const std::vector<std::string> known = flags();
  std::string changed;
  while (true) {
    const size_t open = text.find('`');
    const size_t close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return changed += text;
    changed += text.substr(0, open);
    const std::string name(text.substr(open + 1, close - open - 1));
    const std::string flag = "--" + flag_of_setting(name);
    const bool is_flag = std::find(known.begin(), known.end(), flag) != known.end();
    // The second backquote of what is no flag may open the next name.
    changed += is_flag ? flag : "`" + name;
    text.remove_prefix(is_flag ? close + 1 : close);
  }
}

namespace {

// Of a described setting: the group, and what it may be.
void add_facts(Json& fields, const Settings::Setting& setting) {
  if (!setting.group.empty()) fields["group"] = setting.group;
  if (!setting.choices.empty()) fields["choices"] = Json::array_of(setting.choices);
  if (!setting.range) return;
  fields["range"] = setting.range->text();
  if (std::isfinite(setting.range->least)) fields["least"] = setting.range->least;
  if (std::isfinite(setting.range->most)) fields["most"] = setting.range->most;
}

}  // namespace

// What `help --json` says; the Python package and completions are checked against it.
Json Args::description() const {
  Json arguments = Json::array();
  for (const CLI::Option* option : impl_->app.get_options()) {
    const bool positional = option->get_positional();
    const std::string name = option->get_name();
    if (name == "-h,--help" || name == "--help") continue;
    Json fields = Json::object({{"name", name}, {"help", with_flags(option->get_description())}});
    fields["positional"] = positional;
    fields["required"] = option->get_required();
    // 0: a switch. Comma-separated numbers are one text here.
    fields["takes_value"] = option->get_expected_max() > 0;
    fields["several"] = option->get_expected_max() > 1;
    fields["type"] = option->get_type_name();
    if (!option->get_default_str().empty()) fields["default"] = option->get_default_str();
    const auto setting = impl_->settings.find(name);
    if (setting != impl_->settings.end()) add_facts(fields, setting->second);
    arguments.push_back(std::move(fields));
  }
  return arguments;
}

// Ranges stand behind the help of their flags.
std::string Args::help() const {
  for (const auto& [flag, setting] : impl_->settings) {
    if (!setting.range) continue;
    CLI::Option* option = impl_->app.get_option(flag);
    option->description(fmt::format("{} ({})", setting.help, setting.range->text()));
  }
  std::string text = impl_->app.help();
  if (!impl_->examples.empty()) text += "\nExamples:\n" + impl_->examples;
  return with_flags(text);
}

}  // namespace trainyard::cli

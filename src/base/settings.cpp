#include "base/settings.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "base/yaml.h"

namespace trainyard {
namespace {

std::string number_text(double number) {
  return fmt::format("{}", number);
}

// As in a file. Text is quoted, so that a name such as 1080 or true stays text. Numbers are written
// by fmt: JSON has no infinities, YAML has.
struct Writer {
  std::string operator()(const std::string* text) const { return Json(*text).dump(-1); }
  std::string operator()(const int64_t* number) const { return fmt::format("{}", *number); }
  std::string operator()(const double* number) const { return number_text(*number); }
  std::string operator()(const bool* flag) const { return *flag ? "true" : "false"; }
  template <typename Number>
  std::string operator()(const std::optional<Number>* number) const {
    return *number ? (*this)(&**number) : "null";
  }
  template <typename Item>
  std::string operator()(const std::vector<Item>* items) const {
    std::vector<std::string> words;
    for (const Item& item : *items) words.push_back((*this)(&item));
    return "[" + join(words, ", ") + "]";
  }
};

std::string value_text(const Settings::Variable& variable) {
  return std::visit(Writer(), variable);
}

struct Reader {
  const YamlView& from;
  void operator()(std::string* text) const { *text = from.text(); }
  void operator()(int64_t* number) const { *number = from.integer(); }
  void operator()(double* number) const { *number = from.number(); }
  void operator()(bool* flag) const { *flag = from.boolean(); }
  template <typename Number>
  void operator()(std::optional<Number>* number) const {
    number->reset();
    if (!from.json().is_null()) (*this)(&number->emplace());
  }
  template <typename Item>
  void operator()(std::vector<Item>* items) const {
    items->clear();
    for (const YamlView& item : from.items()) Reader{item}(&items->emplace_back());
  }
};

// As arguments of a command line; numbers as in a file, which restores every bit, texts without
// quotes. Nothing for what is absent.
struct ArgumentWriter {
  const std::string& flag;
  using Words = std::vector<std::string>;

  Words operator()(const std::string* text) const { return {flag, *text}; }
  Words operator()(const bool* on) const { return {flag, *on ? "on" : "off"}; }
  template <typename Number>
  Words operator()(const Number* number) const {
    return {flag, Writer()(number)};
  }
  template <typename Number>
  Words operator()(const std::optional<Number>* number) const {
    return *number ? (*this)(&**number) : Words{};
  }
  template <typename Number>
  Words operator()(const std::vector<Number>* numbers) const {
    Words words;
    for (const Number& number : *numbers) words.push_back(Writer()(&number));
    return words.empty() ? Words{} : Words{flag, join(words, ",")};
  }
  Words operator()(const std::vector<std::string>* texts) const {
    Words words;
    for (const std::string& text : *texts) words.insert(words.end(), {flag, text});
    return words;
  }
};

struct RangeCheck {
  const Range& range;
  const std::string& name;

  template <typename Number>
  void operator()(const Number* number) const {
    TY_REQUIRE(range.holds(static_cast<double>(*number)), "{} is {}, expected {}{}", name, *number,
               range.text(), range.note.empty() ? "" : " (" + range.note + ")");
  }
  template <typename Number>
  void operator()(const std::optional<Number>* number) const {
    if (*number) (*this)(&**number);
  }
  template <typename Number>
  void operator()(const std::vector<Number>* numbers) const {
    for (const Number& number : *numbers) (*this)(&number);
  }
  // Texts and switches have no numbers.
  void operator()(const std::string*) const {}
  void operator()(const bool*) const {}
  void operator()(const std::vector<std::string>*) const {}
};

}  // namespace

std::string flag_of_setting(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string setting_of_flag(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

std::string read_settings_file(const std::string& path) {
  std::string text = read_file(path);
  TY_REQUIRE(text.find_first_not_of(" \t\r\n") != std::string::npos, "{}: the file is empty", path);
  return text;
}

bool Range::holds(double number) const {
  if (or_else && number == *or_else) return true;
  return (without_least ? least < number : least <= number) &&
         (without_most ? number < most : number <= most);
}

std::string Range::text() const {
  const bool open = most == std::numeric_limits<double>::infinity();
  std::string text = or_else ? number_text(*or_else) + ", or " : "";
  if (without_least) {
    text += fmt::format("more than {}{}", least, open ? "" : fmt::format(", at most {}", most));
  } else {
    text += open ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
  }
  return text;
}

void Settings::choice(std::string name, std::string* variable, std::vector<std::string> choices,
                      std::string help) {
  add(std::move(name), variable, std::move(help));
  settings_.back().choices = std::move(choices);
}

void Settings::check(Names names) const {
  for (const Setting& setting : settings_) {
    if (!setting.range) continue;
    const std::string name =
        names == Names::kFlags ? "--" + flag_of_setting(setting.name) : setting.name;
    std::visit(RangeCheck{*setting.range, name}, setting.variable);
  }
}

void Settings::add(std::string name, Variable variable, std::string help,
                   std::optional<Range> range) {
  for (const Setting& setting : settings_) {
    TY_CHECK(setting.name != name, "the setting '{}' is there already", name);
  }
  settings_.push_back({std::move(name), variable, std::move(help), std::move(range), {}, group_});
}

namespace {

// "null" in a file: a value that may be absent is.
struct Clearer {
  template <typename Value>
  void operator()(std::optional<Value>* value) const {
    value->reset();
  }
  template <typename Value>
  void operator()(Value* /*value*/) const {}
};

}  // namespace

void Settings::read_yaml(std::string_view text, const std::string& origin,
                         const std::set<std::string>& given) {
  const auto document = YamlDocument::parse(text, origin);
  const YamlView root = document->root();
  std::vector<std::string> names;
  for (const Setting& setting : settings_) names.push_back(setting.name);
  root.only(names);
  for (const Setting& setting : settings_) {
    if (given.contains(setting.name)) continue;
    if (const auto value = root.find(setting.name)) {
      std::visit(Reader{*value}, setting.variable);
    } else if (root.json().find(setting.name) != nullptr) {
      std::visit(Clearer(), setting.variable);
    }
  }
}

std::string Settings::to_yaml() const {
  std::string text;
  for (const Setting& setting : settings_) {
    text += fmt::format("{}: {}  # {}\n", setting.name, value_text(setting.variable), setting.help);
  }
  return text;
}

std::vector<std::string> Settings::arguments(const std::set<std::string>& given) const {
  std::vector<std::string> arguments;
  for (const Setting& setting : settings_) {
    const std::string flag = "--" + flag_of_setting(setting.name);
    if (!given.contains(flag.substr(2))) continue;
    const auto words = std::visit(ArgumentWriter{flag}, setting.variable);
    arguments.insert(arguments.end(), words.begin(), words.end());
  }
  return arguments;
}

std::vector<std::string> Settings::lines() const {
  std::vector<std::string> lines;
  for (const Setting& setting : settings_) {
    lines.push_back(fmt::format("{}: {}", setting.name, value_text(setting.variable)));
  }
  return lines;
}

std::string Settings::differences(const Settings& asked) const {
  const std::vector<std::string> own = lines();
  const std::vector<std::string> others = asked.lines();
  TY_CHECK(own.size() == others.size(), "{} and {} settings", own.size(), others.size());
  std::string list;
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] != others[i]) list += fmt::format("\n  {}, asked for: {}", own[i], others[i]);
  }
  return list;
}

std::string Settings::hash(const Settings& usual, std::span<const std::string_view> later) const {
  const std::vector<std::string> own = lines();
  const std::vector<std::string> defaults = usual.lines();
  TY_CHECK(own.size() == defaults.size(), "{} and {} settings", own.size(), defaults.size());
  std::string text;
  for (size_t i = 0; i < own.size(); ++i) {
    const bool is_later = std::find(later.begin(), later.end(), settings_[i].name) != later.end();
    if (!is_later || own[i] != defaults[i]) text += own[i] + '\n';
  }
  return fmt::format("{:016x}", hash_text(text));
}

}  // namespace trainyard

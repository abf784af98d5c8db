#include "cli/args.h"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"

namespace trainyard::cli {

struct Args::Impl {
  explicit Impl(std::string_view summary) : app(std::string(summary)) {}

  CLI::App app;
  std::string command;
  std::string examples;
  std::set<std::string>* given = nullptr;
  report::Format* format = nullptr;
  std::string html_file;
  std::map<std::string, std::string> renamed;
};

Args::Args(std::string_view command, std::string_view summary, std::string_view examples)
    : impl_(std::make_unique<Impl>(summary)) {
  impl_->command = command;
  impl_->examples = examples;
  impl_->app.name("trainyard " + impl_->command);
  impl_->app.set_help_flag("-h,--help", "Show this help");
  impl_->app.get_formatter()->column_width(34);
}

Args::~Args() = default;

void Args::positional(const std::string& name, std::string& target, const std::string& help) {
  impl_->app.add_option(name, target, help)->required();
}

void Args::optional_positional(const std::string& name, std::string& target,
                               const std::string& help) {
  impl_->app.add_option(name, target, help);
}

void Args::positionals(const std::string& name, std::vector<std::string>& target,
                       const std::string& help) {
  impl_->app.add_option(name, target, help)->required();
}

void Args::positionals(const std::string& name, std::vector<int64_t>& target,
                       const std::string& help) {
  impl_->app.add_option(name, target, help)->required();
}

void Args::optional_positionals(const std::string& name, std::vector<std::string>& target,
                                const std::string& help) {
  impl_->app.add_option(name, target, help);
}

void Args::option(const std::string& flag, std::string& target, const std::string& help) {
  CLI::Option* option = impl_->app.add_option(flag, target, help);
  if (!target.empty()) option->capture_default_str();
}

void Args::option(const std::string& flag, int64_t& target, const std::string& help) {
  impl_->app.add_option(flag, target, help)->capture_default_str();
}

void Args::option(const std::string& flag, double& target, const std::string& help) {
  impl_->app.add_option(flag, target, help)->capture_default_str();
}

void Args::option(const std::string& flag, std::optional<int64_t>& target,
                  const std::string& help) {
  impl_->app.add_option(flag, target, help);
}

void Args::option(const std::string& flag, std::optional<double>& target, const std::string& help) {
  impl_->app.add_option(flag, target, help);
}

void Args::option(const std::string& flag, std::vector<int64_t>& target, const std::string& help) {
  impl_->app.add_option(flag, target, help)->delimiter(',')->capture_default_str();
}

void Args::option(const std::string& flag, std::vector<double>& target, const std::string& help) {
  impl_->app.add_option(flag, target, help)->delimiter(',')->capture_default_str();
}

void Args::repeated(const std::string& flag, std::vector<std::string>& target,
                    const std::string& help) {
  impl_->app.add_option(flag, target, help)->take_all()->allow_extra_args(false);
}

void Args::choice(const std::string& flag, std::string& target,
                  const std::vector<std::string>& choices, const std::string& help) {
  const auto known = [choices, flag](const std::string& word) -> std::string {
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return "";
    return fmt::format("'{}' is not one of {}.{}", word, join(choices, ", "),
                       did_you_mean(word, choices));
  };
  impl_->app.add_option(flag, target, help)
      ->check(CLI::Validator(known, "", ""))
      ->type_name(join(choices, "|"))
      ->capture_default_str();
}

void Args::flag(const std::string& flag, bool& target, const std::string& help) {
  impl_->app.add_flag(flag, target, help);
}

void Args::format(report::Format& target) {
  impl_->format = &target;
  const auto set = [&target](const std::string& name) {
    target.kind = report::format_from_name(name);
  };
  impl_->app
      .add_option_function<std::string>("--format", set, "Output: text, md, csv, json or html")
      ->type_name("text|md|csv|json|html");
  impl_->app.add_flag_callback(
      "--json", [&target] { target.kind = report::Format::kJson; }, "The same as --format json");
  const auto write = [this, &target](const std::string& file) {
    target.kind = report::Format::kHtml;
    impl_->html_file = file;
  };
  impl_->app.add_option_function<std::string>("--html", write, "Write the result as a page")
      ->type_name("FILE");
}

const std::string& Args::html_file() const {
  return impl_->html_file;
}

void Args::renamed(const std::string& old_flag, const std::string& new_flag) {
  impl_->renamed[old_flag] = new_flag;
}

void Args::given(std::set<std::string>& target) {
  impl_->given = &target;
}

bool Args::parse(std::span<const std::string> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
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
  } catch (const CLI::ParseError& problem) {
    throw_error("{}: {}. See 'trainyard {} --help'", impl_->command, problem.what(),
                impl_->command);
  }
  if (impl_->format != nullptr) {
    impl_->format->command = "trainyard " + impl_->command;
    for (const std::string& word : arguments) impl_->format->command += " " + shell_word(word);
  }
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

std::string Args::help() const {
  std::string text = impl_->app.help();
  if (!impl_->examples.empty()) text += "\nExamples:\n" + impl_->examples;
  return text;
}

}  // namespace trainyard::cli

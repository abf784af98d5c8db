// `trainyard completion`: what the shell needs to complete command lines.
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cluster/predict/catalog.h"
#include "models/zoo/model.h"
#include "program/command.h"
#include "program/lab/lab_file.h"

namespace trainyard::cli {
namespace {

// Completes for bash, and for zsh by bashcompinit. Lists are filled in, so that no command has to
// be started while one types.
constexpr const char* kScript = R"SH(# Completion of trainyard: eval "$(trainyard completion bash)"
_trainyard() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '@commands@' -- "$word"))
    return
  fi
  case "$before" in
    --format) COMPREPLY=($(compgen -W 'text md csv json html bundle' -- "$word")); return ;;
    --model) COMPREPLY=($(compgen -W '@models@' -- "$word") $(compgen -f -- "$word")); return ;;
    --device) COMPREPLY=($(compgen -W '@devices@' -- "$word")); return ;;
  esac
  case "${COMP_WORDS[1]}" in
    help) flags=''; words='@commands@' ;;
@cases@    *) return ;;
  esac
  case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
    3\ lab\ run | 3\ lab\ show | 3\ lab\ export)
      COMPREPLY=($(compgen -W '@labs@' -- "$word") $(compgen -f -X '!*.yaml' -- "$word"))
      return ;;
    2\ lab\ * | 2\ help\ * | 2\ models\ * | 2\ completion\ *)
      COMPREPLY=($(compgen -W "$words $flags" -- "$word"))
      return ;;
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _trainyard trainyard
)SH";

// Around it for zsh: the same text is a file _trainyard in a folder of $fpath, whose first call
// must complete too, and what a shell evaluates.
constexpr const char* kZshBefore = R"SH(#compdef trainyard
# For zsh: a file _trainyard in a folder of $fpath, or eval "$(trainyard completion zsh)"
(( $+functions[compdef] )) || { autoload -Uz +X compinit && compinit }
autoload -Uz +X bashcompinit && bashcompinit
)SH";
constexpr const char* kZshAfter = R"SH(if [ "$funcstack[1]" = _trainyard ]; then
  _bash_complete -o filenames -F _trainyard
fi
)SH";

std::vector<std::string> devices() {
  std::vector<std::string> names;
  const predict::Catalog catalog = predict::Catalog::load({});
  for (const predict::Device& device : catalog.devices()) names.push_back(device.id);
  return names;
}

// Words that may follow a command besides its flags.
std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  if (command == "lab") words = {"list", "show", "run", "export"};
  if (command == "data") words = {"inspect", "show", "fashion-mnist", "mnist", "cifar10"};
  if (command == "completion") words = {"bash", "zsh", "fish"};
  if (command == "help") {
    for (const Command* each : all_commands()) words.emplace_back(each->name);
  }
  for (const char* takes_models : {"analyze", "predict", "run", "bench", "export", "models"}) {
    if (command != takes_models) continue;
    for (const models::ModelDef* model : models::all_models()) words.emplace_back(model->name);
  }
  return words;
}

// Set up like a real call, but never run.
std::string flags_of(const Command& command) {
  Args args(command.name, command.summary, command.examples);
  const Runner unused = command.setup(args);
  return join(args.flags(), " ");
}

std::string bash() {
  std::vector<std::string> names = {"help"};
  std::string cases;
  for (const Command* command : all_commands()) {
    names.emplace_back(command->name);
    cases += fmt::format("    {}) flags='{}'; words='{}' ;;\n", command->name, flags_of(*command),
                         join(words_of(command->name), " "));
  }
  std::string models;
  for (const models::ModelDef* model : models::all_models()) {
    models += fmt::format("{}{}", models.empty() ? "" : " ", model->name);
  }
  std::string script = kScript;
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"@commands@", join(names, " ")},
        {"@models@", models},
        {"@devices@", join(devices(), " ")},
        {"@labs@", join(lab::lab_names(), " ")},
        {"@cases@", cases}}) {
    for (size_t at = script.find(name); at != std::string::npos; at = script.find(name, at)) {
      script.replace(at, name.size(), text);
    }
  }
  return script;
}

// A line of completion for each command, its words and its flags; files are fish's own.
std::string fish() {
  std::string out =
      "# Completion of trainyard for fish: trainyard completion fish | source\n"
      "complete -c trainyard -n __fish_use_subcommand -f -a help\n";
  for (const Command* command : all_commands()) {
    out += fmt::format("complete -c trainyard -n __fish_use_subcommand -f -a {} -d {}\n",
                       command->name, shell_word(std::string(command->summary)));
    const std::string here = fmt::format("'__fish_seen_subcommand_from {}'", command->name);
    std::vector<std::string> words = words_of(command->name);
    if (command->name == "lab") {
      for (std::string& name : lab::lab_names()) words.push_back(std::move(name));
    }
    if (!words.empty()) {
      out += fmt::format("complete -c trainyard -n {} -a '{}'\n", here, join(words, " "));
    }
    for (const std::string& flag : split(flags_of(*command), ' ')) {
      out += fmt::format("complete -c trainyard -n {} -l {}\n", here, flag.substr(2));
    }
  }
  return out;
}

Runner setup_completion(Args& args) {
  auto shell = std::make_shared<std::string>();
  args.positional("SHELL", *shell, "bash, zsh or fish");
  return [shell](std::ostream& out) {
    TY_REQUIRE(*shell == "bash" || *shell == "zsh" || *shell == "fish",
               "completion: '{}' is none of bash, zsh and fish", *shell);
    if (*shell == "fish") {
      out << fish();
      return 0;
    }
    if (*shell == "zsh") out << kZshBefore;
    out << bash();
    if (*shell == "zsh") out << kZshAfter;
    return 0;
  };
}

}  // namespace

extern const Command kCompletion = {
    .name = "completion",
    .group = "About",
    .summary = "Print shell completion for bash, zsh or fish",
    .examples =
        "  trainyard completion bash > ~/.local/share/bash-completion/completions/trainyard\n"
        "  eval \"$(trainyard completion zsh)\"\n"
        "  trainyard completion fish | source\n",
    .setup = setup_completion,
};

}  // namespace trainyard::cli

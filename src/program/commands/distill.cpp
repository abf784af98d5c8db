// `trainyard distill`: teacher and student with few labels.
#include "studies/distill.h"

#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/stop_signals.h"
#include "program/command.h"
#include "program/train_flags.h"
#include "runs/run_directory.h"
#include "studies/view.h"
#include "train/progress.h"

namespace trainyard::cli {
namespace {

struct DistillFlags {
  recipes::DistillConfig config;
  std::set<std::string> given;
  std::string config_file;
  std::string root = "runs";
  std::string name;
  std::vector<int64_t> ks = {100};
  std::vector<int64_t> ps = {1};
  bool quiet = false;
  report::Format format = report::Format::kText;
};

int distill_command(DistillFlags& flags, std::ostream& out) {
  if (!flags.config_file.empty()) {
    read_train_settings(flags.config.training, read_file(flags.config_file), flags.config_file,
                        flags.given);
  }
  runs::require_plain_name(flags.name);
  const std::string name = flags.name.empty() ? "distill" : flags.name;
  const std::filesystem::path folder = std::filesystem::path(flags.root) / name;
  train::Progress progress(std::cerr, train::Progress::mode_for_stderr(flags.quiet));
  const StopSignals signals;
  const recipes::StudyHooks hooks{
      .should_stop = [&] { return signals.requested(); },
      .on_step = [&](const train::StepReport& report) { progress.step(report); },
      .note = [&](const std::string& text) { progress.note(text); }};
  const recipes::DistillResult result =
      recipes::distill(flags.config, flags.ks, flags.ps, folder, hooks);
  const report::Document document = distill_document(flags.config, result);
  write_file(folder / "report.html", report::render(document, report::Format::kHtml));
  for (const report::Block& block : document.blocks) {
    if (const auto* picture = std::get_if<report::Picture>(&block)) {
      write_file(folder / "chosen.png", picture->png);
    }
  }
  out << report::render(document, flags.format);
  if (flags.format == report::Format::kText) {
    out << fmt::format("\nEverything is in {}: report.html, chosen.png, and each training\n",
                       folder.string());
  }
  return 0;
}

Runner setup_distill(Args& args) {
  auto flags = std::make_shared<DistillFlags>();
  args.option("--k", flags->ks, "K: images chosen for each class; several values make a sweep");
  args.option("--p", flags->ps,
              "P: best classes per image that are considered; several values make a sweep");
  const Settings own = recipes::distill_settings(flags->config);
  for (const Settings::Setting& setting : own.all()) {
    std::visit(
        [&](auto* variable) {
          if constexpr (std::is_same_v<decltype(variable), std::vector<std::string>*>) {
            args.repeated("--" + flag_of_setting(setting.name), *variable, setting.help);
          } else if constexpr (!std::is_same_v<decltype(variable), bool*>) {
            args.option("--" + flag_of_setting(setting.name), *variable, setting.help);
          }
        },
        setting.variable);
  }
  args.option("--runs-dir", flags->root, "the folder of run directories");
  args.option("--name", flags->name, "name of the study's folder (default: distill)");
  args.option("--config", flags->config_file,
              "training settings of the student from this YAML file");
  add_train_settings(args, flags->config.training,
                     {"workers", "servers", "target_accuracy", "weights"});
  args.flag("--quiet", flags->quiet, "print no progress");
  args.given(flags->given);
  args.format(flags->format);
  return [flags](std::ostream& out) { return distill_command(*flags, out); };
}

}  // namespace

extern const Command kDistill = {
    .name = "distill",
    .group = "Train",
    .summary = "Train a student on unlabeled images that a teacher chooses",
    .examples =
        "  trainyard distill --model lenet5 --data fashion-mnist --labeled 0.01 --k 100,400,1600\n"
        "  trainyard distill --model resnet20-cifar --teacher resnet56-cifar --data cifar10:DIR "
        "\\\n"
        "      --labeled 0.1 --k 500,1000,2000 --p 1,2 --targets soft --teacher-temperature 2\n"
        "  trainyard distill --teacher runs/my-teacher --labeled 0.02 --k 500 --json\n",
    .setup = setup_distill,
};

}  // namespace trainyard::cli

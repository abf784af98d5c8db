// `trainyard train`: trains a network and leaves a run directory.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/shell.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "data/sampler.h"
#include "detect/task.h"
#include "dist/launch.h"
#include "dist/mpi/mpi_ranks.h"
#include "dist/single.h"
#include "models/network.h"
#include "models/onnx/metadata.h"
#include "program/command.h"
#include "program/fitting_copies.h"
#include "program/train_flags.h"
#include "program/ui_process.h"
#include "program/version.h"
#include "runs/checkpoint.h"
#include "runs/view.h"
#include "train/class_weights.h"
#include "train/communication_plan.h"
#include "train/job.h"
#include "train/run_training.h"
#include "train/trainer.h"
#include "train/training_network.h"
#include "train/training_set.h"
#include "train/view.h"
#include "train/worker_options.h"

namespace trainyard::cli {
namespace {

struct TrainFlags : train::JobRequest {
  train::RestartPolicy policy;
  bool explain_comm = false;
  bool quiet = false;
  bool ui = false;
  report::Format format = report::Format::kText;
};

train::TrainHooks hooks_of(train::Progress& progress, const StopSignals& signals, bool leads) {
  train::TrainHooks hooks;
  hooks.should_stop = [&] { return signals.requested(); };
  hooks.on_warning = [](const std::string& text) {
    std::cerr << "trainyard: " + printable(text) + "\n";
  };
  if (!leads) return hooks;
  hooks.on_epoch = [&](const train::EpochReport& r) { progress.note(epoch_line(r)); };
  return hooks;
}

runs::RunDirectory open_directory(const TrainFlags& flags) {
  if (!flags.resume.empty()) return runs::RunDirectory::resume(flags.root, flags.resume);
  return runs::RunDirectory::create(flags.root, flags.name, flags.config.model, flags.config.data);
}

// The file that the settings come from; empty: there is none.
std::string config_path(const TrainFlags& flags) {
  if (!flags.config_file.empty() || flags.resume.empty()) return flags.config_file;
  // Not held: errors in the file come first.
  return runs::RunDirectory::resume(flags.root, flags.resume).config().string();
}

std::string config_text(const TrainFlags& flags) {
  const std::string path = config_path(flags);
  return path.empty() ? std::string() : read_settings_file(path);
}

// Settings from flags and file. `ranks` are those that a launcher started; 0: none did.
void complete(TrainFlags& flags, const std::string& file_text, int64_t ranks) {
  if (!file_text.empty()) {
    read_train_settings(flags.config, file_text,
                        flags.resume.empty() ? flags.config_file : flags.resume + "/config.yaml",
                        flags.given);
  }
  train::TrainConfig& config = flags.config;
  const int64_t workers = ranks == 0 ? 0 : ranks - config.servers;
  TY_REQUIRE(workers >= 0, "{} servers are more than the {} ranks", config.servers, ranks);
  TY_REQUIRE(workers == 0 || !flags.given.contains("workers") || config.workers == workers,
             "--workers is {}, but the launcher started {}; leave it out", config.workers, workers);
  if (ranks > 0) config.workers = workers;
  if (flags.given.contains("batch-per-worker")) {
    TY_REQUIRE(!flags.given.contains("batch"),
               "--batch is of all workers together; give it or --batch-per-worker");
    config.batch = checked_product({flags.batch_per_worker, config.workers});
  }
  train::settle_for_data(config);
  train::check(config);
  // Those of a run that is resumed stay as it began.
  if (flags.resume.empty()) train::resolve_paths(config);
  if (train::names_shapes(config.priors)) detect::parse_shapes(config.priors);
  if (!flags.resume.empty()) {
    train::TrainConfig own;
    train::settings_of(own).read_yaml(file_text, flags.resume + "/config.yaml");
    train::require_same_course(own, config);
  }
}

void print_result(const train::ServerTrainResult& served, double last_loss, const TrainFlags& flags,
                  const std::string& path, std::ostream& out) {
  const train::TrainResult& result = served.training;
  report::Document document = train_document(result, path);
  if (result.epochs.empty()) {
    document.blocks.clear();
    const bool done = result.best && !result.interrupted;
    document.blocks.emplace_back(report::Paragraph{
        done ? fmt::format("Nothing was left to train after {} steps.", result.steps)
             : fmt::format(
                   "{} steps and no whole epoch, so nothing was tested; the loss of the last step "
                   "is {:.4f}.",
                   result.steps, last_loss)});
    document.data["last_loss"] = last_loss;
  }
  add_server_report(flags.config, served, document);
  out << report::render(document, flags.format);
  if (flags.format != report::Format::kText) return;
  out << fmt::format("\n{}Everything is in {}\n", weights_sentence(result), path);
  if (result.seconds_to_target) {
    out << fmt::format("Accuracy of {:.2f} % reached after {}.\n",
                       100 * flags.config.target_accuracy, seconds_text(*result.seconds_to_target));
  }
}

// The task follows from the data. Rank 0 decides what priors detectors have, and `config` keeps it.
train::Task task_of(train::TrainConfig& config, const Graph& model, const data::Dataset& training,
                    dist::Communicator& comm) {
  if (training.target_kind() == data::TargetKind::kBoxes) {
    std::string priors;
    if (comm.rank() == 0) {
      const auto known = network::metadata_of(config.model, config.weights);
      priors = detect::settle_priors(config, model, training, known);
    }
    config.priors = comm.share_text(priors);
    return detect::detection_task(model, training, detect::parse_shapes(config.priors));
  }
  TY_REQUIRE(config.priors == train::TrainConfig{}.priors, "--priors is for data with boxes");
  return train::task_for(config, training);
}

// Which files --skip-bad-files left out: the first few here, all of them in the run's skipped.txt.
std::string skipped_note(const std::vector<std::string>& skipped) {
  constexpr size_t kShown = 5;
  std::string text =
      fmt::format("{} file{} that cannot be read {} left out:", skipped.size(),
                  skipped.size() == 1 ? "" : "s", skipped.size() == 1 ? "is" : "are");
  for (size_t i = 0; i < std::min(skipped.size(), kShown); ++i) {
    text += "\n  " + printable_line(skipped[i]);
  }
  if (skipped.size() > kShown) {
    text += fmt::format("\n  … and {} more; skipped.txt lists all", skipped.size() - kShown);
  }
  return text;
}

// What of the network does not come from the weights that were asked for, or is not trained.
void note_weights(const train::TrainConfig& config, const train::StartingNetwork& start) {
  if (!start.drawn.empty()) {
    std::cerr << fmt::format("trainyard: not in {}, so drawn at random: {}\n",
                             printable_line(config.weights),
                             printable_line(join(start.drawn, ", ")));
  }
  const std::string untrained =
      network::is_path(config.model) ? train::untrained_note(start.graph) : "";
  if (!untrained.empty()) std::cerr << "trainyard: " + printable_line(untrained) + "\n";
}

// One worker's part; rank 0 writes and prints.
int run_worker(TrainFlags& flags, std::ostream& out, dist::Communicator& comm,
               const StopSignals& signals) {
  const bool leads = comm.rank() == 0;
  train::TrainConfig& config = flags.config;
  std::vector<std::string> skipped;
  const auto training = train::open_set(config, data::Split::kTrain, skipped);
  const auto test = train::open_set(config, data::Split::kTest, skipped);
  train::settle_class_weights(config.class_weights, *training);
  if (leads) settle_copies(config, *training);
  config.copies_at_once = std::stoll(comm.share_text(fmt::format("{}", config.copies_at_once)));
  const train::StartingNetwork start = train::starting_network(config, *training, comm.rank());
  if (leads) note_weights(config, start);
  const train::Task task = task_of(config, start.graph, *training, comm);
  train::TrainingRun run({config, *training, *test, start.graph, task}, comm, kVersionText);
  train::Progress progress(std::cerr, train::Progress::mode_for_stderr(flags.quiet || !leads));
  train::TrainHooks hooks = hooks_of(progress, signals, leads);
  if (!leads) return run.run(nullptr, hooks).training.interrupted ? 1 : 0;

  const runs::RunDirectory directory = open_directory(flags);
  if (!skipped.empty()) progress.note(skipped_note(skipped));
  const std::string path = directory.path().string();
  for (const std::string& note :
       training->table() ? training->problems() : std::span<const std::string>()) {
    progress.note(printable(note));
  }
  progress.note(fmt::format("{} on {}{} -> {}", config.model, training->source(),
                            comm.size() > 1 ? fmt::format(" by {} workers", config.workers) : "",
                            path));
  if (const std::string note = run.memory_note(); !note.empty()) progress.note(note);
  double last_loss = 0;
  hooks.on_step = [&](const train::StepReport& report) {
    last_loss = report.step_loss;
    progress.step(report);
  };
  const train::ServerTrainResult served = run.run(&directory, hooks, skipped);
  const train::TrainResult& result = served.training;
  if (result.interrupted) {
    const std::string text =
        fmt::format("trainyard: stopped after step {}; resume with: trainyard train --resume {}",
                    result.steps, shell_word(path));
    flags.quiet ? void(std::cerr << text << "\n") : progress.note(text);
  }
  if (result.steps > 0) {
    const std::filesystem::path mine[] = {directory.path()};
    write_file(directory.path() / "report.html",
               report::render(report::runs_document(mine), report::Format::kHtml));
  }
  print_result(served, last_loss, flags, path, out);
  return result.interrupted ? 1 : 0;
}

// What workers would exchange, without starting them.
int explain_communication(const TrainFlags& flags, std::ostream& out) {
  const train::TrainConfig& config = flags.config;
  const auto training = train::open_set(config, data::Split::kTrain);
  const Graph model = train::build_training_network(
      config, *training,
      train::copies_at_once(config) * data::share_of(config.batch, 0, config.workers));
  TY_REQUIRE(config.servers == 0, "--explain-comm is about workers that sum among themselves");
  TY_REQUIRE(config.workers > 1, "one worker exchanges nothing; add --workers N");
  out << report::render(
      communication_document(train::plan_communication(config, model), train::omissions(config)),
      flags.format);
  return 0;
}

int run_workers(TrainFlags& flags, std::ostream& out) {
  train::TrainConfig& config = flags.config;
  // Held until the workers have theirs, so that jobs that start at the same time get other names.
  std::optional<runs::ReservedName> reserved;
  if (flags.resume.empty() && flags.name.empty()) {
    flags.name = reserved.emplace(flags.root, config.model, config.data).name();
  }
  // What each worker would refuse is refused here, once.
  train::build_training_network(config, *train::open_set(config, data::Split::kTrain),
                                data::share_of(config.batch, 0, config.workers));
  flags.given.insert("workers");
  const StopSignals signals;
  train::JobHooks hooks;
  hooks.stop_requested = [&] { return signals.requested(); };
  hooks.note = [](const std::string& text) { std::cerr << "trainyard: " + printable(text) + "\n"; };
  hooks.start = [&](const train::JobRequest& request) {
    std::vector<std::string> words = train::arguments_of(request);
    words.insert(words.begin(), "train");
    words.insert(words.end(), {"--format", std::string(report::format_name(flags.format.kind))});
    if (flags.quiet) words.emplace_back("--quiet");
    const dist::JobEnd end =
        dist::run_job(request.config.workers + request.config.servers, words, hooks.stop_requested);
    if (end.code == 0 || signals.requested()) out << end.output;
    return end.code;
  };
  const int code = train::run_restarting(flags, flags.policy, hooks);
  // Exit code 1 is that of workers which saved and said so.
  if (code > 1) hooks.note("stopped before the first step");
  return code == 0 ? 0 : 1;
}

int train_command(TrainFlags& flags, std::ostream& out) {
  TY_REQUIRE(flags.resume.empty() || (flags.config_file.empty() && flags.name.empty()),
             "--resume continues a run; --config and --name are for new ones");
  train::check(flags.policy);
  if (dist::launched_as_rank()) {
    TY_REQUIRE(flags.policy.restarts == 0,
               "--restarts needs --workers: a launcher starts its own jobs");
    // Before MPI starts, so that no wish is missed.
    const StopSignals signals;
    return dist::run_as_mpi_rank([&](dist::Communicator& comm) {
      // Only rank 0 needs to see the files of the run.
      const std::string text = comm.share_text(comm.rank() == 0 ? config_text(flags) : "");
      complete(flags, text, comm.size());
      return run_worker(flags, out, comm, signals);
    });
  }
  complete(flags, config_text(flags), 0);
  std::optional<UiProcess> ui;
  if (flags.ui && !flags.explain_comm) ui.emplace(flags.root);
  if (flags.explain_comm) return explain_communication(flags, out);
  if (flags.config.workers > 1 || flags.config.servers > 0) return run_workers(flags, out);
  TY_REQUIRE(flags.policy.restarts == 0, "--restarts starts failed workers again; add --workers N");
  dist::SingleProcess alone;
  const StopSignals signals;
  return run_worker(flags, out, alone, signals);
}

Runner setup_train(Args& args) {
  auto flags = std::make_shared<TrainFlags>();
  add_train_settings(args, flags->config);
  args.option("--batch-per-worker", flags->batch_per_worker,
              "batch per worker, instead of --batch (weak scaling)", at_least(1));
  args.option("--restarts", flags->policy.restarts,
              "how often to restart a failed job from its last checkpoint");
  args.flag("--elastic", flags->policy.elastic, "restart with one worker fewer each time");
  args.flag("--explain-comm", flags->explain_comm,
            "list what workers would exchange, in bytes, without training");
  args.option("--config", flags->config_file,
              "read settings from this YAML file; flags override it");
  args.option("--runs-dir", flags->root, "the folder of run directories");
  args.renamed("--runs", "--runs-dir");
  args.option("--name", flags->name,
              "name of the run directory (default: from model, data and time)");
  args.option("--resume", flags->resume, "resume the run of this name or path");
  args.flag("--quiet", flags->quiet, "print no progress");
  args.flag("--ui", flags->ui, "show the run in a browser while it trains; prints the address");
  args.given(flags->given);
  args.format(flags->format);
  return [flags](std::ostream& out) { return train_command(*flags, out); };
}

}  // namespace

extern const Command kTrain = {
    .name = "train",
    .group = "Train",
    .summary = "Train a network on processors (or GPUs, see --device), and write a run directory",
    .examples =
        "  trainyard train --model lenet5 --data fashion-mnist --epochs 5\n"
        "  trainyard train --model resnet20-cifar --data cifar10:DIR --epochs 30 --batch 128 \\\n"
        "      --augment crop:4,flip,normalize --learning-rate 0.1 --weight-decay 1e-4\n"
        "  trainyard train --model mlp --data csv:houses.csv,target=price --optimizer adamw "
        "--learning-rate 1e-3\n"
        "  trainyard train --config my.yaml --epochs 10\n"
        "  trainyard train --model resnet20-cifar --data cifar10:DIR --device torch:cuda\n"
        "  trainyard train --model lenet5 --loss huber --delta 0.5 --learning-rate 0.1\n"
        "  trainyard train --model resnet20-cifar --data cifar10:DIR --workers 4 --batch 256\n"
        "  trainyard train --model lenet5 --data fashion-mnist --workers 4 --restarts 2 --elastic\n"
        "  trainyard train --model resnet20-cifar --data synthetic:3x32x32 --workers 4 "
        "--explain-comm\n"
        "  mpirun -n 8 --hostfile hosts trainyard train --model resnet20-cifar --data cifar10:DIR\n"
        "  trainyard train --model lenet5 --workers 4 --servers 1 --sync async --slow 1:2.5\n"
        "  trainyard train --model lenet5 --workers 4 --servers 2 --sync ssp --staleness-bound 3\n"
        "  trainyard train --resume lenet5-fashion-mnist-20260101-120000\n",
    .setup = setup_train,
};

}  // namespace trainyard::cli

// `trainyard train`: trains a network and leaves a run directory.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "data/augment.h"
#include "models/model.h"
#include "onnx_io/import.h"
#include "train/checkpoint.h"
#include "train/stop_signals.h"
#include "train/trainer.h"

namespace trainyard::cli {
namespace {

struct Flags {
  train::TrainConfig config;
  std::set<std::string> given;
  std::string config_file;
  std::string root = "runs";
  std::string name;
  std::string resume;
  bool quiet = false;
  report::Format format = report::Format::kText;
};

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void read_config(const std::filesystem::path& path, Flags& flags) {
  std::set<std::string> given;
  for (std::string name : flags.given) {
    std::replace(name.begin(), name.end(), '-', '_');
    given.insert(std::move(name));
  }
  train::Settings settings = train::settings_of(flags.config);
  settings.read_yaml(read_file(path), path.string(), given);
}

Graph build_network(const train::TrainConfig& config, const data::Dataset& training) {
  const data::PictureShape picture = data::Augmentations(config.augment, training).output();
  if (const models::ModelDef* def = models::find_model(config.model)) {
    models::ModelOptions options;
    options.batch = config.batch;
    options.classes = config.classes > 0 ? config.classes : training.num_classes();
    options.image = config.image > 0 ? config.image : picture.height;
    if (options.image == def->image) options.image = 0;
    options.width = config.width;
    options.auxiliary = def->has_auxiliary && config.auxiliary_weight > 0;
    return models::build_model(config.model, options);
  }
  TY_REQUIRE(std::filesystem::exists(config.model), "there is no network '{}' and no such file",
             config.model);
  onnx_io::ImportOptions options;
  options.batch = config.batch;
  return onnx_io::import_model(config.model, options);
}

// Puts the tensors of a safetensors file into the network's initializers of the same names.
void load_weights(const std::string& path, Graph& model) {
  const train::SafetensorsFile file(path);
  int64_t found = 0;
  for (const ValueId id : model.initializers()) {
    Value& value = model.mutable_value(id);
    const train::StoredTensor* stored = file.find(value.name);
    if (stored == nullptr) continue;
    TY_REQUIRE(stored->type == value.type, "{}: '{}' is {}, but the network has {}", path,
               value.name, stored->type.to_string(), value.type.to_string());
    value.constant = std::make_shared<const Tensor>(file.tensor(value.name).clone());
    ++found;
  }
  TY_REQUIRE(found > 0, "{} has no tensor that the network has", path);
}

train::TrainHooks hooks_of(train::Progress& progress, const train::StopSignals& signals) {
  train::TrainHooks hooks;
  hooks.on_step = [&](const train::StepReport& report) { progress.step(report); };
  hooks.on_epoch = [&](const train::EpochReport& r) {
    progress.note(fmt::format(
        "epoch {:>3}: loss {:.4f}, accuracy {:.2f} %; test loss {:.4f}, top-1 {:.2f} %, top-5 "
        "{:.2f} %; {:.0f} images/s, {:.1f} % waiting for data{}",
        r.epoch, r.train_loss, 100 * r.train_accuracy, r.test.loss, 100 * r.test.top1,
        100 * r.test.top5, r.images_per_s, 100 * r.wait_seconds / r.train_seconds,
        r.best ? " *" : ""));
  };
  hooks.should_stop = [&] { return signals.requested(); };
  return hooks;
}

report::Document result_document(const train::TrainResult& result, const std::string& directory) {
  report::Document document;
  report::Table table({{"epoch"},
                       {"train loss"},
                       {"train acc."},
                       {"test loss"},
                       {"top-1"},
                       {"top-5"},
                       {"images/s"},
                       {"epoch time"},
                       {"data wait"},
                       {"since start"}});
  Json rows = Json::array();
  for (const train::EpochReport& r : result.epochs) {
    table.add_row({report::count_cell(r.epoch), report::fixed_cell(r.train_loss, 4),
                   report::percent_cell(r.train_accuracy), report::fixed_cell(r.test.loss, 4),
                   report::percent_cell(r.test.top1), report::percent_cell(r.test.top5),
                   report::fixed_cell(r.images_per_s, 0), report::seconds_cell(r.train_seconds),
                   report::percent_cell(r.wait_seconds / r.train_seconds),
                   report::seconds_cell(r.seconds)});
    rows.push_back(Json::object({{"epoch", r.epoch},
                                 {"train_loss", r.train_loss},
                                 {"train_accuracy", r.train_accuracy},
                                 {"test_loss", r.test.loss},
                                 {"top1", r.test.top1},
                                 {"top5", r.test.top5},
                                 {"images_per_s", r.images_per_s},
                                 {"train_s", r.train_seconds},
                                 {"wait_s", r.wait_seconds},
                                 {"seconds", r.seconds}}));
  }
  document.blocks.emplace_back(std::move(table));
  document.data["epochs"] = std::move(rows);
  document.data["steps"] = result.steps;
  document.data["best_top1"] = result.best_top1;
  document.data["interrupted"] = result.interrupted;
  if (result.seconds_to_target) document.data["seconds_to_target"] = *result.seconds_to_target;
  document.data["directory"] = directory;
  return document;
}

train::RunDirectory open_directory(const Flags& flags) {
  if (!flags.resume.empty()) return train::RunDirectory::resume(flags.root, flags.resume);
  return train::RunDirectory::create(flags.root, flags.name, flags.config.model, flags.config.data);
}

int run(Flags& flags, std::ostream& out) {
  TY_REQUIRE(flags.resume.empty() || (flags.config_file.empty() && flags.name.empty()),
             "--resume goes on with a run; --config and --name are for new ones");
  if (!flags.config_file.empty()) read_config(flags.config_file, flags);
  if (!flags.resume.empty()) {
    // Read without holding the directory: errors in the file come first.
    const auto directory = train::RunDirectory::resume(flags.root, flags.resume);
    read_config(directory.config(), flags);
  }
  const train::TrainConfig& config = flags.config;
  train::check(config);
  const auto training = data::open_dataset(config.data, data::Split::kTrain);
  const auto test = data::open_dataset(config.data, data::Split::kTest);
  Graph model = build_network(config, *training);
  if (!config.weights.empty()) load_weights(config.weights, model);
  train::Trainer trainer(config, model, *training, *test);
  const train::RunDirectory directory = open_directory(flags);
  write_file(directory.config(), train::settings_of(flags.config).to_yaml());

  train::Progress progress(std::cerr, train::Progress::mode_for_stderr(flags.quiet));
  progress.note(
      fmt::format("{} on {} -> {}", config.model, training->source(), directory.path().string()));
  const train::StopSignals signals;
  const train::TrainResult result = trainer.run(directory, hooks_of(progress, signals));
  const std::string path = directory.path().string();
  if (result.interrupted) {
    progress.note(fmt::format("Stopped after step {}. Go on with: trainyard train --resume {}",
                              result.steps, path));
  }
  report::Document document = result_document(result, path);
  out << report::render(document, flags.format);
  if (flags.format == report::Format::kText) {
    out << fmt::format("\nBest top-1 {:.2f} %. Everything is in {}\n", 100 * result.best_top1,
                       path);
    if (result.seconds_to_target) {
      out << fmt::format("Accuracy of {:.2f} % reached after {}.\n", 100 * config.target_accuracy,
                         seconds_text(*result.seconds_to_target));
    }
  }
  return result.interrupted ? 1 : 0;
}

Runner setup(Args& args) {
  auto flags = std::make_shared<Flags>();
  const train::Settings settings = train::settings_of(flags->config);
  for (const train::Settings::Setting& setting : settings.all()) {
    const std::string flag = "--" + flag_of(setting.name);
    std::visit(
        [&](auto* variable) {
          if constexpr (std::is_same_v<decltype(variable), bool*>) {
            args.flag(flag, *variable, setting.help);
          } else {
            args.option(flag, *variable, setting.help);
          }
        },
        setting.variable);
  }
  args.option("--config", flags->config_file, "settings from this YAML file; flags win");
  args.option("--runs", flags->root, "the folder of run directories");
  args.option("--name", flags->name, "of the run directory; absent: model, data and time");
  args.option("--resume", flags->resume, "go on with the run of this name or path");
  args.flag("--quiet", flags->quiet, "no progress");
  args.given(flags->given);
  args.format(flags->format);
  return [flags](std::ostream& out) { return run(*flags, out); };
}

}  // namespace

extern const Command kTrain = {
    .name = "train",
    .group = "Train",
    .summary = "Train a network on real data and leave a run directory",
    .examples =
        "  trainyard train --model lenet5 --data fashion-mnist --epochs 5\n"
        "  trainyard train --model resnet20-cifar --data cifar10:DIR --epochs 30 --batch 128 \\\n"
        "      --augment crop:4,flip,normalize --learning-rate 0.1 --weight-decay 1e-4\n"
        "  trainyard train --config my.yaml --epochs 10\n"
        "  trainyard train --resume lenet5-fashion-mnist-20260101-120000\n",
    .setup = setup,
};

}  // namespace trainyard::cli

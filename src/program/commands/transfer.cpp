// `trainyard transfer MODEL`: a trained network learns other classes.
#include "studies/transfer.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "data/augment.h"
#include "models/model_notes.h"
#include "models/network.h"
#include "models/onnx/metadata.h"
#include "models/weights_fit.h"
#include "models/zoo/model.h"
#include "program/command.h"
#include "runs/run_directory.h"
#include "runs/weights/weights_file.h"
#include "studies/view.h"
#include "train/training_set.h"

namespace trainyard::cli {
namespace {

struct TransferFlags {
  recipes::TransferConfig config;
  std::string modes = "finetune,features";
  std::string statistics = "frozen";
  std::string root = "runs";
  std::string name;
  bool quiet = false;
  report::Format format = report::Format::kText;
};

// The network with its weights and its own classes. A network of the zoo has as many as its
// weights.
Graph load_backbone(const train::TrainConfig& config) {
  network::Request request{.model = config.model, .batch = config.batch};
  if (network::is_path(config.model)) {
    TY_REQUIRE(config.image == 0, "--image shapes built-in networks; {} is a file", config.model);
    request.weights = config.weights;
    return network::load(request);
  }
  TY_REQUIRE(!config.weights.empty(),
             "{} has learned nothing yet: give its weights with --weights F, or MODEL as a run "
             "directory or an .onnx file",
             config.model);
  if (config.image > 0) request.image = config.image;
  const auto file = runs::open_weights(config.weights);
  // As many classes as the weights have; transfer replaces the last layer anyway.
  const network::FittedNetwork fitted = network::fit_network(request, *file);
  TY_REQUIRE(fitted.fit.missing.empty() && fitted.fit.misfits.empty(),
             "{}: these weights do not fit {}{}", config.weights, config.model,
             network::differences_text(fitted.fit, 8));
  Graph graph = fitted.graph;
  network::for_each_fitted(fitted.graph, *file, fitted.fit, [&](const Value& value, Tensor tensor) {
    graph.mutable_value(graph.find_value(value.name)).constant =
        std::make_shared<const Tensor>(std::move(tensor));
  });
  return graph;
}

// Those asked for, those the network brings, or what fits it.
std::string steps_of(const train::TrainConfig& config, const Graph& graph,
                     const data::Dataset& training) {
  if (!config.augment.empty()) return config.augment;
  if (network::is_path(config.model)) {
    const onnx_io::Metadata metadata = onnx_io::read_metadata(network::model_file(config.model));
    const auto own = network::preparation_of(metadata);
    const Shape& input = graph.value(graph.inputs()[0]).type.shape;
    if (own) {
      const data::PictureShape made = data::Augmentations(own->steps, training).output();
      // The network's own steps may not fit the pictures of another set.
      if (made.channels == input[1] && made.height == input[2] && made.width == input[3]) {
        return own->steps;
      }
    }
  }
  TY_REQUIRE(graph.value(graph.inputs()[0]).type.shape.rank() == 4,
             "{} does not take pictures, which transfer needs", config.model);
  return recipes::fitting_steps(training, graph.value(graph.inputs()[0]).type.shape);
}

int transfer_command(TransferFlags& flags, std::ostream& out) {
  train::TrainConfig& training = flags.config.training;
  for (const std::string& mode : split(flags.modes, ',')) {
    flags.config.modes.push_back(recipes::parse_transfer_mode(mode));
  }
  training.freeze_statistics = flags.statistics == "frozen";
  // An empty schedule stands for transfer's own, which train::check does not know.
  train::TrainConfig checked = training;
  if (checked.schedule.empty()) checked.schedule = "constant";
  train::check(checked);
  const auto set = train::open_set(training, data::Split::kTrain);
  const auto test = train::open_set(training, data::Split::kTest);
  TY_REQUIRE(set->target_kind() == data::TargetKind::kClass,
             "{} has no class for each picture, which is what transfer teaches", training.data);
  const Graph graph = load_backbone(training);
  TY_REQUIRE(!network::has_random_weights(graph), "{} has learned nothing yet: give --weights F",
             training.model);
  TY_REQUIRE(graph.inputs().size() == 1, "{} has {} inputs, expected one for pictures",
             training.model, graph.inputs().size());
  training.augment = steps_of(training, graph, *set);
  runs::require_plain_name(flags.name);
  const std::string name =
      flags.name.empty() ? "transfer-" + network::label(training.model) : flags.name;
  const std::filesystem::path folder = std::filesystem::path(flags.root) / name;
  train::Progress progress(std::cerr, train::Progress::mode_for_stderr(flags.quiet));
  const StopSignals signals;
  const recipes::TransferHooks hooks{
      .should_stop = [&] { return signals.requested(); },
      .on_step = [&](const train::StepReport& report) { progress.step(report); },
      .note = [&](const std::string& text) { progress.note(text); }};
  const recipes::TransferResult result =
      recipes::transfer(flags.config, graph, *set, *test, folder, hooks);
  const report::Document document = transfer_document(flags.config, result, *set);
  write_file(folder / "report.html", report::render(document, report::Format::kHtml));
  out << report::render(document, flags.format);
  if (flags.format == report::Format::kText) {
    out << fmt::format("\nEverything is in {}; the best network: {}\n", folder.string(),
                       (result.runs[result.winner].folder / "model.onnx").string());
  }
  return 0;
}

Runner setup_transfer(Args& args) {
  auto flags = std::make_shared<TransferFlags>();
  train::TrainConfig& config = flags->config.training;
  config.augment.clear();
  config.schedule.clear();
  config.epochs = 10;
  config.batch = 64;
  flags->config.rates = {0.1, 0.01, 0.001};
  args.positional("MODEL", config.model,
                  "a name of 'trainyard models' with --weights, a path to an .onnx file, or the "
                  "directory of a run");
  args.option("--weights", config.weights, "weights of MODEL: safetensors, or a PyTorch file");
  args.option("--data", config.data, "data set with the new classes, as for 'train'");
  args.option("--mode", flags->modes,
              "what to train, separated by commas: finetune (all layers), features (the new "
              "layer), partial:N (the new layer and the last N)");
  args.option("--learning-rates", flags->config.rates, "learning rates, each tried with each mode");
  args.option("--discriminative", flags->config.discriminative,
              "learning rate of a layer as a share of the next layer's; 1: the same for all");
  args.choice("--statistics", flags->statistics, {"frozen", "batch"},
              "normalization statistics in training: the network's own, or those of each batch");
  args.option("--augment", config.augment,
              "preprocessing steps (default: those MODEL was trained with, or what fits it)");
  args.option("--image", config.image, "height and width of a built-in network's input");
  args.option("--epochs", config.epochs, "passes over the data");
  args.option("--batch", config.batch, "batch size");
  args.option("--momentum", config.momentum, "momentum of sgd");
  args.option("--weight-decay", config.weight_decay, "weight decay");
  args.option("--schedule", config.schedule,
              "learning rate schedule, as for 'train' (default: times 0.1 after 50, 75 and 90 % of "
              "the epochs)");
  args.option("--seed", config.seed, "random seed for the new layer, order and augmentation");
  args.option("--threads", config.threads, "threads; 0: all cores");
  args.option("--data-workers", config.data_workers, "threads that prepare batches");
  args.option("--runs-dir", flags->root, "the folder of run directories");
  args.option("--name", flags->name, "name of the study's folder (default: transfer-MODEL)");
  args.flag("--quiet", flags->quiet, "print no progress");
  args.format(flags->format);
  return [flags](std::ostream& out) { return transfer_command(*flags, out); };
}

}  // namespace

extern const Command kTransfer = {
    .name = "transfer",
    .group = "Train",
    .summary = "Transfer learning: train all of a network, or a new last layer, on other classes",
    .examples =
        "  trainyard transfer mobilenet_v2.onnx --data folder:flowers --mode features "
        "--learning-rates 1,0.1,0.01,0.001\n"
        "  trainyard transfer resnet20-cifar --weights resnet20.th --data fashion-mnist --mode "
        "finetune,partial:6,features\n"
        "  trainyard transfer runs/shoes --data mnist:DIR --discriminative 0.8 --json\n",
    .setup = setup_transfer,
};

}  // namespace trainyard::cli

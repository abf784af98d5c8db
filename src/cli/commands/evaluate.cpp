// `trainyard evaluate MODEL`: how well a network does on a data set.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/evaluation_report.h"
#include "cli/execution_report.h"
#include "cli/training_network.h"
#include "data/loader.h"
#include "network/network.h"
#include "onnx_io/metadata.h"
#include "train/calibration.h"
#include "train/progress.h"
#include "train/run_parts.h"

namespace trainyard::cli {
namespace {

constexpr double kProgressInterval = 0.2;

struct EvaluateFlags {
  std::string model;
  std::string weights;
  std::string data = "fashion-mnist";
  std::string split = "test";
  std::string augment;
  int64_t batch = 100;
  int64_t classes = 0;
  int64_t image = 0;
  double width = 1.0;
  int64_t threads = 0;
  int64_t data_workers = 1;
  bool quiet = false;
  report::Format format = report::Format::kText;
};

// Another evaluator that tells how far it is.
class ShownEvaluator final : public train::Evaluator {
 public:
  ShownEvaluator(std::unique_ptr<Evaluator> inner, train::Progress& progress, int64_t batches)
      : inner_(std::move(inner)), progress_(progress), batches_(batches) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    inner_->add(outputs, batch);
    // The result copies the confusion matrix, which may be large.
    if (done_ == 0 || watch_.seconds() - asked_ > kProgressInterval) {
      last_ = inner_->result();
      asked_ = watch_.seconds();
    }
    progress_.step({.step = ++done_,
                    .steps = batches_,
                    .images = batch.valid,
                    .loss = last_.score("loss"),
                    .scores = {{.name = "top1", .value = last_.score("top1"), .is_share = true}}});
  }
  train::Evaluation result() const override { return inner_->result(); }
  std::vector<double> sums() const override { return inner_->sums(); }
  void set_sums(std::span<const double> sums) override { inner_->set_sums(sums); }

 private:
  std::unique_ptr<Evaluator> inner_;
  train::Progress& progress_;
  int64_t batches_;
  int64_t done_ = 0;
  Stopwatch watch_;
  double asked_ = 0;
  train::Evaluation last_;
};

// The steps from picture to input: those asked for, those the network was trained with, or a
// normalization by the training set.
std::string evaluation_steps(const EvaluateFlags& flags, const onnx_io::Metadata& metadata,
                             const data::Dataset& set) {
  const auto own = metadata.find(onnx_io::kStepsKey);
  if (flags.augment.empty() && own != metadata.end()) {
    return data::Augmentations(own->second, set).evaluation_text();
  }
  const auto training = data::open_dataset(flags.data, data::Split::kTrain);
  return data::Augmentations(flags.augment.empty() ? "normalize" : flags.augment, *training)
      .evaluation_text();
}

Graph load_judged(const EvaluateFlags& flags, const std::string& steps, const data::Dataset& set) {
  if (network::is_path(flags.model)) {
    TY_REQUIRE(flags.classes == 0 && flags.image == 0 && flags.width == 1.0,
               "--classes, --image and --width shape built-in networks; {} is a file", flags.model);
    return network::load({.model = flags.model, .weights = flags.weights, .batch = flags.batch});
  }
  train::TrainConfig config;
  config.model = flags.model;
  config.augment = steps;
  config.classes = flags.classes;
  config.image = flags.image;
  config.width = flags.width;
  config.auxiliary_weight = 0;  // heads that only training has
  Graph graph = build_training_network(config, set, flags.batch);
  if (!flags.weights.empty()) network::load_weights(graph, flags.weights);
  return graph;
}

// Classes count by their index, so names that differ deserve a word.
void compare_class_names(const std::vector<std::string>& own, const data::Dataset& set,
                         report::Document& document) {
  const std::vector<std::string>& names = set.class_names();
  for (size_t i = 0; i < std::min(own.size(), names.size()); ++i) {
    if (own[i] == names[i]) continue;
    document.blocks.emplace_back(report::Paragraph{
        fmt::format("Class {} is '{}' to the network and '{}' in the data; classes are compared "
                    "by their number.",
                    i, own[i], names[i]),
        report::Tone::kNotice});
    document.data["class_names_differ"] = true;
    return;
  }
}

void check_flags(const EvaluateFlags& flags) {
  TY_REQUIRE(flags.batch > 0, "--batch is {}, expected 1 or more", flags.batch);
  TY_REQUIRE(flags.data_workers >= 0, "--data-workers is {}, expected 0 or more",
             flags.data_workers);
  TY_REQUIRE(flags.classes >= 0, "--classes is {}, expected 0 or more", flags.classes);
  TY_REQUIRE(flags.image >= 0, "--image is {}, expected 0 or more", flags.image);
}

int evaluate_command(const EvaluateFlags& flags, std::ostream& out) {
  check_flags(flags);
  const auto set = data::open_dataset(
      flags.data, flags.split == "train" ? data::Split::kTrain : data::Split::kTest);
  TY_REQUIRE(set->target_kind() == data::TargetKind::kClass,
             "{} has no class for each picture, which is what a classifier is judged by",
             flags.data);
  TY_REQUIRE(set->size() > 0, "{} has no pictures", set->source());
  onnx_io::Metadata metadata;
  if (network::is_path(flags.model)) {
    metadata = onnx_io::read_metadata(network::model_file(flags.model));
  }
  const std::string steps = evaluation_steps(flags, metadata, *set);
  Graph graph = load_judged(flags, steps, *set);
  data::Loader loader(
      *set, {.batch = flags.batch, .workers = flags.data_workers, .augmentations = steps});
  TY_REQUIRE(graph.inputs().size() == 1, "{} has {} inputs, expected one for pictures", flags.model,
             graph.inputs().size());
  train::require_input_shape(graph.value(graph.inputs()[0]).type.shape, flags.batch,
                             loader.augmentations());

  report::Document notes;
  add_weights_notice(notes, graph);
  const std::vector<std::string> own_names = onnx_io::class_names(metadata);
  compare_class_names(own_names, *set, notes);
  train::Progress progress(std::cerr, train::Progress::mode_for_stderr(flags.quiet));
  const train::Evaluation test = train::evaluate(
      std::move(graph), loader,
      [&](Graph& model) {
        return std::make_unique<ShownEvaluator>(train::make_classifier_test(model), progress,
                                                loader.num_batches());
      },
      resolve_threads(flags.threads));

  // A network may know classes that the data does not have.
  report::Document document = evaluation_document(
      test, own_names.size() > set->class_names().size() ? own_names : set->class_names());
  document.title = fmt::format("{} on {}", network::label(flags.model), set->source());
  document.blocks.insert(document.blocks.begin(), notes.blocks.begin(), notes.blocks.end());
  for (const auto& [key, value] : notes.data.members()) document.data[key] = value;
  document.data["model"] = flags.model;
  document.data["data"] = set->source();
  document.data["preprocessing"] = steps;
  out << report::render(document, flags.format);
  return 0;
}

Runner setup_evaluate(Args& args) {
  auto flags = std::make_shared<EvaluateFlags>();
  args.positional("MODEL", flags->model,
                  "a name of 'trainyard models', a path to an .onnx file, or the directory of a "
                  "run");
  args.option("--weights", flags->weights,
              "a safetensors file: the weights of a run, or a checkpoint; else what MODEL brings");
  args.option("--data", flags->data, "the data set, as 'train' takes it");
  args.choice("--split", flags->split, {"test", "train"}, "which samples");
  args.option("--augment", flags->augment,
              "steps from picture to input, without what is random; else those MODEL was trained "
              "with, or normalize");
  args.option("--batch", flags->batch, "images in a batch");
  args.option("--classes", flags->classes,
              "classes of a built-in network; 0: as many as the data has");
  args.option("--image", flags->image,
              "height and width of a built-in network's input; 0: that of the pictures");
  args.option("--width", flags->width, "width multiplier of a built-in network");
  args.option("--threads", flags->threads, "threads; 0: all cores");
  args.option("--data-workers", flags->data_workers, "threads that prepare batches");
  args.flag("--quiet", flags->quiet, "no progress");
  args.format(flags->format);
  return [flags](std::ostream& out) { return evaluate_command(*flags, out); };
}

}  // namespace

extern const Command kEvaluate = {
    .name = "evaluate",
    .group = "Train",
    .summary = "Test a network on a data set: accuracy, classes, confusion, calibration",
    .examples =
        "  trainyard evaluate runs/shoes --data fashion-mnist\n"
        "  trainyard evaluate model.onnx --data folder:DIR --augment resize:256,center:224x224,"
        "normalize\n"
        "  trainyard evaluate resnet20-cifar --weights weights.safetensors --data cifar10:DIR "
        "--json\n",
    .setup = setup_evaluate,
};

}  // namespace trainyard::cli

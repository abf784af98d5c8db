// `trainyard evaluate MODEL`: how well a network does on a data set.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/names_file.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "data/loader.h"
#include "models/detection/exported.h"
#include "models/model_notes.h"
#include "models/network.h"
#include "models/onnx/metadata.h"
#include "program/command.h"
#include "program/evaluate_detector.h"
#include "program/judged_network.h"
#include "train/calibration.h"
#include "train/execution_view.h"
#include "train/objective.h"
#include "train/progress.h"
#include "train/run_parts.h"
#include "train/span_evaluator.h"
#include "train/task.h"
#include "train/token_evaluator.h"
#include "train/view.h"

namespace trainyard::cli {
namespace {

constexpr double kProgressInterval = 0.2;
constexpr const char* kUsualData = "fashion-mnist";

struct EvaluateFlags {
  JudgedNetwork network;
  std::string split = "test";
  int64_t threads = 0;
  std::string device = "cpu";
  int64_t data_workers = 1;
  bool quiet = false;
  DetectionReport boxes;  // of detectors
  std::string areas = "continuous";
  std::string labels;
  std::string detections;
  report::Format format = report::Format::kText;
};

// Another evaluator that reports progress.
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
  void combine(const train::TestTeam& team) override { inner_->combine(team); }

 private:
  std::unique_ptr<Evaluator> inner_;
  train::Progress& progress_;
  int64_t batches_;
  int64_t done_ = 0;
  Stopwatch watch_;
  double asked_ = 0;
  train::Evaluation last_;
};

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

// The names of a detector's classes: those of a file, where background may come first, as
// pytorch-ssd has it, or those it brings.
std::vector<std::string> detector_labels(const EvaluateFlags& flags,
                                         const onnx_io::Metadata& metadata) {
  if (flags.labels.empty()) return onnx_io::class_names(metadata);
  std::vector<std::string> names = read_names(flags.labels);
  if (!names.empty() && (names[0] == "BACKGROUND" || names[0] == "background")) {
    names.erase(names.begin());
  }
  TY_REQUIRE(!names.empty(), "{} names no class", flags.labels);
  return names;
}

// The scores of a classifier, or of a detector where the data has boxes.
report::Document judge(Graph graph, const EvaluateFlags& flags, const data::Dataset& set,
                       data::Loader& loader, const onnx_io::Metadata& metadata) {
  const std::shared_ptr<device::Device> device = device::open_network_device(flags.device);
  if (set.target_kind() == data::TargetKind::kBoxes) {
    DetectionReport report = flags.boxes;
    report.options.extra = flags.areas == "pixels" ? 1 : 0;
    return evaluate_detector(std::move(graph), set, loader,
                             {.report = report,
                              .shapes = detect::shapes_of(metadata),
                              .threads = resolve_threads(flags.threads),
                              .device = device,
                              .quiet = flags.quiet,
                              .labels = detector_labels(flags, metadata),
                              .detections = flags.detections});
  }
  TY_REQUIRE(flags.detections.empty(), "--detections needs data with boxes");
  TY_REQUIRE(flags.labels.empty(),
             "--labels names the classes of a detector: it needs data with "
             "boxes");
  train::Progress progress(std::cerr, train::Progress::mode_for_stderr(flags.quiet));
  const train::Evaluation test = train::evaluate(
      std::move(graph), loader,
      [&](Graph& model) {
        return std::make_unique<ShownEvaluator>(train::make_classifier_test(model), progress,
                                                loader.num_batches());
      },
      resolve_threads(flags.threads), {}, device);
  // A network may know classes that the data does not have.
  const std::vector<std::string> own_names = onnx_io::class_names(metadata);
  return evaluation_document(
      test, own_names.size() > set.class_names().size() ? own_names : set.class_names());
}

// The scores of a language model.
report::Document judge_tokens(Graph graph, const EvaluateFlags& flags, const data::Dataset& set,
                              data::Loader& loader) {
  train::require_input(graph.value(graph.inputs()[0]).type, loader);
  const Shape& scores = graph.value(graph.outputs()[0]).type.shape;
  const int64_t known = scores[scores.rank() - 1];
  TY_REQUIRE(set.tokens()->vocabulary <= known,
             "{} has a vocabulary of {}, and the network knows {} tokens; take the tokenizer that "
             "it was trained with",
             set.source(), set.tokens()->vocabulary, known);
  const bool masked = flags.network.loss == train::kMaskedToken;
  const double bytes = masked ? 0 : set.tokens()->bytes_per_token;
  const train::Evaluation test = train::evaluate(
      std::move(graph), loader,
      [&](Graph& model) { return train::make_token_evaluator(model, bytes); },
      resolve_threads(flags.threads));
  return token_document(test, set.tokens()->length);
}

// How far from the numbers of a table.
report::Document judge_numbers(Graph graph, const EvaluateFlags& flags, const data::Dataset& set,
                               data::Loader& loader) {
  train::TrainConfig config;
  config.loss =
      train::compares_numbers(flags.network.loss) ? flags.network.loss : train::kMeanSquareLoss;
  config.delta = flags.network.delta;
  const train::Task task = train::task_for(config, set);
  return number_document(
      train::evaluate(std::move(graph), loader, task.evaluator, resolve_threads(flags.threads)));
}

// Answers that a network finds in texts.
report::Document judge_spans(Graph graph, const EvaluateFlags& flags, data::Loader& loader) {
  train::require_input(graph.value(graph.inputs()[0]).type, loader);
  return number_document(train::evaluate(std::move(graph), loader, train::make_span_test,
                                         resolve_threads(flags.threads)));
}

// As many rows at once as leave their scores below a quarter of a gigabyte.
int64_t rows_at_once(int64_t wanted, const data::TokenFacts& facts) {
  constexpr int64_t kMostScores = int64_t{1} << 26;
  return std::clamp<int64_t>(kMostScores / (facts.length * facts.vocabulary), 1, wanted);
}

// The data asked for, that of the run, or the usual, and which of these in `document`.
JudgedNetwork with_data(JudgedNetwork network, report::Document& document) {
  const bool given = !network.data.empty();
  const bool of_run = network.take_data_of_run();
  if (network.data.empty()) network.data = kUsualData;
  if (of_run) {
    document.blocks.emplace_back(report::Paragraph{
        fmt::format("Tested on the data of the run, {}; --data takes another.", network.data)});
  }
  document.data["data_from"] = given ? "flag" : of_run ? "run" : "default";
  return network;
}

int evaluate_command(const EvaluateFlags& flags, std::ostream& out) {
  report::Document notes;
  JudgedNetwork network = with_data(flags.network, notes);
  const auto set = network.open(flags.split == "train" ? data::Split::kTrain : data::Split::kTest);
  const bool language = set->target_kind() == data::TargetKind::kTokens;
  const bool numbers = set->target_kind() == data::TargetKind::kNumber;
  const bool spans = set->target_kind() == data::TargetKind::kSpan;
  TY_REQUIRE(language || numbers || spans || set->target_kind() == data::TargetKind::kClass ||
                 set->target_kind() == data::TargetKind::kBoxes,
             "{} has neither classes nor numbers nor boxes nor tokens, which is what networks are "
             "judged by",
             network.data);
  TY_REQUIRE(set->size() > 0, "{} has no samples", set->source());
  if (language) network.batch = rows_at_once(network.batch, *set->tokens());
  const onnx_io::Metadata metadata = network.metadata();
  const std::string steps = network.steps(metadata, *set);
  Graph graph = network.load(steps, *set);
  data::Loader loader(*set, {.batch = network.batch,
                             .workers = flags.data_workers,
                             .augmentations = steps,
                             .mask_tokens = language && network.loss == train::kMaskedToken});
  if (set->table()) {
    train::require_input(graph.value(graph.inputs()[0]).type, loader);
  } else if (!language && !spans) {
    network.require_fit(graph, loader.augmentations());
  }

  add_weights_notice(notes, graph);
  const std::string weights =
      network.weights.empty() ? network::weights_of(metadata) : "those of " + network.weights;
  if (!weights.empty()) {
    notes.blocks.emplace_back(report::Paragraph{fmt::format("The weights are {}.", weights)});
    notes.data["weights_of"] = weights;
  }
  if (set->target_kind() == data::TargetKind::kClass) {
    compare_class_names(onnx_io::class_names(metadata), *set, notes);
  }
  EvaluateFlags settled = flags;
  settled.network = network;
  report::Document document = language  ? judge_tokens(std::move(graph), settled, *set, loader)
                              : numbers ? judge_numbers(std::move(graph), settled, *set, loader)
                              : spans   ? judge_spans(std::move(graph), settled, loader)
                                        : judge(std::move(graph), settled, *set, loader, metadata);
  document.title = fmt::format("{} on {}", network::label(network.model), set->source());
  document.blocks.insert(document.blocks.begin(), notes.blocks.begin(), notes.blocks.end());
  for (const auto& [key, value] : notes.data.members()) document.data[key] = value;
  document.data["model"] = network.model;
  document.data["data"] = set->source();
  document.data["preprocessing"] = steps;
  out << report::render(document, flags.format);
  return 0;
}

Runner setup_evaluate(Args& args) {
  auto flags = std::make_shared<EvaluateFlags>();
  flags->network.declare(
      args,
      fmt::format("the data set, as 'train' takes it; else that of the run, or {}", kUsualData));
  args.choice("--split", flags->split, {"test", "train"}, "which split to use");
  args.option("--threads", flags->threads, "threads; 0: all cores");
  args.option("--device", flags->device, kDeviceHelp);
  args.option("--data-workers", flags->data_workers, "threads that prepare batches", at_least(0));
  args.choice("--metric", flags->boxes.metric, detection_metrics(),
              "boxes: VOC 2007's, VOC 2010's, or COCO's average over overlaps");
  args.option("--iou", flags->boxes.options.overlap, "boxes: overlap (IoU) that counts as a match",
              above(0, 1));
  args.choice("--areas", flags->areas, {"continuous", "pixels"},
              "boxes: continuous coordinates, or pixels (the last pixel belongs to the box, as in "
              "VOC's development kit)");
  args.option("--labels", flags->labels,
              "boxes: file with the names of the network's classes, one per line, which are "
              "compared with those of the data; else those it was trained with");
  args.flag("--strict", flags->boxes.options.strict,
            "boxes: an overlap of exactly --iou is no match");
  args.option("--threshold", flags->boxes.threshold, "boxes: count mistakes above this score",
              between(0, 1));
  args.option("--detections", flags->detections,
              "boxes: write the detections to this file in COCO's result format");
  args.flag("--quiet", flags->quiet, "print no progress");
  args.format(flags->format);
  return [flags](std::ostream& out) { return evaluate_command(*flags, out); };
}

}  // namespace

extern const Command kEvaluate = {
    .name = "evaluate",
    .group = "Train",
    .summary =
        "Test a network on a data set: accuracy, confusion, calibration; boxes: mAP; tables: R2",
    .examples =
        "  trainyard evaluate runs/shoes\n"
        "  trainyard evaluate runs/cells --data voc:DIR --metric coco\n"
        "  trainyard evaluate ssd300-mobilenet_v1 --classes 21 --weights mobilenet-v1-ssd.pth "
        "--labels voc-model-labels.txt --data voc:VOC2007\n"
        "  trainyard evaluate runs/houses --data csv:2027.csv,target=price,test=2027.csv\n"
        "  trainyard evaluate model.onnx --data folder:DIR --augment resize:256,center:224x224,"
        "normalize\n"
        "  trainyard evaluate resnet20-cifar --weights weights.safetensors --data cifar10:DIR "
        "--json\n",
    .setup = setup_evaluate,
};

}  // namespace trainyard::cli

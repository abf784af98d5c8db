// `trainyard quantize MODEL`: an int8 network from a float one.
#include "quant/quantize.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "models/model_notes.h"
#include "models/network.h"
#include "models/onnx/export.h"
#include "models/onnx/import.h"
#include "program/command.h"
#include "program/judged_network.h"
#include "program/progress_line.h"
#include "quant/layer_time.h"
#include "quant/view.h"
#include "train/execution_view.h"
#include "train/run_parts.h"

namespace trainyard::cli {
namespace {

struct QuantizeFlags {
  JudgedNetwork network{.batch = 32};
  std::string output;
  std::string form = "qdq";
  std::string calibrate = "min-max";
  std::string reduce_range = "auto";
  std::string weight_range = "max";
  std::string prefer = "size";
  bool per_tensor = false;
  bool quiet = false;
  quant::Settings settings;
  int64_t threads = 0;
  int64_t seed = 1;
  report::Format format = report::Format::kText;
};

quant::WeightRange weight_range_from_name(const std::string& name) {
  return name == "3sigma" ? quant::WeightRange::kThreeSigma
         : name == "mse"  ? quant::WeightRange::kMse
                          : quant::WeightRange::kMax;
}

void check_form(const QuantizeFlags& flags) {
  const quant::Settings& s = flags.settings;
  const bool eight = s.weight_bits == 8 && s.activations.bits == 8;
  TY_REQUIRE(eight || flags.form == "qdq",
             "fewer than 8 bits are stored in 8 and kept by Clip nodes, which --form qdq has");
}

quant::Settings settings_of(const QuantizeFlags& flags) {
  check_form(flags);
  quant::Settings settings = flags.settings;
  settings.activations.method = quant::calibration_from_name(flags.calibrate);
  settings.per_channel = !flags.per_tensor;
  settings.reduced = flags.reduce_range == "yes" ||
                     (flags.reduce_range == "auto" && quant::products_can_saturate());
  settings.weight_range = weight_range_from_name(flags.weight_range);
  settings.integer_operators = flags.form == "qlinear";
  settings.keep_slow_layers = flags.prefer == "speed";
  // A drop can only be bounded by knowing which layers cause it.
  settings.sensitivity = settings.sensitivity || settings.max_drop.has_value();
  settings.threads = resolve_threads(flags.threads);
  settings.seed = static_cast<uint64_t>(flags.seed);
  return settings;
}

int64_t weight_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const ValueId id : graph.initializers()) bytes += graph.value(id).type.num_bytes();
  return bytes;
}

// Weights may lie in a file beside the model (external data).
int64_t file_bytes(const std::filesystem::path& path) {
  auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  const std::filesystem::path data = path.string() + ".data";
  if (std::filesystem::exists(data))
    bytes += static_cast<int64_t>(std::filesystem::file_size(data));
  return bytes;
}

// Where pictures come from, and the network that takes them.
// Loaders refer to the sets and pictures to the loaders, so they live together.
struct Prepared {
  std::unique_ptr<data::Dataset> training;
  std::unique_ptr<data::Dataset> test;
  std::unique_ptr<data::Loader> calibration_loader;
  std::unique_ptr<data::Loader> test_loader;
  onnx_io::Metadata metadata;
  Graph graph;
  quant::Pictures pictures;
};

// Without data the ranges come from batch normalization, and nothing is tested.
Prepared open_pictures(const QuantizeFlags& flags) {
  const JudgedNetwork& network = flags.network;
  Prepared p;
  p.metadata = network.metadata();
  if (network.data.empty()) {
    TY_REQUIRE(network.augment.empty(), "--augment is about the pictures of --data");
    JudgedNetwork one = network;
    one.batch = 1;
    network::Request request{.model = network.model,
                             .weights = network.weights,
                             .batch = 1,
                             .shapes = one.given_shapes()};
    if (network.classes > 0) request.classes = network.classes;
    if (network.image > 0) request.image = network.image;
    if (network.width != 1.0) request.width = network.width;
    p.graph = network::load(request);
    return p;
  }
  p.training = network.open(data::Split::kTrain);
  p.test = network.open(data::Split::kTest);
  const std::string steps = network.steps(p.metadata, *p.test);
  p.graph = network.load(steps, *p.test);
  const auto loader = [&](const data::Dataset& set, bool shuffle) {
    return std::make_unique<data::Loader>(
        set, data::LoaderOptions{.batch = network.batch,
                                 .shuffle = shuffle,
                                 .seed = static_cast<uint64_t>(flags.seed),
                                 .augmentations = steps});
  };
  // Shuffled, as sets are often sorted by class; the test set need not be.
  p.calibration_loader = loader(*p.training, true);
  p.test_loader = loader(*p.test, false);
  network.require_fit(p.graph, p.calibration_loader->augmentations());
  p.pictures.calibration = p.calibration_loader.get();
  if (flags.settings.test_images > 0 && p.test->size() > 0) {
    p.pictures.test = p.test_loader.get();
  }
  if (p.test->target_kind() == data::TargetKind::kClass) p.pictures.classes = p.test->num_classes();
  // Who runs the file later finds the steps in it, as 'run' and 'serve' do.
  if (!network::preparation_of(p.metadata)) {
    network::note_preparation({.steps = steps, .picture = p.training->shape()}, p.metadata);
  }
  if (onnx_io::class_names(p.metadata).empty() && p.pictures.classes > 0) {
    network::note_classes(p.training->class_names(), p.metadata);
  }
  return p;
}

void write_network(const QuantizeFlags& flags, const Graph& graph,
                   const onnx_io::Metadata& metadata) {
  onnx_io::ExportOptions options;
  options.metadata = metadata;
  if (train::takes_any_batch(graph)) options.batch_name = "batch";
  onnx_io::export_model(graph, flags.output, options);
}

// The networks at batch 1: the float one as it is used, and the file that was written.
void time_networks(const QuantizeFlags& flags, Graph one, quant::QuantizeResult& result) {
  std::vector<Graph> graphs;
  graphs.push_back(std::move(one));
  graphs.push_back(onnx_io::import_model(flags.output, {.batch = 1, .shapes = {}}));
  const std::vector<quant::NetworkTime> times =
      quant::time_networks(graphs, resolve_threads(flags.threads), 2 * flags.settings.time_s);
  const quant::NetworkTime& before = times[0];
  const quant::NetworkTime& after = times[1];
  result.before.median_ms = before.median_s * 1e3;
  result.after.median_ms = after.median_s * 1e3;
  // A node on bytes is called after the layer that it computes.
  const auto us = [](const quant::NetworkTime& time, const std::string& name) {
    for (const char* suffix : {"", ".int8", "_int", "_int.int8"}) {
      const auto found = time.layer_s.find(name + suffix);
      if (found != time.layer_s.end()) return found->second * 1e6;
    }
    return 0.0;
  };
  for (quant::LayerResult& layer : result.layers) {
    layer.float_us = us(before, layer.name);
    layer.int8_us = us(after, layer.name);
  }
  if (after.median_s > before.median_s) {
    result.notices.push_back(fmt::format(
        "The int8 network is slower than the float one on this machine, {} against {}.{}",
        seconds_text(after.median_s), seconds_text(before.median_s),
        flags.prefer == "size" ? " Try --prefer speed." : ""));
  }
}

// Timed at batch 1 whatever batch was calibrated with.
Graph network_of_one(const QuantizeFlags& flags, const Prepared& p) {
  if (flags.network.data.empty()) return p.graph;
  JudgedNetwork one = flags.network;
  one.batch = 1;
  return one.load(p.calibration_loader->augmentations().text(), *p.test);
}

int quantize_command(const QuantizeFlags& flags, std::ostream& out) {
  const quant::Settings settings = settings_of(flags);
  Prepared p = open_pictures(flags);
  report::Document notes;
  add_weights_notice(notes, p.graph);
  // Bytes are compared like with like: files, or weights where there is no file.
  const bool from_file = network::is_path(flags.network.model) && flags.network.weights.empty();
  const int64_t float_bytes =
      from_file ? file_bytes(network::model_file(flags.network.model)) : weight_bytes(p.graph);
  ProgressLine line;
  const auto progress = [&](double share, std::string_view what) {
    if (!flags.quiet) line.show(share, what);
  };
  quant::Quantized done = quant::quantize(p.graph, settings, p.pictures, progress);
  done.result.before.bytes = float_bytes;
  done.result.after.bytes = weight_bytes(done.graph);
  if (!flags.output.empty()) {
    write_network(flags, done.graph, p.metadata);
    done.result.after.bytes = file_bytes(flags.output);
    if (settings.time_s > 0) time_networks(flags, network_of_one(flags, p), done.result);
  }
  report::Document document = report::quantize_document(done.result);
  document.title = fmt::format("{} in int8", network::label(flags.network.model));
  document.blocks.insert(document.blocks.begin(), notes.blocks.begin(), notes.blocks.end());
  for (const auto& [key, value] : notes.data.members()) document.data[key] = value;
  document.data["model"] = flags.network.model;
  document.data["reduced_range"] = settings.reduced;
  if (!flags.output.empty()) document.data["file"] = flags.output;
  out << report::render(document, flags.format);
  return 0;
}

void declare_scheme(Args& args, QuantizeFlags& flags) {
  quant::Settings& s = flags.settings;
  args.choice("--calibrate", flags.calibrate, quant::calibration_names(),
              "how activation ranges are chosen");
  args.option("--percentile", s.activations.percentile, "percentile for --calibrate percentile",
              above(50, 100));
  args.option("--calibration-images", s.calibration_images, "training images for calibration",
              at_least(1));
  args.flag("--per-tensor", flags.per_tensor, "one scale per layer, not one per output channel");
  args.flag("--symmetric", s.activations.symmetric, "symmetric activations: scale = largest / 127");
  args.choice("--reduce-range", flags.reduce_range, {"auto", "yes", "no"},
              "7-bit weights, whose products cannot saturate; auto: where this processor needs it");
  args.choice("--weight-range", flags.weight_range, {"max", "3sigma", "mse"},
              "how weight ranges are chosen");
  args.option("--weight-bits", s.weight_bits, "bits, stored in 8", between(2, 8));
  args.option("--activation-bits", s.activations.bits, "bits, stored in 8", between(2, 8));
  args.flag("--equalize", s.equalize, "equalize weight ranges across layers first");
  args.flag("--correct-biases", s.correct_biases,
            "correct biases for the shift that rounded weights cause");
  args.repeated("--keep-float", s.keep_float, "a layer to keep in float; a name may end in *");
}

Runner setup_quantize(Args& args) {
  auto flags = std::make_shared<QuantizeFlags>();
  quant::Settings& s = flags->settings;
  s.time_s = 1;
  flags->network.declare(args,
                         "pictures to calibrate and test with, as 'train' takes them; without "
                         "them ranges come from batch normalization");
  args.repeated(
      "--shape", flags->network.shapes,
      "shape of an input of a file that leaves it open, as NAME=1,3,224,224; the batch is "
      "--batch");
  args.option("-o,--output", flags->output, "the file to write (default: none, only measure)");
  args.choice("--form", flags->form, {"qdq", "qlinear"},
              "qdq: QuantizeLinear and DequantizeLinear around float operators; qlinear: integer "
              "operators");
  declare_scheme(args, *flags);
  args.option("--max-drop", s.max_drop,
              "largest loss of top-1 in points; layers stay in float until it holds",
              between(0, 100));
  args.choice("--prefer", flags->prefer, {"size", "speed"},
              "speed: keep layers in float that int8 makes slower on this machine");
  args.flag("--sensitivity", s.sensitivity, "measure the noise of each layer alone");
  args.option("--sensitivity-images", s.sensitivity_images, "test images for --sensitivity",
              at_least(1));
  args.flag("--parts", s.parts, "test weights, activations and biases one after the other");
  args.option("--bits", s.study_bits, "test at these numbers of bits, as 8,7,6,5,4,3,2",
              between(2, 8));
  args.flag("--histograms", s.histograms, "add histograms of weights and inputs to the JSON");
  args.option("--test-images", s.test_images, "test images; 0: no test", at_least(0));
  args.option("--time", s.time_s, "seconds to time each network at batch 1; 0: no timing",
              between(0, 3600));
  args.option("--threads", flags->threads, "threads; 0: all cores");
  args.option("--seed", flags->seed, "random seed for the choice of calibration images");
  args.flag("--quiet", flags->quiet, "print no progress");
  args.format(flags->format);
  return [flags](std::ostream& out) { return quantize_command(*flags, out); };
}

}  // namespace

extern const Command kQuantize = {
    .name = "quantize",
    .group = "ONNX",
    .summary = "Make a network int8: calibrate, see which layers hurt, write QDQ or QLinear ONNX",
    .examples =
        "  trainyard quantize runs/shoes --data fashion-mnist -o shoes-int8.onnx\n"
        "  trainyard quantize resnet20-cifar --weights w.safetensors --data cifar10:DIR --max-drop "
        "0.3 -o r20.onnx\n"
        "  trainyard quantize model.onnx --data folder:DIR --calibrate entropy --equalize --parts\n"
        "  trainyard quantize open.onnx --shape x=1,3,224,224 --data folder:DIR -o int8.onnx\n"
        "  trainyard quantize mobilenet_v2 --weights w.safetensors -o rough.onnx\n",
    .setup = setup_quantize,
};

}  // namespace trainyard::cli

// `trainyard export`: a network as an ONNX file.
#include "models/onnx/export.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "data/text/token_set.h"
#include "data/text/tokenizer.h"
#include "models/detection/exported.h"
#include "models/hugging_face.h"
#include "models/network.h"
#include "models/onnx/import.h"
#include "program/command.h"
#include "program/model_argument.h"
#include "program/tokenizer_file.h"
#include "quant/prepare.h"

namespace trainyard::cli {
namespace {

constexpr int64_t kMostBoxes = 100'000;
constexpr const char* kFolderLayout = "hugging-face";

struct ExportArguments {
  ModelArgument model;
  std::string output;
  std::string layout = "onnx";
  int64_t seed = 0;
  int64_t opset = 17;
  bool raw = false;
  bool open_batch = false;
  detect::DecoderOptions boxes;
  std::set<std::string> given;
  report::Format format = report::Format::kText;
};

// Says how far it is once a second, so that short exports are silent.
class Progress {
 public:
  void operator()(int64_t done, int64_t total) {
    if (last_.seconds() < 1.0) return;
    last_ = Stopwatch();
    std::cerr << fmt::format("{} of {} written\n", bytes_text(static_cast<double>(done)),
                             bytes_text(static_cast<double>(total)));
  }

 private:
  Stopwatch last_;
};

// Weights above a limit go to a file beside the model, which counts too.
report::Document document_of_export(const std::string& path, const Graph& graph, double seconds) {
  std::vector<std::string> files = {path};
  if (const std::string data = path + ".data"; std::filesystem::exists(data)) files.push_back(data);
  int64_t bytes = 0;
  for (const std::string& file : files) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  }
  report::Document document;
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{}: {} nodes, {}, written in {}", join(files, " and "), graph.num_nodes(),
                  bytes_text(static_cast<double>(bytes)), seconds_text(seconds))});
  document.data = Json::object({{"files", Json::array_of(files)},
                                {"nodes", graph.num_nodes()},
                                {"bytes", bytes},
                                {"seconds", seconds}});
  return document;
}

void check_boxes(const detect::DecoderOptions& boxes) {
  TY_REQUIRE(0 < boxes.overlap && boxes.overlap <= 1,
             "--iou is {}, expected more than 0, at most 1", boxes.overlap);
}

// By the shapes of the file itself: a network may mix its images, or have the batch in a constant.
void require_any_batch(const std::string& file) {
  constexpr int64_t kAnother = 3;
  bool open = true;
  try {
    const Graph graph = onnx_io::import_model(file, {.batch = kAnother, .shapes = {}});
    for (const ValueId id : graph.outputs()) {
      const Shape& shape = graph.value(id).type.shape;
      open = open && shape.rank() > 0 && shape[0] == kAnother;
    }
  } catch (const Error&) {
    open = false;
  }
  if (open) return;
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".data");
  throw_error(
      "the network does not take any batch: its outputs do not follow the batch of its "
      "inputs; leave out --open-batch");
}

// The text of tokenizer.json for a network whose outputs are scores of tokens; empty: it has none.
std::string tokenizer_json(const std::string& tokens, const Graph& graph) {
  if (tokens.empty()) return "";
  if (tokens != data::kByteTokens) return read_file(tokens);
  constexpr int64_t kByteValues = 256;
  const Shape& scores = graph.value(graph.outputs()[0]).type.shape;
  const bool has_end = scores.rank() > 0 && scores.dim(-1) > kByteValues;
  return data::make_byte_tokenizer(has_end)->json().dump() + "\n";
}

// A folder that the transformers library reads.
int export_folder(const ExportArguments& options, std::ostream& out) {
  for (const std::string flag : {"opset", "open-batch", "raw", "score", "iou", "most"}) {
    TY_REQUIRE(!options.given.contains(flag), "--{} is for .onnx files", flag);
  }
  const std::filesystem::path folder = options.output;
  TY_REQUIRE(!std::filesystem::exists(folder) || std::filesystem::is_empty(folder),
             "{} is there already; name a new folder", options.output);
  const Stopwatch exporting;
  const Graph graph = options.model.load();
  const onnx_io::Metadata metadata = options.model.metadata();
  const std::string tokens = tokenizer_of(options.model.text(), metadata);
  network::write_hugging_face(
      graph, metadata,
      {.tokenizer = tokenizer_json(tokens, graph), .seed = static_cast<uint64_t>(options.seed)},
      folder);
  report::Document document;
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{}: config.json and model.safetensors{}, written in {}", options.output,
                  std::filesystem::exists(folder / "tokenizer.json") ? " and tokenizer.json" : "",
                  seconds_text(exporting.seconds()))});
  document.data = Json::object({{"folder", options.output}, {"seconds", exporting.seconds()}});
  out << report::render(document, options.format);
  return 0;
}

int export_command(const ExportArguments& options, std::ostream& out) {
  TY_REQUIRE(!options.output.empty(), "export: say where to, as in -o {}{}",
             std::filesystem::path(options.model.text()).stem().string(),
             options.layout == kFolderLayout ? "" : ".onnx");
  if (options.layout == kFolderLayout) return export_folder(options, out);
  Graph graph = options.model.load();
  onnx_io::ExportOptions settings;
  settings.seed = static_cast<uint64_t>(options.seed);
  settings.opset = options.opset;
  settings.metadata = options.model.metadata();
  network::note_form(graph, settings.metadata, settings.metadata);
  if (detect::is_detector(graph)) {
    check_boxes(options.boxes);
    settings.metadata =
        detect::prepare_export(graph, settings.metadata, options.raw, options.boxes);
  } else {
    // A flag that would have no effect is refused: who gives it takes the network for a detector.
    for (const std::string flag : {"raw", "score", "iou", "most"}) {
      TY_REQUIRE(!options.given.contains(flag), "--{} is for detectors, which {} is not", flag,
                 options.model.text());
    }
  }
  if (options.open_batch) {
    quant::open_batch(graph);
    settings.batch_name = "batch";
  }
  settings.progress = Progress();
  const Stopwatch exporting;
  onnx_io::export_model(graph, options.output, settings);
  if (options.open_batch) require_any_batch(options.output);
  out << report::render(document_of_export(options.output, graph, exporting.seconds()),
                        options.format);
  return 0;
}

Runner setup_export(Args& args) {
  auto options = std::make_shared<ExportArguments>();
  options->model.declare(args);
  args.option("-o,--output", options->output, "the file to write, or the folder");
  args.choice("--layout", options->layout, {"onnx", kFolderLayout},
              "hugging-face: a folder with config.json, model.safetensors and tokenizer.json, for "
              "GPT-2's and Llama's layouts");
  args.option("--seed", options->seed, "random seed for weights");
  args.option("--opset", options->opset, "ONNX opset, 17 (the default) to 28");
  args.flag("--open-batch", options->open_batch, "leave the batch dimension open");
  args.flag("--raw", options->raw,
            "detectors: output scores and boxes of every prior, without non-maximum suppression");
  args.option("--score", options->boxes.score, "detectors: score threshold in the file",
              between(0, 1));
  args.option("--iou", options->boxes.overlap,
              "detectors: overlap (IoU) above which the box with the lower score is dropped");
  args.option("--most", options->boxes.most, "detectors: most boxes per image",
              between(1, kMostBoxes));
  args.given(options->given);
  args.format(options->format);
  return [options](std::ostream& out) { return export_command(*options, out); };
}

}  // namespace

extern const Command kExport = {
    .name = "export",
    .group = "ONNX",
    .summary = "Write a network as an ONNX file, or as a folder of Hugging Face",
    .examples =
        "  trainyard export resnet50 -o resnet50.onnx\n"
        "  trainyard export vgg19 --batch 8 --seed 1 -o vgg19.onnx\n"
        "  trainyard export resnet50 --open-batch -o resnet50.onnx\n"
        "  trainyard export runs/cells -o detector.onnx\n"
        "  trainyard export runs/kjv --layout hugging-face -o kjv-gpt2\n"
        "  trainyard export old.onnx -o opset17.onnx\n"
        "  trainyard export bert-base --length 256 --opset 23 -o bert.onnx\n",
    .setup = setup_export,
};

}  // namespace trainyard::cli

// `trainyard weights`: files of weights, looked into, converted and brought here.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/names_file.h"
#include "base/text.h"
#include "data/loader.h"
#include "models/model_notes.h"
#include "models/onnx/export.h"
#include "models/weight_names.h"
#include "models/weights_fit.h"
#include "program/command.h"
#include "program/get_public.h"
#include "report/document.h"
#include "runs/safetensors.h"
#include "runs/weights/weights_file.h"
#include "train/execution_view.h"
#include "train/run_parts.h"
#include "train/unfold.h"

namespace trainyard::cli {
namespace {

constexpr size_t kShownFindings = 20;

struct WeightsFlags {
  std::string action;
  std::string file;
  std::string output;
  std::string model;
  std::string labels;
  std::string augment;
  std::string statistics;
  int64_t threads = 0;
  std::optional<int64_t> classes;
  std::optional<int64_t> image;
  std::optional<double> width;
  bool partial = false;
  GetFlags get{.kind = "weights"};
  report::Format format = report::Format::kText;
};

network::Request request_of(const WeightsFlags& flags) {
  return {
      .model = flags.model, .classes = flags.classes, .image = flags.image, .width = flags.width};
}

Json shape_json(const Shape& shape) {
  return Json::array_of(shape.dims());
}

void add_tensors(const runs::WeightsFile& file, report::Document& document) {
  report::Table table({{.name = "tensor", .align = report::Align::kLeft, .widest = 60},
                       {.name = "type", .align = report::Align::kLeft},
                       {.name = "shape", .align = report::Align::kLeft},
                       {.name = "elements"},
                       {.name = "bytes"}});
  Json tensors = Json::array();
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t not_finite = 0;
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const runs::NamedType& tensor = file.tensors()[i];
    // Reading finds damaged bytes.
    not_finite += runs::count_not_finite(file.tensor(i));
    const std::string dtype(dtype_name(tensor.type.dtype));
    const int64_t count = tensor.type.shape.num_elements();
    table.add_row({tensor.name, dtype, tensor.type.shape.to_string(), report::count_cell(count),
                   report::bytes_cell(tensor.type.num_bytes())});
    tensors.push_back(Json::object({{"name", tensor.name},
                                    {"dtype", dtype},
                                    {"shape", shape_json(tensor.type.shape)},
                                    {"bytes", tensor.type.num_bytes()}}));
    elements += count;
    bytes += tensor.type.num_bytes();
  }
  table.add_rule();
  table.add_row({fmt::format("{} tensors", file.tensors().size()), "", "",
                 report::count_cell(elements), report::bytes_cell(bytes)});
  document.blocks.emplace_back(std::move(table));
  document.data["tensors"] = std::move(tensors);
  document.data["elements"] = elements;
  document.data["bytes"] = bytes;
  document.data["not_finite"] = not_finite;
  if (not_finite > 0) {
    document.blocks.emplace_back(
        report::Paragraph{fmt::format("{} numbers are not finite: the file is damaged, or the "
                                      "training that wrote it had diverged.",
                                      not_finite),
                          report::Tone::kNotice});
  }
}

void add_notes(const runs::WeightsFile& file, report::Document& document) {
  if (file.notes().empty()) return;
  report::Table table({{.name = "beside them", .align = report::Align::kLeft, .widest = 60},
                       {.name = "value", .align = report::Align::kLeft, .widest = 80}});
  Json notes = Json::object();
  for (const runs::WeightsNote& note : file.notes()) {
    table.add_row({note.name, note.value});
    notes[note.name] = note.value;
  }
  document.blocks.emplace_back(std::move(table));
  document.data["notes"] = std::move(notes);
}

// Pairs are tensors of the file that are parameters of the network; the rest is listed by why it is
// not.
void add_fit(const network::FittedNetwork& fitted, const std::string& model,
             report::Document& document) {
  const network::WeightsFit& fit = fitted.fit;
  Json misfits = Json::array();
  for (const auto& misfit : fit.misfits) {
    misfits.push_back(Json::object({{"name", misfit.name},
                                    {"found", misfit.found.to_string()},
                                    {"expected", misfit.expected.to_string()}}));
  }
  document.data["model"] = model;
  document.data["fits"] = fit.complete();
  document.data["taken"] = static_cast<int64_t>(fit.pairs.size());
  document.data["missing"] = Json::array_of(fit.missing);
  document.data["surplus"] = Json::array_of(fit.surplus);
  document.data["misfits"] = std::move(misfits);
  document.data["training_only"] = Json::array_of(fit.training);
  std::string text =
      fmt::format("{}: {} of {} tensors are parameters", model, fit.pairs.size(),
                  fit.pairs.size() + fit.surplus.size() + fit.training.size() + fit.misfits.size());
  if (!fit.training.empty()) {
    text += fmt::format(
        ", {} are for training only (counters, auxiliary heads, an optimizer's "
        "state) and left out",
        fit.training.size());
  }
  text += fit.complete() ? "; nothing is missing." : "; these differ:";
  document.blocks.emplace_back(report::Paragraph{text});
  if (!fit.complete()) {
    document.blocks.emplace_back(report::Paragraph{
        network::differences_text(fit, kShownFindings).substr(1), report::Tone::kCode});
  }
}

report::Document inspected(const WeightsFlags& flags, const runs::WeightsFile& file) {
  report::Document document;
  document.title = flags.file;
  document.data = Json::object({{"file", flags.file}, {"format", file.format()}});
  document.blocks.emplace_back(report::Paragraph{fmt::format("{}: {}", flags.file, file.format())});
  add_tensors(file, document);
  add_notes(file, document);
  if (!flags.model.empty()) {
    add_fit(network::fit_network(request_of(flags), file), flags.model, document);
  }
  return document;
}

// Without a network: the tensors as they are, without the names of what wrapped them.
void copy_tensors(const WeightsFlags& flags, const runs::WeightsFile& file) {
  std::vector<runs::NamedType> types = file.tensors();
  for (runs::NamedType& type : types) type.name = network::plain_name(type.name);
  runs::SafetensorsWriter writer(flags.output, std::move(types), {{"source", flags.file}});
  for (size_t i = 0; i < file.tensors().size(); ++i) writer.write(file.tensor(i));
  writer.commit();
}

runs::NamedType named(const network::FittedNetwork& fitted, ValueId id) {
  const Value& value = fitted.graph.value(id);
  return {value.name, value.type};
}

// What people and programs want to know of a network beside its weights.
onnx_io::Metadata metadata_of_network(const WeightsFlags& flags, const Graph& graph) {
  onnx_io::Metadata metadata;
  if (!flags.labels.empty()) {
    std::vector<std::string> names = read_names(flags.labels);
    drop_line_numbers(names);
    const int64_t classes = graph.value(graph.outputs()[0]).type.shape.dim(-1);
    TY_REQUIRE(static_cast<int64_t>(names.size()) == classes,
               "{} has {} lines, but the network has {} classes", flags.labels, names.size(),
               classes);
    network::note_classes(names, metadata);
  }
  if (flags.augment.empty()) return metadata;
  const Shape& input = graph.value(graph.inputs()[0]).type.shape;
  TY_REQUIRE(input.rank() == 4, "--augment is about pictures, but the network takes {}",
             input.to_string());
  network::note_preparation(network::preparation_for(flags.augment, {input[1], input[2], input[3]}),
                            metadata);
  return metadata;
}

// The fitted network with its numbers.
Graph with_weights(const runs::WeightsFile& file, const network::FittedNetwork& fitted) {
  Graph graph = fitted.graph;
  // By name, as the graph is a copy.
  network::for_each_fitted(fitted.graph, file, fitted.fit, [&](const Value& value, Tensor tensor) {
    graph.mutable_value(graph.find_value(value.name)).constant =
        std::make_shared<const Tensor>(std::move(tensor));
  });
  return graph;
}

// Normalization by the statistics of the pictures of a training set.
std::map<std::string, Tensor> measured_normalization(const WeightsFlags& flags,
                                                     const Graph& graph) {
  if (flags.statistics.empty()) return {};
  const auto set = data::open_dataset(flags.statistics, data::Split::kTrain);
  TY_REQUIRE(set->size() > 0, "{} has no pictures", set->source());
  const std::string steps = data::Augmentations(flags.augment, *set).evaluation_text();
  data::Loader loader(*set, {.batch = batch_of(graph), .augmentations = steps});
  TY_REQUIRE(graph.inputs().size() == 1, "{} has {} inputs, expected one for pictures", flags.model,
             graph.inputs().size());
  train::require_input_shape(graph.value(graph.inputs()[0]).type.shape, batch_of(graph),
                             loader.augmentations());
  return train::unfolded_normalization(graph, loader, resolve_threads(flags.threads));
}

void write_network(const WeightsFlags& flags, const runs::WeightsFile& file,
                   const network::FittedNetwork& fitted) {
  // An .onnx file without some of its weights would run and give nonsense.
  TY_REQUIRE(fitted.fit.missing.empty() && fitted.fit.misfits.empty(),
             "{}: a network is written with all of its weights; these are missing{}", flags.file,
             network::differences_text(fitted.fit, kShownFindings));
  const Graph graph = with_weights(file, fitted);
  onnx_io::ExportOptions options;
  options.batch_name = "batch";
  options.metadata = metadata_of_network(flags, fitted.graph);
  onnx_io::export_model(graph, flags.output, options);
}

void convert_tensors(const WeightsFlags& flags, const runs::WeightsFile& file,
                     const network::FittedNetwork& fitted) {
  TY_REQUIRE(fitted.fit.complete() || flags.partial,
             "{}: these weights do not fit {}{}\n--partial writes what fits; --classes, --image "
             "and --width shape the network",
             flags.file, flags.model, network::differences_text(fitted.fit, kShownFindings));
  TY_REQUIRE(!fitted.fit.pairs.empty(), "{}: no tensor of the file is a parameter of {}",
             flags.file, flags.model);
  if (flags.output.ends_with(".onnx")) return write_network(flags, file, fitted);
  std::vector<runs::NamedType> types;
  for (const auto& pair : fitted.fit.pairs) types.push_back(named(fitted, pair.parameter));
  for (const auto& fixed : fitted.fit.fixed) types.push_back(named(fitted, fixed.parameter));
  runs::SafetensorsWriter writer(flags.output, std::move(types),
                                 {{"source", flags.file}, {"model", flags.model}});
  // Statistics that were folded into weights are measured anew, so that the network can be trained
  // on.
  const auto measured = measured_normalization(flags, with_weights(file, fitted));
  network::for_each_fitted(fitted.graph, file, fitted.fit, [&](const Value& value, Tensor tensor) {
    const auto other = measured.find(value.name);
    writer.write(other == measured.end() ? tensor : other->second);
  });
  writer.commit();
}

report::Document converted(const WeightsFlags& flags, const runs::WeightsFile& file) {
  TY_REQUIRE(!flags.output.empty(), "convert writes a file: say which with -o FILE.safetensors");
  report::Document document;
  document.data =
      Json::object({{"file", flags.file}, {"format", file.format()}, {"output", flags.output}});
  if (flags.model.empty()) {
    copy_tensors(flags, file);
  } else {
    const network::FittedNetwork fitted = network::fit_network(request_of(flags), file);
    convert_tensors(flags, file, fitted);
    add_fit(fitted, flags.model, document);
  }
  document.blocks.emplace_back(report::Paragraph{fmt::format("wrote {}", flags.output)});
  return document;
}

// All that can be refused by flags alone is refused before the file is opened.
int weights_command(const WeightsFlags& flags, std::ostream& out) {
  if (flags.action == "get") {
    GetFlags wanted = flags.get;
    wanted.name = flags.file;
    return get_public(wanted, flags.format, out);
  }
  TY_REQUIRE(flags.action == "inspect" || flags.action == "convert",
             "'{}' is not something weights can do; expected inspect, convert or get",
             flags.action);
  TY_REQUIRE(!flags.file.empty(), "say which file: `weights {} FILE`", flags.action);
  TY_REQUIRE(flags.action == "convert" || flags.output.empty(), "-o is for convert");
  const bool network = flags.output.ends_with(".onnx");
  TY_REQUIRE(flags.output.empty() || network || flags.output.ends_with(".safetensors"),
             "'{}' ends neither in .safetensors nor in .onnx", flags.output);
  TY_REQUIRE(!network || !flags.model.empty(), "an .onnx file needs the network: add --model M");
  const bool measures = !flags.statistics.empty();
  TY_REQUIRE(!measures || (flags.output.ends_with(".safetensors") && !flags.model.empty()),
             "--statistics is for convert --model M -o FILE.safetensors");
  TY_REQUIRE(measures == !flags.augment.empty() || network, "{}",
             measures ? "--statistics needs --augment STEPS, from picture to input"
                      : "--augment goes into an .onnx file, or with --statistics");
  TY_REQUIRE(measures || flags.threads == 0, "--threads goes with --statistics");
  TY_REQUIRE(network || flags.labels.empty(), "--labels go into an .onnx file");
  TY_REQUIRE(
      !flags.model.empty() || (!flags.partial && !flags.classes && !flags.image && !flags.width),
      "--partial, --classes, --image and --width go with --model");
  const auto file = runs::open_weights(flags.file);
  const bool convert = flags.action == "convert";
  out << report::render(convert ? converted(flags, *file) : inspected(flags, *file), flags.format);
  return 0;
}

Runner setup_weights(Args& args) {
  auto flags = std::make_shared<WeightsFlags>();
  args.positional(
      "ACTION", flags->action,
      "inspect: the tensors of a file; convert: write them as safetensors, or with their network "
      "as .onnx; get: bring public weights (no NAME: list them)");
  args.optional_positional("FILE", flags->file,
                           "get: a name of its list; else safetensors, what torch.save wrote "
                           "(.pth, .pt, .th; no code is run), or .tflite");
  args.option("-o,--output", flags->output, "convert: the .safetensors or .onnx file to write");
  args.option("--model", flags->model,
              "the network the weights are for: names become its own, and what is missing, "
              "surplus or of another shape is listed");
  args.option("--classes", flags->classes, "classes of --model; absent: as many as the file has");
  args.option("--image", flags->image, "height and width of the input of --model");
  args.option("--width", flags->width, "width multiplier of --model");
  args.option("--labels", flags->labels,
              "convert to .onnx: names of the classes, one a line, kept in the file");
  args.option("--augment", flags->augment,
              "convert to .onnx: steps from picture to input, kept in the file; also those of "
              "--statistics");
  args.option("--statistics", flags->statistics,
              "convert to safetensors: measure the statistics of normalization, which is folded "
              "into the file's weights, on the training pictures of this data set");
  args.option("--threads", flags->threads, "of --statistics; 0: all cores");
  args.flag("--partial", flags->partial, "convert: write what fits, though not all does");
  declare_get(args, flags->get);
  args.own_flags(
      [flags] { return flags->action; },
      {{{"get"}, get_flag_names()},
       {{"inspect", "convert"}, {"model", "classes", "image", "width"}},
       {{"convert"}, {"output", "labels", "augment", "statistics", "threads", "partial"}}});
  args.format(flags->format);
  return [flags](std::ostream& out) { return weights_command(*flags, out); };
}

}  // namespace

extern const Command kWeights = {
    .name = "weights",
    .group = "Train",
    .summary =
        "Look into files of weights (PyTorch, TensorFlow Lite, safetensors), convert them, and "
        "bring "
        "public ones",
    .examples =
        "  trainyard weights inspect resnet20.th --model resnet20-cifar\n"
        "  trainyard weights convert resnet50.pth -o resnet50.safetensors --model resnet50\n"
        "  trainyard weights convert mobilenet_v2.tflite -o mobilenet_v2.onnx --model mobilenet_v2 "
        "--labels imagenet_labels.txt --augment "
        "resize:256,center:224x224,normalize:0.5/0.5/0.5:0.5/0.5/0.5\n"
        "  trainyard weights get resnet50 --to weights\n"
        "  trainyard evaluate resnet20-cifar --weights resnet20.th --data cifar10:DIR\n",
    .setup = setup_weights,
};

}  // namespace trainyard::cli

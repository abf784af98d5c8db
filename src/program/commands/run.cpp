// `trainyard run MODEL`: runs a network on given inputs.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/names_file.h"
#include "data/image.h"
#include "data/table/table_set.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "ir/printer.h"
#include "models/hugging_face.h"
#include "models/model_notes.h"
#include "models/onnx/declared_input.h"
#include "models/onnx/metadata.h"
#include "program/class_scores.h"
#include "program/command.h"
#include "program/expected_outputs.h"
#include "program/given_inputs.h"
#include "program/model_argument.h"
#include "program/output_files.h"
#include "program/run_detector.h"
#include "program/table_rows.h"
#include "tensor/npy.h"
#include "train/execution_view.h"

namespace trainyard::cli {
namespace {

constexpr double kLargestTolerance = 1e9;

struct RunFlags {
  ModelArgument model;
  std::vector<std::string> inputs;
  std::string output;
  std::string labels;
  std::string trace;
  std::string dump;
  std::string draw;
  std::string expect;
  Tolerance tolerance;
  double threshold = 0.5;
  std::vector<double> mean;
  std::vector<double> std;
  int64_t resize = 0;
  int64_t top = 5;
  int64_t threads = 0;
  int64_t seed = 1;
  int64_t max_iterations = runtime::CompileOptions{}.max_iterations;
  bool profile = false;
  bool explain = false;
  bool reference = false;
  std::string device = "cpu";
  std::string precision = "f32";
  report::Format format = report::Format::kText;
};

// ImageNet's, unless flags say otherwise: a number per channel.
data::Preprocessing preprocessing(const RunFlags& flags, int64_t channels) {
  data::Preprocessing options;
  options.resize_shorter = flags.resize;
  const auto set = [&](const char* flag, const std::vector<double>& given, float* target) {
    if (given.empty()) return;
    TY_REQUIRE(static_cast<int64_t>(given.size()) == channels,
               "{} has {} numbers, but the input has {} channels", flag, given.size(), channels);
    for (size_t c = 0; c < given.size(); ++c) target[c] = static_cast<float>(given[c]);
  };
  set("--mean", flags.mean, options.mean);
  set("--std", flags.std, options.std);
  for (const float std : options.std) TY_REQUIRE(std != 0, "--std must not be zero");
  return options;
}

using Shapes = std::map<std::string, Shape>;

// The whole picture if it brought the height or width; else as the network was trained, if its file
// says how and no flag says otherwise.
Tensor read_picture(const std::string& file, const Shape& shape, bool whole, const RunFlags& flags,
                    const onnx_io::Metadata& metadata) {
  const data::Image image = data::read_image(file);
  const auto preparation = network::preparation_of(metadata);
  const bool told = flags.resize > 0 || !flags.mean.empty() || !flags.std.empty();
  if (whole || told || !preparation) {
    data::Preprocessing options = preprocessing(flags, shape[1]);
    options.whole = whole;
    return data::preprocess(image, shape[1], shape[2], shape[3], options);
  }
  return network::picture_tensor(image, *preparation, {shape[1], shape[2], shape[3]});
}

Tensor read_input(const std::string& file, const runtime::Port& port, const Shapes& brought,
                  const RunFlags& flags, const onnx_io::Metadata& metadata) {
  if (data::is_table_file(file)) return read_table_input(file, metadata);
  if (!is_picture_file(file)) {
    TY_REQUIRE(file.ends_with(".npy"),
               "input '{}': '{}' is none of F.npy, F.csv, F.jpg, F.png and random", port.name,
               file);
    return read_npy(file);
  }
  const Shape& shape = port.type.shape;
  TY_REQUIRE(port.type.dtype == DType::kF32 && shape.rank() == 4 && shape[0] == 1,
             "input '{}' is {}; a picture fills f32[1,3,height,width] (--batch 1)", port.name,
             port.type.to_string());
  const auto own = brought.find(port.name);
  const bool whole = own != brought.end() && own->second == shape;
  return read_picture(file, shape, whole, flags, metadata);
}

// What the given files say about dimensions that the model leaves open.
Shapes brought_shapes(const RunFlags& flags, const onnx_io::Metadata& metadata) {
  const std::string& model = flags.model.text();
  if (flags.inputs.empty() || !network::is_path(model) || network::is_hugging_face(model)) {
    return {};
  }
  const auto declared = onnx_io::declared_inputs(network::model_file(flags.model.text()));
  Shapes shapes = shapes_of_files(declared, flags.inputs,
                                  {.batch = flags.model.batch(), .resize = flags.resize});
  add_table_shapes(declared, flags.inputs, metadata, shapes);
  return shapes;
}

void give_inputs(const RunFlags& flags, const onnx_io::Metadata& metadata, const Shapes& brought,
                 const runtime::Executable& executable, runtime::ExecutionContext& context) {
  runtime::fill_inputs(context, executable, static_cast<uint64_t>(flags.seed));
  std::vector<std::string> names;
  for (const runtime::Port& port : executable.inputs()) names.push_back(port.name);
  for (const auto& [index, file] : parse_given(flags.inputs, names)) {
    if (file == "random") continue;
    const runtime::Port& port = executable.inputs()[index];
    context.set_input(index, read_input(file, port, brought, flags, metadata));
  }
}

std::vector<std::string> labels_of(const RunFlags& flags, const onnx_io::Metadata& metadata) {
  if (flags.labels.empty()) return onnx_io::class_names(metadata);
  return read_names(flags.labels);
}

// Names that were given for another network would be worse than none.
void require_fitting_labels(const RunFlags& flags, const std::vector<std::string>& labels,
                            const runtime::Executable& executable,
                            const runtime::ExecutionContext& context) {
  if (flags.labels.empty()) return;
  for (size_t i = 0; i < executable.outputs().size(); ++i) {
    const Tensor& scores = context.output(i);
    if (is_class_scores(scores) &&
        scores.type().shape.dim(-1) == static_cast<int64_t>(labels.size()))
      return;
  }
  throw_error("{} has {} lines, but no output of the network has as many classes", flags.labels,
              labels.size());
}

void describe_output(report::Document& document, Json& list, const std::string& name,
                     const Tensor& tensor, const RunFlags& flags,
                     const std::vector<std::string>& labels, const onnx_io::Metadata& metadata) {
  Json entry = Json::object({{"name", name}, {"type", tensor.type().to_string()}});
  document.blocks.emplace_back(
      report::Paragraph{fmt::format("output {} : {}", name, tensor.type().to_string())});
  const bool foretold = add_foretold(tensor, metadata, labels, document, entry);
  if (!foretold && flags.top > 0 && is_class_scores(tensor)) {
    const std::vector<ClassScore> best = best_classes(tensor, flags.top);
    if (const int64_t rows = tensor.shape()[0]; rows > 1) {
      document.blocks.emplace_back(
          report::Paragraph{fmt::format("the best classes of row 1 of {}:", rows)});
    }
    document.blocks.emplace_back(class_table(best, labels));
    entry["top"] = class_json(best, labels);
  }
  if (tensor.dtype() == DType::kText) {
    entry["texts"] = Json::array();
    for (const std::string& text : first_texts(tensor, flags.top)) {
      document.blocks.emplace_back(report::Paragraph{"  " + text});
      entry["texts"].push_back(text);
    }
  }
  list.push_back(std::move(entry));
}

// Says which file holds which output: names may differ from those of the files.
void write_outputs(const std::string& folder, const runtime::Executable& executable,
                   const runtime::ExecutionContext& context, report::Document& document) {
  std::vector<std::string> names;
  for (const runtime::Port& port : executable.outputs()) names.push_back(port.name);
  const std::vector<std::string> files = output_files(names);
  std::filesystem::create_directories(folder);
  Json written = Json::object();
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string path = (std::filesystem::path(folder) / files[i]).string();
    write_npy(path, context.output(i));
    written[names[i]] = path;
    document.blocks.emplace_back(
        report::Paragraph{fmt::format("output {} is in {}", names[i], path)});
  }
  document.data["files"] = std::move(written);
}

runtime::CompileOptions compile_options(const RunFlags& flags) {
  runtime::CompileOptions options;
  options.threads = resolve_threads(flags.threads);
  options.reference_only = flags.reference;
  options.device = device::open_network_device(flags.device);
  options.precision = kernels::precision_named(flags.precision);
  options.max_iterations = require_iterations(flags.max_iterations);
  if (!flags.dump.empty()) {
    std::filesystem::create_directories(flags.dump);
    auto count = std::make_shared<int>(0);
    options.observer = [folder = std::filesystem::path(flags.dump), count](std::string_view stage,
                                                                           const Graph& graph) {
      write_file(folder / fmt::format("{:02}_{}.txt", (*count)++, stage), print_graph(graph));
    };
  }
  return options;
}

// A detector on pictures, of which there may be many.
int run_pictures(Graph graph, const RunFlags& flags, const report::Document& notices,
                 std::ostream& out) {
  TY_REQUIRE(flags.output.empty() && flags.trace.empty() && !flags.profile && !flags.explain &&
                 flags.expect.empty(),
             "--output, --expect, --trace, --profile and --explain are for inputs that are no "
             "pictures");
  const onnx_io::Metadata metadata = flags.model.metadata();
  report::Document document = run_detector(std::move(graph), metadata,
                                           {.model = flags.model.text(),
                                            .inputs = flags.inputs,
                                            .labels = labels_of(flags, metadata),
                                            .draw = flags.draw,
                                            .shown = flags.format.kind == report::Format::kHtml ||
                                                     flags.format.kind == report::Format::kBundle,
                                            .threshold = flags.threshold},
                                           compile_options(flags));
  document.blocks.insert(document.blocks.begin(), notices.blocks.begin(), notices.blocks.end());
  for (const auto& [key, value] : notices.data.members()) document.data[key] = value;
  out << report::render(document, flags.format);
  return 0;
}

NamedTensors outputs_of(const runtime::Executable& executable,
                        const runtime::ExecutionContext& context) {
  NamedTensors outputs;
  for (size_t i = 0; i < executable.outputs().size(); ++i) {
    outputs.emplace(executable.outputs()[i].name, context.output(i).clone());
  }
  return outputs;
}

// The same inputs through plain loops, which share no kernel with what is compared.
NamedTensors outputs_of_reference(const RunFlags& flags, const onnx_io::Metadata& metadata,
                                  const Shapes& brought) {
  RunFlags plain = flags;
  plain.reference = true;
  plain.dump.clear();
  const runtime::Executable executable =
      runtime::compile(flags.model.load_for(brought), compile_options(plain));
  runtime::ExecutionContext context(executable);
  give_inputs(flags, metadata, brought, executable, context);
  context.run();
  return outputs_of(executable, context);
}

// What --expect names. Throws Error if that cannot be had.
NamedTensors expected_outputs(const RunFlags& flags, const onnx_io::Metadata& metadata,
                              const Shapes& brought, const runtime::Executable& executable,
                              runtime::ExecutionContext& context) {
  if (flags.expect == "reference") return outputs_of_reference(flags, metadata, brought);
  std::vector<std::string> names;
  for (const runtime::Port& port : executable.outputs()) names.push_back(port.name);
  if (flags.expect != "onnxruntime") return read_expected(flags.expect, names);
  TY_REQUIRE(flags.model.text().ends_with(".onnx"),
             "--expect onnxruntime needs an .onnx file; 'trainyard export' makes one of {}",
             flags.model.text());
  NamedTensors inputs;
  for (size_t i = 0; i < executable.inputs().size(); ++i) {
    inputs.emplace(executable.inputs()[i].name, context.input(i).clone());
  }
  return outputs_of_onnxruntime(flags.model.text(), inputs, names);
}

// NAME=FILE, for an input of that name; a path may have a "=" behind a "/".
bool is_named_input(const std::string& given) {
  const size_t sign = given.find('=');
  return sign != std::string::npos && given.find('/') > sign;
}

int run_command(const RunFlags& flags, std::ostream& out) {
  report::Document document;
  document.data = Json::object();
  // Only detectors take several pictures, or a folder; their inputs have a shape of their own.
  const bool several = flags.inputs.size() > 1 &&
                       std::none_of(flags.inputs.begin(), flags.inputs.end(), is_named_input);
  const bool many = several || !flags.draw.empty() ||
                    (flags.inputs.size() == 1 && std::filesystem::is_directory(flags.inputs[0]));
  const onnx_io::Metadata metadata = flags.model.metadata();
  const Shapes brought = many ? Shapes() : brought_shapes(flags, metadata);
  Graph graph = flags.model.load_for(brought);
  add_weights_notice(document, graph);
  if (is_detection(graph, flags.inputs))
    return run_pictures(std::move(graph), flags, document, out);
  TY_REQUIRE(flags.draw.empty(),
             "--draw needs a detector and pictures: outputs boxes, labels and scores, or locations "
             "and scores of SSD");
  const runtime::Executable executable = runtime::compile(std::move(graph), compile_options(flags));
  runtime::ExecutionContext context(executable);
  give_inputs(flags, metadata, brought, executable, context);
  const std::vector<std::string> labels = labels_of(flags, metadata);
  runtime::Profile profile(executable);
  context.run(&profile);
  require_fitting_labels(flags, labels, executable, context);

  Json outputs = Json::array();
  for (size_t i = 0; i < executable.outputs().size(); ++i) {
    describe_output(document, outputs, executable.outputs()[i].name, context.output(i), flags,
                    labels, metadata);
  }
  document.data["model"] = flags.model.text();
  document.data["outputs"] = std::move(outputs);
  if (!flags.reference) add_slow_notice(document, executable, profile);
  add_host_nodes(document, executable);
  if (flags.explain) add_explanation(document, executable);
  if (flags.profile) {
    add_profile(document, executable, profile, runtime::measure_peak(executable.threads()));
  }
  if (!flags.trace.empty()) write_file(flags.trace, profile.trace_json());
  if (!flags.output.empty()) write_outputs(flags.output, executable, context, document);
  bool agree = true;
  if (!flags.expect.empty()) {
    agree = add_comparison(document, flags.expect, outputs_of(executable, context),
                           expected_outputs(flags, metadata, brought, executable, context),
                           flags.tolerance);
  }
  out << report::render(document, flags.format);
  return agree ? 0 : 1;
}

Runner setup_run(Args& args) {
  auto flags = std::make_shared<RunFlags>();
  flags->model.declare(args);
  args.repeated(
      "--input", flags->inputs,
      "NAME=F.npy, F.csv (rows of a table, for a network trained on one), F.jpg, F.png or "
      "random (the default); NAME= may be left out if there is one input; detectors take "
      "several pictures, and folders of them");
  args.option("--output", flags->output, "folder to write the outputs to, as NAME.npy");
  args.option("--expect", flags->expect,
              "compare the outputs with those in F.npz, F.npy or a folder of NAME.npy, with ONNX "
              "Runtime's (onnxruntime, where python3 has it) or with plain loops (reference); exit "
              "code 1 if they differ");
  args.option("--tolerance", flags->tolerance.absolute, "largest |ours - theirs| for --expect",
              between(0, kLargestTolerance));
  args.option("--relative", flags->tolerance.relative,
              "relative tolerance for --expect: adds this share of |theirs|",
              between(0, kLargestTolerance));
  args.option("--labels", flags->labels,
              "file with one class name per line (default: the names in the model file)");
  args.option("--top", flags->top, "best classes, or strings of an output, to print; 0: none",
              at_least(0));
  args.option("--resize", flags->resize,
              "resize the shorter side of an image before the center crop; 0: 8/7 of the input",
              between(0, kLargestSide));
  args.option("--mean", flags->mean,
              "subtracted from a picture's channels, which are in [0, 1], one each; else as the "
              "model was trained, or ImageNet's");
  args.option("--std", flags->std, "divide by these after subtracting the mean");
  args.option("--draw", flags->draw,
              "detectors: write the image with its boxes to this PNG; several images make a sheet");
  args.option("--threshold", flags->threshold, "detectors: score threshold", between(0, 1));
  args.option("--threads", flags->threads, "threads; 0: all cores");
  args.option("--seed", flags->seed, "random seed for inputs");
  args.option("--max-iterations", flags->max_iterations, kIterationsHelp);
  args.option("--device", flags->device, kDeviceHelp);
  args.option("--precision", flags->precision, kPrecisionHelp);
  args.flag("--reference", flags->reference, "reference kernels only, no fusion");
  args.flag("--explain", flags->explain, "which kernel computes each node, and why not another");
  args.flag("--profile", flags->profile, "time per node and per kind of operator");
  args.option("--trace", flags->trace, "write a trace for Perfetto to this file");
  args.option("--dump", flags->dump, "folder to print the graph to after each pass");
  args.format(flags->format);
  return [flags](std::ostream& out) { return run_command(*flags, out); };
}

}  // namespace

extern const Command kRun = {
    .name = "run",
    .group = "Run",
    .summary = "Run a network on arrays, pictures, rows of a table or random numbers",
    .examples =
        "  trainyard run runs/shoes --input shoe.png\n"
        "  trainyard run detector.onnx --input dog.jpg --draw found.png --threshold 0.4\n"
        "  trainyard run segmenter.onnx --input photo.jpg --output masks\n"
        "  trainyard run runs/houses --input new.csv\n"
        "  trainyard run model.onnx --input data=x.npy --output results\n"
        "  trainyard run model.onnx --input data=x.npy --expect outputs.npz --tolerance 1e-5\n"
        "  trainyard run model.onnx --expect onnxruntime --relative 1e-3\n"
        "  trainyard run model.onnx --max-iterations 1000\n"
        "  trainyard run resnet20-cifar --device opencl --explain\n"
        "  trainyard run resnet20-cifar --device torch:cpu --explain\n"
        "  trainyard run model.onnx --explain --dump passes\n",
    .setup = setup_run,
};

}  // namespace trainyard::cli

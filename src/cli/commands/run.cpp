// `trainyard run MODEL`: runs a network on given inputs.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/execution_report.h"
#include "cli/model_argument.h"
#include "data/image.h"
#include "ir/printer.h"
#include "runtime/bench.h"
#include "runtime/compiler.h"
#include "tensor/npy.h"

namespace trainyard::cli {
namespace {

struct RunFlags {
  ModelArgument model;
  std::vector<std::string> inputs;
  std::string output;
  std::string labels;
  std::string trace;
  std::string dump;
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  int64_t resize = 0;
  int64_t top = 5;
  int64_t threads = 0;
  int64_t seed = 1;
  bool profile = false;
  bool explain = false;
  bool reference = false;
  report::Format format = report::Format::kText;
};

data::Preprocessing preprocessing(const RunFlags& flags) {
  TY_REQUIRE(flags.mean.size() == 3 && flags.std.size() == 3,
             "--mean and --std take three numbers each, found {} and {}", flags.mean.size(),
             flags.std.size());
  data::Preprocessing options;
  options.resize_shorter = flags.resize;
  for (size_t c = 0; c < 3; ++c) {
    TY_REQUIRE(flags.std[c] != 0, "--std must not be zero");
    options.mean[c] = static_cast<float>(flags.mean[c]);
    options.std[c] = static_cast<float>(flags.std[c]);
  }
  return options;
}

bool is_picture(const std::string& file) {
  return file.ends_with(".jpg") || file.ends_with(".jpeg") || file.ends_with(".png");
}

Tensor read_input(const std::string& file, const runtime::Port& port, const RunFlags& flags) {
  if (!is_picture(file)) {
    TY_REQUIRE(file.ends_with(".npy"), "input '{}': '{}' is none of F.npy, F.jpg, F.png and random",
               port.name, file);
    return read_npy(file);
  }
  const Shape& shape = port.type.shape;
  TY_REQUIRE(port.type.dtype == DType::kF32 && shape.rank() == 4 && shape[0] == 1,
             "input '{}' is {}; a picture fills f32[1,3,height,width] (--batch 1)", port.name,
             port.type.to_string());
  return data::preprocess(data::read_image(file), shape[1], shape[2], shape[3],
                          preprocessing(flags));
}

// NAME=FILE, or FILE for the only input.
void give_inputs(const RunFlags& flags, const runtime::Executable& executable,
                 runtime::ExecutionContext& context) {
  runtime::fill_inputs(context, executable, static_cast<uint64_t>(flags.seed));
  std::vector<std::string> names;
  for (const runtime::Port& port : executable.inputs()) names.push_back(port.name);
  for (const std::string& text : flags.inputs) {
    const size_t equals = text.find('=');
    TY_REQUIRE(equals != std::string::npos || names.size() == 1,
               "--input {}: the model has {} inputs, so say NAME={}", text, names.size(), text);
    const std::string name = equals == std::string::npos ? names[0] : text.substr(0, equals);
    const std::string file = equals == std::string::npos ? text : text.substr(equals + 1);
    const auto found = std::find(names.begin(), names.end(), name);
    TY_REQUIRE(found != names.end(), "--input {}: the model has no input '{}', it has {}.{}", text,
               name, join(names, ", "), did_you_mean(name, names));
    if (file == "random") continue;
    const auto index = static_cast<size_t>(found - names.begin());
    context.set_input(index, read_input(file, executable.inputs()[index], flags));
  }
}

std::vector<std::string> read_labels(const std::string& path) {
  if (path.empty()) return {};
  std::vector<std::string> labels = split(read_file(path), '\n');
  if (!labels.empty() && labels.back().empty()) labels.pop_back();
  return labels;
}

struct Score {
  int64_t index = 0;
  double value = 0;
};

// The largest values of row 0, largest first; ties by index.
std::vector<Score> top_scores(const Tensor& tensor, int64_t count) {
  const int64_t length = tensor.num_elements() / std::max<int64_t>(1, tensor.shape()[0]);
  std::vector<Score> scores;
  for (int64_t i = 0; i < length; ++i) scores.push_back({i, element_as_double(tensor, i)});
  count = std::min(count, length);
  std::partial_sort(scores.begin(), scores.begin() + count, scores.end(),
                    [](const Score& a, const Score& b) {
                      return a.value != b.value ? a.value > b.value : a.index < b.index;
                    });
  scores.resize(static_cast<size_t>(count));
  return scores;
}

// Scores of classes: one float row per image.
bool is_scores(const Tensor& tensor) {
  return is_float(tensor.dtype()) && tensor.shape().rank() >= 2 && tensor.shape()[0] >= 1 &&
         tensor.num_elements() > 1 &&
         tensor.num_elements() == tensor.shape()[0] * tensor.shape()[1];
}

void describe_output(report::Document& document, Json& list, const std::string& name,
                     const Tensor& tensor, const RunFlags& flags,
                     const std::vector<std::string>& labels) {
  Json entry = Json::object({{"name", name}, {"type", tensor.type().to_string()}});
  document.blocks.emplace_back(
      report::Paragraph{fmt::format("output {} : {}", name, tensor.type().to_string())});
  if (flags.top > 0 && is_scores(tensor)) {
    report::Table table({{"class"}, {"label", report::Align::kLeft}, {"score"}});
    Json scores = Json::array();
    for (const Score& score : top_scores(tensor, flags.top)) {
      const auto index = static_cast<size_t>(score.index);
      const std::string label = index < labels.size() ? labels[index] : "";
      table.add_row({fmt::format("{}", score.index), label, report::fixed_cell(score.value, 6)});
      scores.push_back(
          Json::object({{"class", score.index}, {"label", label}, {"score", score.value}}));
    }
    document.blocks.emplace_back(std::move(table));
    entry["top"] = std::move(scores);
  }
  list.push_back(std::move(entry));
}

// A name that cannot leave the folder.
std::string file_name(const std::string& name) {
  std::string safe = name;
  for (char& c : safe) {
    if (c == '/' || c == '\\' || c == '\0') c = '_';
  }
  return (safe.empty() || safe[0] == '.' ? "_" + safe : safe) + ".npy";
}

runtime::CompileOptions compile_options(const RunFlags& flags) {
  runtime::CompileOptions options;
  options.threads = resolve_threads(flags.threads);
  options.reference_only = flags.reference;
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

int run_command(const RunFlags& flags, std::ostream& out) {
  report::Document document;
  Graph graph = flags.model.load();
  add_weights_notice(document, graph);
  const runtime::Executable executable = runtime::compile(std::move(graph), compile_options(flags));
  runtime::ExecutionContext context(executable);
  give_inputs(flags, executable, context);
  const std::vector<std::string> labels = read_labels(flags.labels);
  runtime::Profile profile(executable);
  context.run(&profile);

  Json outputs = Json::array();
  for (size_t i = 0; i < executable.outputs().size(); ++i) {
    describe_output(document, outputs, executable.outputs()[i].name, context.output(i), flags,
                    labels);
  }
  document.data["model"] = flags.model.text();
  document.data["outputs"] = std::move(outputs);
  if (flags.explain) add_explanation(document, executable);
  if (flags.profile) {
    add_profile(document, executable, profile, runtime::measure_peak(executable.threads()).gflops);
  }
  if (!flags.trace.empty()) write_file(flags.trace, profile.trace_json());
  if (!flags.output.empty()) {
    std::filesystem::create_directories(flags.output);
    for (size_t i = 0; i < executable.outputs().size(); ++i) {
      write_npy(std::filesystem::path(flags.output) / file_name(executable.outputs()[i].name),
                context.output(i));
    }
  }
  out << report::render(document, flags.format);
  return 0;
}

Runner setup_run(Args& args) {
  auto flags = std::make_shared<RunFlags>();
  flags->model.declare(args);
  args.repeated("--input", flags->inputs,
                "NAME=F.npy, F.jpg, F.png or random (the default); NAME= may be left out if there "
                "is one input");
  args.option("--output", flags->output, "folder to write the outputs to, as NAME.npy");
  args.option("--labels", flags->labels, "file with one class name per line");
  args.option("--top", flags->top, "best classes to print; 0: none");
  args.option("--resize", flags->resize,
              "shorter side of a picture before the middle is cut out; 0: 8/7 of the input");
  args.option("--mean", flags->mean, "subtracted from a picture's channels, which are in [0, 1]");
  args.option("--std", flags->std, "then divided by");
  args.option("--threads", flags->threads, "threads; 0: all cores");
  args.option("--seed", flags->seed, "of random inputs");
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
    .summary = "Run a network on arrays, pictures or random numbers",
    .examples =
        "  trainyard run runs/shoes --input shoe.png\n"
        "  trainyard run model.onnx --input data=x.npy --output results\n"
        "  trainyard run model.onnx --explain --dump passes\n",
    .setup = setup_run,
};

}  // namespace trainyard::cli

#include "models/onnx/check.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include <fmt/ranges.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include "base/file.h"
#include "base/text.h"
#include "models/onnx/payload.h"
#include "models/onnx/proto.h"
#include "models/onnx/tensor_reader.h"

namespace trainyard::onnx_io {
namespace {

enum class CheckOutcome : uint8_t { kRight, kUnsupported, kWrong };

// Shapes that the file gives its outputs and that are not what comes out.
void compare_outputs(const onnx::ModelProto& model, const Graph& graph, CheckReport& report) {
  for (const auto& output : model.graph().output()) {
    if (!output.type().tensor_type().has_shape()) continue;
    const ValueId id = graph.find_value(output.name());
    if (!id.valid()) continue;
    const auto& declared = output.type().tensor_type().shape();
    const Shape& found = graph.value(id).type.shape;
    bool fits = declared.dim_size() == found.rank();
    for (int i = 0; fits && i < declared.dim_size(); ++i) {
      fits = !declared.dim(i).has_dim_value() || found[i] == Shape::kUnknown ||
             declared.dim(i).dim_value() == found[i];
    }
    if (fits) continue;
    std::vector<std::string> dims;
    for (const auto& dim : declared.dim()) {
      dims.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value()) : "?");
    }
    report.findings.push_back(
        {"trainyard", "",
         fmt::format("output '{}' is declared with shape {}, its node gives {}", output.name(),
                     dims.empty() ? "()" : fmt::format("{}", fmt::join(dims, "x")),
                     found.to_string())});
  }
}

// The options with a length for every open dimension but the first, which has a default: a file
// may leave them open. Symbols mean one length in the whole file.
ImportOptions with_lengths(const std::vector<DeclaredInput>& inputs, ImportOptions options,
                           int64_t length) {
  std::set<std::string> in_front;
  for (const DeclaredInput& input : inputs) {
    if (input.dims && !input.dims->empty()) in_front.insert(input.dims->front().symbol);
  }
  const int64_t batch = options.batch.value_or(1);
  for (const DeclaredInput& input : inputs) {
    if (!input.dims || options.shapes.contains(input.name)) continue;
    std::vector<int64_t> dims;
    bool open = false;
    for (const DeclaredDim& dim : *input.dims) {
      const bool first = dims.empty() || (!dim.symbol.empty() && in_front.contains(dim.symbol));
      open = open || (!dim.value && !dims.empty());
      dims.push_back(dim.value.value_or(first ? batch : length));
    }
    if (open) options.shapes.emplace(input.name, Shape(std::move(dims)));
  }
  return options;
}

// No length that was tried fits, and each for a reason of its own: others may.
class NoFittingLength : public Error {
 public:
  using Error::Error;
};

// Throws Error if the file is right for none of a few lengths of its open dimensions.
Graph import_with_any_length(const std::filesystem::path& path, const ImportOptions& options) {
  constexpr std::array<int64_t, 6> kLengths = {64, 224, 1, 16, 512, 7};
  const std::vector<DeclaredInput> inputs = declared_inputs(path);
  std::optional<std::string> first;
  bool depends = false;
  for (const int64_t length : kLengths) {
    const ImportOptions bound = with_lengths(inputs, options, length);
    try {
      return import_model(path, bound);
    } catch (const UnsupportedOperators&) {
      throw;
    } catch (const Error& problem) {
      if (bound.shapes.size() == options.shapes.size()) throw;
      if (!first) first = problem.what();
      depends = depends || *first != problem.what();
    }
  }
  if (depends) throw NoFittingLength(*first);
  throw_error("{}", *first);
}

CheckOutcome ask_importer(const std::filesystem::path& path, const ImportOptions& options,
                          CheckReport& report, Graph& graph) {
  const std::string prefix = path.string() + ": ";
  const auto without_path = [&](std::string message) {
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    return message;
  };
  const auto add = [&](std::string message) {
    report.findings.push_back({"trainyard", "", without_path(std::move(message))});
  };
  try {
    graph = import_with_any_length(path, options);  // verifies the graph as well
    return CheckOutcome::kRight;
  } catch (const UnsupportedOperators& problem) {
    add(problem.what());
    return CheckOutcome::kUnsupported;
  } catch (const NoFittingLength& problem) {
    report.unchecked = without_path(problem.what());
    return CheckOutcome::kUnsupported;
  } catch (const Error& problem) {
    add(problem.what());
    return CheckOutcome::kWrong;
  }
}

std::unordered_map<std::string, int> opsets_of(const onnx::ModelProto& model) {
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model.opset_import()) {
    opsets[import.domain()] = static_cast<int>(import.version());
  }
  return opsets;
}

// The first line of what ONNX says; the rest repeats the node as text.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// The checker stops at the first thing it finds, so nodes are asked one by one.
void ask_checker_about_nodes(const onnx::ModelProto& model, CheckReport& report) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_opset_imports(opsets_of(model));
  // What bodies of control flow may read.
  onnx::checker::LexicalScopeContext scope;
  for (const auto& input : model.graph().input()) scope.add(input.name());
  for (const auto& tensor : model.graph().initializer()) scope.add(tensor.name());
  for (const auto& node : model.graph().node()) {
    try {
      onnx::checker::check_node(node, context, scope);
    } catch (const std::exception& problem) {
      report.findings.push_back({"onnx checker", node.name(), first_line(problem.what())});
    }
    for (const std::string& output : node.output()) scope.add(output);
  }
}

void ask_checker(const onnx::ModelProto& model, CheckReport& report) {
  const size_t before = report.findings.size();
  ask_checker_about_nodes(model, report);
  if (report.findings.size() > before) return;
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& problem) {
    report.findings.push_back({"onnx checker", "", first_line(problem.what())});
  }
}

void ask_shape_inference(onnx::ModelProto& model, CheckReport& report) {
  constexpr bool kCheckTypes = true;
  constexpr int kStrict = 1;
  constexpr bool kPropagateData = true;
  try {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       {kCheckTypes, kStrict, kPropagateData});
  } catch (const std::exception& problem) {
    // A headline, then a line for each node.
    const std::vector<std::string> lines = split(problem.what(), '\n');
    for (size_t i = lines.size() > 1 ? 1 : 0; i < lines.size(); ++i) {
      if (!lines[i].empty()) report.findings.push_back({"onnx shape inference", "", lines[i]});
    }
  }
}

// Small tensors get their numbers back, which shape inference looks at; large ones keep a token in
// their place, since the judges only ask whether there are any. External data has been checked by
// the importer.
void restore_numbers(onnx::TensorProto& proto, TensorReader& tensors) {
  if (proto.data_type() == onnx::TensorProto::STRING) return;  // texts were not taken away
  constexpr int64_t kLargestRestored = 1 << 16;
  int64_t bytes = 1;
  for (const int64_t d : proto.dims()) {
    if (__builtin_mul_overflow(bytes, d, &bytes)) return;
  }
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  try {
    if (bytes <= kLargestRestored) {
      const Tensor tensor = tensors.read(proto);
      proto.set_raw_data(tensor.data(), static_cast<size_t>(tensor.num_bytes()));
    } else if (external) {
      proto.set_raw_data("token");
    }
  } catch (const Error&) {
    return;  // the importer has said so already
  }
  proto.clear_external_data();
  proto.clear_data_location();
}

// The model without its weights; false if it is none.
bool read_for_judges(const std::shared_ptr<MappedFile>& file, const std::filesystem::path& path,
                     onnx::ModelProto& model) {
  SplitFile split;
  try {
    split = split_file(file->bytes(), Root::kModel);
  } catch (const Error&) {
    return false;  // the importer has said so already
  }
  if (!model.ParseFromArray(split.description.data(), static_cast<int>(split.description.size()))) {
    return false;
  }
  TensorReader tensors(std::move(split.payloads), file,
                       path.has_parent_path() ? path.parent_path() : ".");
  auto* graph = model.mutable_graph();
  for (auto& tensor : *graph->mutable_initializer()) restore_numbers(tensor, tensors);
  for (auto& node : *graph->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) restore_numbers(*attribute.mutable_t(), tensors);
    }
  }
  return true;
}

}  // namespace

CheckReport check_model(const std::filesystem::path& path, const ImportOptions& options) {
  CheckReport report;
  const auto file = std::make_shared<MappedFile>(path);
  Graph graph;
  const CheckOutcome verdict = ask_importer(path, options, report, graph);
  onnx::ModelProto model;
  if (!read_for_judges(file, path, model)) return report;
  report.ir_version = model.ir_version();
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") report.opset = import.version();
  }
  report.num_nodes = model.graph().node_size();
  report.num_initializers = model.graph().initializer_size();
  report.judged = report.opset <= kJudgedOpset;
  // Newer versions of the format add what the operators judged here do not use.
  model.set_ir_version(std::min<int64_t>(model.ir_version(), onnx::IR_VERSION));
  if (!report.judged) {
    // A shape in the options is another than the file's.
    const bool as_declared = !options.batch && options.shapes.empty();
    if (verdict == CheckOutcome::kRight && as_declared) compare_outputs(model, graph, report);
    return report;
  }
  ask_checker(model, report);
  if (verdict != CheckOutcome::kWrong) ask_shape_inference(model, report);
  return report;
}

}  // namespace trainyard::onnx_io

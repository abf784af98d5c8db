#include "onnx_io/import.h"

#include <algorithm>
#include <cctype>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "onnx_io/adapters.h"
#include "onnx_io/import_node.h"
#include "onnx_io/model_reader.h"
#include "ops/inference.h"

namespace trainyard::onnx_io {
namespace {

// A constant up to this size is kept as data, where shape arithmetic sees it; a larger one as a
// rule.
constexpr int64_t kLargestFilled = 4096;

class Importer {
 public:
  Importer(FileModel model, const ImportOptions& options)
      : model_(std::move(model)), options_(options), graph_(model_.graph_name), emitter_(graph_) {}

  Graph run() {
    reserve_names();
    add_inputs();
    add_initializers();
    for (const size_t index : node_order()) add_node(model_.nodes[index]);
    set_outputs();
    const std::vector<std::string> findings = ops::verify_graph(graph_);
    TY_REQUIRE(findings.empty(), "{}", findings[0]);
    return std::move(graph_);
  }

 private:
  void reserve_names();
  void add_inputs();
  void add_initializers();
  std::vector<size_t> node_order() const;
  void add_node(FileNode& node);
  void claim(const std::string& name, std::string_view what) const;
  ValueId find_input(const FileNode& node, size_t i);
  bool add_constant(const FileNode& node);
  bool add_filled(const FileNode& node);
  void set_outputs();

  FileModel model_;
  const ImportOptions& options_;
  Graph graph_;
  Emitter emitter_;
  // Initializers that only ConstantOfShape reads: they vanish with it.
  std::unordered_map<std::string, std::shared_ptr<const Tensor>> loose_;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void Importer::claim(const std::string& name, std::string_view what) const {
  TY_REQUIRE(!name.empty(), "{} has no name", what);
  TY_REQUIRE(!graph_.find_value(name).valid() && !loose_.contains(name),
             "{}: the name '{}' is given to two values", what, name);
}

void Importer::reserve_names() {
  for (const DeclaredInput& input : model_.inputs) emitter_.reserve(input.name);
  for (const FileTensor& tensor : model_.initializers) emitter_.reserve(tensor.name);
  for (const FileNode& node : model_.nodes) {
    for (const std::string& output : node.outputs) emitter_.reserve(output);
  }
  std::unordered_set<std::string> seen;
  for (const FileNode& node : model_.nodes) {
    if (!node.name.empty()) emitter_.reserve(node.name);
  }
  // Files may repeat node names or leave them out; graphs may not.
  for (FileNode& node : model_.nodes) {
    if (node.name.empty() || !seen.insert(node.name).second) {
      node.name = emitter_.fresh_name(node.name.empty() ? lower(node.op) : node.name);
    }
  }
}

void Importer::add_inputs() {
  const std::vector<TensorType> types = bind_inputs(model_.inputs, options_);
  for (size_t i = 0; i < types.size(); ++i) {
    claim(model_.inputs[i].name, "an input");
    graph_.add_input(model_.inputs[i].name, types[i]);
  }
}

void Importer::add_initializers() {
  std::unordered_set<std::string> used;
  std::unordered_set<std::string> shapes;
  for (const FileNode& node : model_.nodes) {
    (node.op == "ConstantOfShape" ? shapes : used).insert(node.inputs.begin(), node.inputs.end());
  }
  for (const FileOutput& output : model_.outputs) used.insert(output.name);
  for (FileTensor& tensor : model_.initializers) {
    claim(tensor.name, "an initializer");
    if (shapes.contains(tensor.name) && !used.contains(tensor.name)) {
      loose_.emplace(std::move(tensor.name), std::move(tensor.data));
    } else {
      graph_.add_initializer(std::move(tensor.name), std::move(tensor.data));
    }
  }
}

// Producers first, otherwise as in the file. Throws Error for a cycle or a name nobody makes.
std::vector<size_t> Importer::node_order() const {
  std::unordered_map<std::string_view, size_t> makers;
  for (size_t i = 0; i < model_.nodes.size(); ++i) {
    for (const std::string& output : model_.nodes[i].outputs) makers.emplace(output, i);
  }
  std::vector<std::vector<size_t>> readers(model_.nodes.size());
  std::vector<size_t> missing(model_.nodes.size(), 0);
  for (size_t i = 0; i < model_.nodes.size(); ++i) {
    const FileNode& node = model_.nodes[i];
    for (const std::string& input : node.inputs) {
      if (input.empty() || graph_.find_value(input).valid() || loose_.contains(input)) continue;
      const auto maker = makers.find(input);
      TY_REQUIRE(maker != makers.end(),
                 "node '{}' ({}): its input '{}' is made by no node, input or initializer",
                 node.name, node.op, input);
      readers[maker->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const size_t reader : readers[order.back()]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  const auto stuck = std::find_if(missing.begin(), missing.end(), [](size_t m) { return m > 0; });
  if (stuck != missing.end()) {
    const FileNode& node = model_.nodes[static_cast<size_t>(stuck - missing.begin())];
    throw_error("node '{}' ({}): it depends on its own output", node.name, node.op);
  }
  return order;
}

ValueId Importer::find_input(const FileNode& node, size_t i) {
  const std::string& name = node.inputs[i];
  if (name.empty()) return kNoValue;
  if (const auto loose = loose_.find(name); loose != loose_.end()) {
    graph_.add_initializer(name, std::move(loose->second));
    loose_.erase(loose);
  }
  return graph_.find_value(name);
}

// A Constant becomes an initializer.
bool Importer::add_constant(const FileNode& node) {
  if (node.op != "Constant" || !node.inputs.empty() || node.outputs.size() != 1) return false;
  const auto value = node.attributes.find("value");
  if (value == node.attributes.end()) return false;
  const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&value->second);
  if (tensor == nullptr) return false;
  graph_.add_initializer(node.outputs[0], *tensor);
  return true;
}

// So does a ConstantOfShape whose shape is known; a large one by rule, without its numbers.
bool Importer::add_filled(const FileNode& node) {
  if (node.op != "ConstantOfShape" || node.inputs.size() != 1 || node.outputs.size() != 1) {
    return false;
  }
  const auto loose = loose_.find(node.inputs[0]);
  const ValueId input = graph_.find_value(node.inputs[0]);
  const Tensor* dims = nullptr;
  if (loose != loose_.end()) dims = loose->second.get();
  if (input.valid()) dims = graph_.value(input).constant.get();
  if (dims == nullptr || dims->dtype() != DType::kI64 || dims->shape().rank() > 1) return false;
  TensorType type{DType::kF32, Shape(to_ints(*dims))};
  for (const int64_t d : type.shape.dims()) TY_REQUIRE(d >= 0, "it makes a dimension of {}", d);
  double fill = 0;
  if (const auto value = node.attributes.find("value"); value != node.attributes.end()) {
    const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&value->second);
    if (tensor == nullptr || (*tensor)->num_elements() != 1) return false;
    type.dtype = (*tensor)->dtype();
    fill = element_as_double(**tensor, 0);
    // Integers beyond 2^53 are not written by rule.
    if (is_integer(type.dtype) && std::abs(fill) > 0x1.0p53) return false;
  }
  if (type.num_bytes() / dtype_size(type.dtype) > kLargestFilled) {
    graph_.add_initializer(node.outputs[0], std::move(type), init_constant(fill));
  } else {
    Tensor data(std::move(type));
    fill_by_rule(init_constant(fill), 0, node.outputs[0], data);
    graph_.add_initializer(node.outputs[0], std::make_shared<const Tensor>(std::move(data)));
  }
  return true;
}

void Importer::add_node(FileNode& node) {
  const std::string where = fmt::format("node '{}' ({})", node.name, node.op);
  for (const std::string& output : node.outputs) {
    if (!output.empty()) claim(output, where);
  }
  std::unordered_set<std::string_view> own(node.outputs.begin(), node.outputs.end());
  const auto named = std::count_if(node.outputs.begin(), node.outputs.end(),
                                   [](const std::string& o) { return !o.empty(); });
  own.erase("");
  TY_REQUIRE(static_cast<size_t>(named) == own.size(), "{}: two of its outputs have one name",
             where);
  ImportNode out;
  try {
    if (add_constant(node) || add_filled(node)) return;
    out.name = std::move(node.name);
    out.op = std::move(node.op);
    out.opset = model_.opset;
    for (size_t i = 0; i < node.inputs.size(); ++i) out.inputs.push_back(find_input(node, i));
    out.outputs = std::move(node.outputs);
    out.attributes = std::move(node.attributes);
    adapt_node(out, emitter_);
  } catch (const Error& problem) {
    throw_error("{}: {}", where, problem.what());
  }
  // Trailing absent inputs and outputs say nothing.
  while (!out.inputs.empty() && !out.inputs.back().valid()) out.inputs.pop_back();
  while (out.outputs.size() > 1 && out.outputs.back().empty()) out.outputs.pop_back();
  emitter_.add(std::move(out));
}

void Importer::set_outputs() {
  std::vector<ValueId> outputs;
  for (const FileOutput& output : model_.outputs) {
    const ValueId id = graph_.find_value(output.name);
    TY_REQUIRE(id.valid(), "output '{}' is made by no node", output.name);
    const DType found = graph_.value(id).type.dtype;
    TY_REQUIRE(found == output.dtype, "output '{}' is declared {} but computes {}", output.name,
               dtype_name(output.dtype), dtype_name(found));
    outputs.push_back(id);
  }
  graph_.set_outputs(std::move(outputs));
}

// Names come from the file: control characters would play tricks on a terminal.
std::string printable(std::string_view text) {
  constexpr size_t kLongest = 4000;
  std::string out(text.substr(0, kLongest));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return out;
}

template <typename Function>
auto naming(std::string_view origin, const Function& function) {
  try {
    return function();
  } catch (const UnsupportedOperators& problem) {
    throw UnsupportedOperators(fmt::format("{}: {}", origin, printable(problem.what())));
  } catch (const Error& problem) {
    throw_error("{}: {}", origin, printable(problem.what()));
  }
}

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

Graph import_model(const std::filesystem::path& path, const ImportOptions& options) {
  const auto file = std::make_shared<MappedFile>(path);
  return naming(path.string(), [&] {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    return Importer(read_model(file->bytes(), file, folder), options).run();
  });
}

Graph import_bytes(std::string_view bytes, std::string_view origin, const ImportOptions& options) {
  return naming(origin,
                [&] { return Importer(read_model(bytes_of(bytes), nullptr, {}), options).run(); });
}

Tensor import_tensor(const std::filesystem::path& path) {
  const auto file = std::make_shared<MappedFile>(path);
  return naming(path.string(), [&] {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    return read_tensor(file->bytes(), file, folder);
  });
}

}  // namespace trainyard::onnx_io

#include "models/onnx/graph_importer.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <queue>

#include "base/error.h"
#include "models/onnx/adapters.h"
#include "models/onnx/gradient_node.h"
#include "ops/inference.h"

namespace trainyard::onnx_io {
namespace {

// A constant up to this size is kept as data, where shape arithmetic sees it; a larger one as a
// rule.
constexpr int64_t kLargestFilled = 4096;
constexpr int64_t kMostImported = 1'000'000;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void find_free(const FileGraph& graph, std::unordered_set<std::string>& found) {
  std::unordered_set<std::string> own;
  for (const DeclaredInput& input : graph.inputs) own.insert(input.name);
  for (const FileTensor& tensor : graph.initializers) own.insert(tensor.name);
  for (const FileNode& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  const auto read = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name)) found.insert(name);
  };
  for (const FileNode& node : graph.nodes) {
    for (const std::string& name : node.inputs) read(name);
    for (const auto& [attribute, inner] : node.graphs) {
      std::unordered_set<std::string> deeper;
      find_free(*inner, deeper);
      for (const std::string& name : deeper) read(name);
    }
  }
  for (const FileOutput& output : graph.outputs) read(output.name);
}

// Everything a node reads, what its bodies read included.
std::vector<std::string> names_read(const FileNode& node) {
  std::vector<std::string> names = node.inputs;
  if (is_gradient(node)) names.push_back(differentiated_by(node));
  for (const auto& [attribute, body] : node.graphs) {
    std::unordered_set<std::string> free;
    find_free(*body, free);
    names.insert(names.end(), free.begin(), free.end());
  }
  return names;
}

}  // namespace

std::unordered_set<std::string> free_names(const FileGraph& graph) {
  std::unordered_set<std::string> found;
  find_free(graph, found);
  return found;
}

Graph GraphImporter::run(const std::vector<TensorType>& input_types) {
  reserve_names(file_);
  add_inputs(input_types);
  add_nodes(file_);
  set_outputs();
  const std::vector<std::string> findings = ops::verify_graph(graph_);
  TY_REQUIRE(findings.empty(), "{}", findings[0]);
  return std::move(graph_);
}

void GraphImporter::add_nodes(const FileGraph& file) {
  add_initializers(file);
  for (const size_t index : node_order(file)) add_node(file.nodes[index]);
}

void GraphImporter::claim(const std::string& name, std::string_view what) const {
  TY_REQUIRE(!name.empty(), "{} has no name", what);
  TY_REQUIRE(!graph_.find_value(name).valid() && !loose_.contains(name),
             "{}: the name '{}' is given to two values", what, name);
}

void GraphImporter::reserve_names(const FileGraph& file) {
  for (const DeclaredInput& input : file.inputs) emitter_.reserve(input.name);
  for (const FileTensor& tensor : file.initializers) emitter_.reserve(tensor.name);
  for (const FileNode& node : file.nodes) {
    for (const std::string& output : node.outputs) emitter_.reserve(output);
  }
  for (const FileNode& node : file.nodes) {
    if (!node.name.empty()) emitter_.reserve(node.name);
  }
  if (outer_ == nullptr) return;
  for (const std::string& name : free_names(file)) emitter_.reserve(name);
}

void GraphImporter::add_inputs(const std::vector<TensorType>& types) {
  for (size_t i = 0; i < types.size(); ++i) {
    claim(file_.inputs[i].name, "an input");
    graph_.add_input(file_.inputs[i].name, types[i]);
  }
}

void GraphImporter::add_initializers(const FileGraph& file) {
  std::unordered_set<std::string> used;
  std::unordered_set<std::string> shapes;
  for (const FileNode& node : file.nodes) {
    const std::vector<std::string> names = names_read(node);
    (node.op == "ConstantOfShape" ? shapes : used).insert(names.begin(), names.end());
  }
  for (const FileOutput& output : file.outputs) used.insert(output.name);
  for (const FileTensor& tensor : file.initializers) {
    claim(tensor.name, "an initializer");
    if (shapes.contains(tensor.name) && !used.contains(tensor.name)) {
      loose_.emplace(tensor.name, tensor.data);
    } else {
      graph_.add_initializer(tensor.name, tensor.data);
    }
  }
}

// Producers first, otherwise as in the file. Throws Error for a cycle or a name nobody makes.
std::vector<size_t> GraphImporter::node_order(const FileGraph& file) {
  std::unordered_map<std::string_view, size_t> makers;
  for (size_t i = 0; i < file.nodes.size(); ++i) {
    for (const std::string& output : file.nodes[i].outputs) makers.emplace(output, i);
  }
  std::vector<std::vector<size_t>> readers(file.nodes.size());
  std::vector<size_t> missing(file.nodes.size(), 0);
  for (size_t i = 0; i < file.nodes.size(); ++i) {
    const FileNode& node = file.nodes[i];
    for (const std::string& input : names_read(node)) {
      if (input.empty()) continue;
      const auto maker = makers.find(input);
      if (maker == makers.end() && is_visible(input)) continue;
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
    const FileNode& node = file.nodes[static_cast<size_t>(stuck - missing.begin())];
    throw_error("node '{}' ({}): it depends on its own output", node.name, node.op);
  }
  return order;
}

bool GraphImporter::is_visible(const std::string& name) const {
  return graph_.find_value(name).valid() || loose_.contains(name) ||
         (outer_ != nullptr && outer_->is_visible(name));
}

ValueId GraphImporter::find(const std::string& name) {
  if (name.empty()) return kNoValue;
  if (const auto loose = loose_.find(name); loose != loose_.end()) {
    graph_.add_initializer(name, std::move(loose->second));
    loose_.erase(loose);
  }
  const ValueId here = graph_.find_value(name);
  if (here.valid() || outer_ == nullptr) return here;
  const ValueId around = outer_->find(name);
  if (!around.valid()) return kNoValue;
  // What is known stays known inside.
  const Value& value = outer_->graph_.value(around);
  if (value.constant != nullptr) return graph_.add_initializer(name, value.constant);
  captures_.push_back(around);
  return graph_.add_input(name, value.type);
}

// A Constant becomes an initializer.
bool GraphImporter::add_constant(const FileNode& node) {
  if (node.op != "Constant" || !node.inputs.empty() || node.outputs.size() != 1) return false;
  const auto value = node.attributes.find("value");
  if (value == node.attributes.end()) return false;
  const auto* tensor = std::get_if<std::shared_ptr<const Tensor>>(&value->second);
  if (tensor == nullptr) return false;
  graph_.add_initializer(node.outputs[0], *tensor);
  return true;
}

// So does a ConstantOfShape whose shape is known; a large one by rule, without its numbers.
bool GraphImporter::add_filled(const FileNode& node) {
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
    if (is_integer(type.dtype) && std::fabs(fill) > 0x1.0p53) return false;
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

void GraphImporter::add_node(const FileNode& node) {
  budget_.exceeded = budget_.exceeded || ++budget_.nodes > kMostImported;
  TY_REQUIRE(!budget_.exceeded,
             "its nodes, with those of bodies each time they are looked at, are more than {}",
             kMostImported);
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
  try {
    if (add_constant(node) || add_filled(node) || add_control_flow(node) || add_gradient(node)) {
      return;
    }
  } catch (const Error& problem) {
    throw_error("{}: {}", where, problem.what());
  }
  add_plain_node(node, where);
}

void GraphImporter::add_plain_node(const FileNode& node, const std::string& where) {
  ImportNode out;
  try {
    // Files may repeat node names or leave them out; graphs may not.
    out.name = node.name.empty() ? lower(node.op) : node.name;
    if (node.name.empty() || graph_.find_node(out.name).valid()) {
      out.name = emitter_.fresh_name(out.name);
    }
    out.op = node.op;
    out.domain = node.domain;
    out.opset = node.opset;
    for (const std::string& name : node.inputs) {
      out.inputs.push_back(find(name));
      TY_REQUIRE(name.empty() || out.inputs.back().valid(), "its input '{}' is not a tensor", name);
    }
    out.outputs = node.outputs;
    out.attributes = node.attributes;
    adapt_node(out, emitter_);
  } catch (const Error& problem) {
    throw_error("{}: {}", where, problem.what());
  }
  if (out.op.empty()) return;  // helpers make all of it
  // Trailing absent inputs and outputs say nothing.
  while (!out.inputs.empty() && !out.inputs.back().valid()) out.inputs.pop_back();
  while (out.outputs.size() > 1 && out.outputs.back().empty()) out.outputs.pop_back();
  emitter_.add(std::move(out));
}

void GraphImporter::set_outputs() {
  std::vector<ValueId> outputs;
  for (const FileOutput& output : file_.outputs) {
    ValueId id = find(output.name);
    TY_REQUIRE(id.valid(), "output '{}' is made by no node", output.name);
    const DType found = graph_.value(id).type.dtype;
    TY_REQUIRE(!output.dtype || found == *output.dtype,
               "output '{}' is declared {} but computes {}", output.name, dtype_name(*output.dtype),
               dtype_name(found));
    outputs.push_back(id);
  }
  graph_.set_outputs(std::move(outputs));
}

}  // namespace trainyard::onnx_io

// If, Loop and Scan: their bodies become graphs that the node carries, and what a body reads from
// around it becomes an input of the node. A branch that is known to be taken needs no If.
#include "ops/control_flow.h"

#include <algorithm>

#include "base/error.h"
#include "models/onnx/functions.h"
#include "models/onnx/graph_importer.h"

namespace trainyard::onnx_io {
namespace {

// Each level may look at its bodies several times.
constexpr int kDeepestBody = 16;
const TensorType kCounterType{DType::kI64, Shape{}};
const TensorType kConditionType{DType::kBool, Shape{}};

const FileGraph& body_of(const FileNode& node, const std::string& attribute) {
  const auto found = node.graphs.find(attribute);
  TY_REQUIRE(found != node.graphs.end(), "attribute '{}' is missing", attribute);
  return *found->second;
}

// `a` with every dimension in which `b` differs left open. False if nothing changed.
bool widen(TensorType& a, const TensorType& b, size_t position) {
  TY_REQUIRE(a.dtype == b.dtype, "value {} goes into the body as {} and comes out as {}", position,
             a.to_string(), b.to_string());
  TY_REQUIRE(a.shape.rank() == b.shape.rank(),
             "value {} goes into the body as {} and comes out as {}: a rank that changes is not "
             "supported",
             position, a.to_string(), b.to_string());
  bool changed = false;
  for (int64_t d = 0; d < a.shape.rank(); ++d) {
    if (a.shape[d] == b.shape[d] || a.shape[d] == Shape::kUnknown) continue;
    a.shape[d] = Shape::kUnknown;
    changed = true;
  }
  return changed;
}

// One level of bodies.
class NestedScope {
 public:
  explicit NestedScope(int& depth) : depth_(depth) { ++depth_; }
  ~NestedScope() { --depth_; }
  NestedScope(const NestedScope&) = delete;
  NestedScope& operator=(const NestedScope&) = delete;

 private:
  int& depth_;
};

}  // namespace

bool GraphImporter::add_control_flow(const FileNode& node) {
  if (!node.domain.empty()) return false;
  if (node.op == "If") {
    add_if(node);
  } else if (node.op == "Loop") {
    add_loop(node);
  } else if (node.op == "Scan") {
    add_scan(node);
  } else {
    TY_REQUIRE(node.graphs.empty(), "its attribute '{}' is a graph", node.graphs.begin()->first);
    return false;
  }
  return true;
}

Graph GraphImporter::import_body(const FileGraph& body, const std::vector<TensorType>& types,
                                 std::vector<ValueId>& captures) {
  TY_REQUIRE(body.inputs.size() == types.size(), "its body has {} inputs, expected {}",
             body.inputs.size(), types.size());
  budget_.exceeded = budget_.exceeded || budget_.depth >= kDeepestBody;
  TY_REQUIRE(!budget_.exceeded, "bodies are nested more than {} deep", kDeepestBody);
  const NestedScope deeper(budget_.depth);
  GraphImporter inner(body, budget_, this);
  Graph graph = inner.run(types);
  captures = inner.captures();
  return graph;
}

void GraphImporter::add_with_body(const FileNode& node, std::vector<ValueId> inputs,
                                  std::vector<std::pair<std::string, Graph>> bodies,
                                  Attributes attributes) {
  // The condition of a loop is no output of it.
  const size_t own = node.op == "Loop" ? 1 : 0;
  for (const auto& [name, body] : bodies) {
    const bool refused =
        attributes.contains(name == "then_branch" ? ops::kThenRefusal : ops::kElseRefusal);
    TY_REQUIRE(refused || node.outputs.size() + own <= body.outputs().size(),
               "it has {} outputs, its {} gives {}", node.outputs.size(), name,
               body.outputs().size() - own);
  }
  ImportNode out;
  out.name = emitter_.fresh_name(node.name.empty() ? node.op : node.name + ".control");
  out.op = node.op;
  out.inputs = std::move(inputs);
  out.outputs = node.outputs;
  out.attributes = std::move(attributes);
  for (std::pair<std::string, Graph>& named : bodies) {
    out.attributes[named.first] = std::make_shared<const Graph>(std::move(named.second));
  }
  emitter_.add(std::move(out));
}

void GraphImporter::add_branch(const FileNode& node, const FileGraph& branch) {
  TY_REQUIRE(branch.inputs.empty(), "a branch has inputs of its own");
  TY_REQUIRE(node.outputs.size() <= branch.outputs.size(), "a branch gives {} outputs, expected {}",
             branch.outputs.size(), node.outputs.size());
  const std::string base = node.name.empty() ? "if" : node.name;
  const FileGraph renamed = with_prefix(branch, emitter_.fresh_name(base + ".branch") + "/");
  reserve_names(renamed);
  add_nodes(renamed);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& made = renamed.outputs[i].name;
    const ValueId value = find(made);
    TY_REQUIRE(value.valid(), "output '{}' of the branch is made by no node", made);
    emitter_.add_output("Identity", {value}, {}, node.outputs[i]);
  }
}

void GraphImporter::add_if(const FileNode& node) {
  TY_REQUIRE(node.inputs.size() == 1, "it has {} inputs, expected 1", node.inputs.size());
  const FileGraph& yes = body_of(node, "then_branch");
  const FileGraph& no = body_of(node, "else_branch");
  const ValueId condition = find(node.inputs[0]);
  TY_REQUIRE(condition.valid(), "its condition '{}' is not a tensor", node.inputs[0]);
  if (const auto& known = graph_.value(condition).constant; known != nullptr) {
    TY_REQUIRE(known->num_elements() == 1, "its condition has {} elements, expected 1",
               known->num_elements());
    return add_branch(node, element_as_int(*known, 0) != 0 ? yes : no);
  }
  std::vector<ValueId> inputs = {condition};
  std::vector<std::pair<std::string, Graph>> bodies;
  // A branch for other inputs than these may not fit them; only a run that takes it minds.
  Attributes refusals;
  for (const auto& [name, branch] : {std::pair{"then_branch", &yes}, {"else_branch", &no}}) {
    std::vector<ValueId> captures;
    Graph graph;
    try {
      graph = import_body(*branch, {}, captures);
    } catch (const Error& problem) {
      if (!refusals.empty() || budget_.exceeded) throw;
      captures.clear();
      const bool is_then = branch == &yes;
      refusals[std::string(is_then ? ops::kThenRefusal : ops::kElseRefusal)] =
          std::string(problem.what());
    }
    bodies.emplace_back(name, std::move(graph));
    inputs.insert(inputs.end(), captures.begin(), captures.end());
  }
  add_with_body(node, std::move(inputs), std::move(bodies), std::move(refusals));
}

void GraphImporter::add_loop(const FileNode& node) {
  const FileGraph& body = body_of(node, "body");
  std::vector<ValueId> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(find(name));
    TY_REQUIRE(name.empty() || inputs.back().valid(), "its input '{}' is not a tensor", name);
  }
  inputs.resize(std::max<size_t>(inputs.size(), 2), kNoValue);
  std::vector<TensorType> types = {kCounterType, kConditionType};
  for (size_t i = 2; i < inputs.size(); ++i) {
    TY_REQUIRE(inputs[i].valid(), "its input {} is missing", i);
    types.push_back(graph_.value(inputs[i]).type);
  }
  const size_t carried = types.size() - 2;
  std::vector<ValueId> captures;
  Graph graph;
  // What changes from one round to the next is open; a dimension opens once, so this ends.
  for (bool changed = true; changed;) {
    graph = import_body(body, types, captures);
    TY_REQUIRE(graph.outputs().size() >= carried + 1,
               "its body gives {} outputs, expected a condition and {} values",
               graph.outputs().size(), carried);
    changed = false;
    for (size_t i = 0; i < carried; ++i) {
      changed = widen(types[2 + i], graph.value(graph.outputs()[1 + i]).type, i) || changed;
    }
  }
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<std::pair<std::string, Graph>> bodies;
  bodies.emplace_back("body", std::move(graph));
  add_with_body(node, std::move(inputs), std::move(bodies),
                {{"carried", static_cast<int64_t>(carried)}});
}

void GraphImporter::add_scan(const FileNode& node) {
  TY_REQUIRE(node.opset >= 9, "Scan of opset 8, which works on batches, is not supported");
  const FileGraph& body = body_of(node, "body");
  const auto count = node.attributes.find("num_scan_inputs");
  TY_REQUIRE(count != node.attributes.end() && std::holds_alternative<int64_t>(count->second),
             "attribute 'num_scan_inputs' is missing");
  const auto scanned = static_cast<size_t>(std::get<int64_t>(count->second));
  TY_REQUIRE(scanned >= 1 && scanned <= node.inputs.size(), "num_scan_inputs is {} of {} inputs",
             std::get<int64_t>(count->second), node.inputs.size());
  std::vector<int64_t> axes(scanned, 0);
  if (const auto given = node.attributes.find("scan_input_axes"); given != node.attributes.end()) {
    const auto* list = std::get_if<std::vector<int64_t>>(&given->second);
    TY_REQUIRE(list != nullptr && list->size() == scanned, "scan_input_axes has no {} integers",
               scanned);
    axes = *list;
  }
  std::vector<ValueId> inputs;
  std::vector<TensorType> types;
  const size_t states = node.inputs.size() - scanned;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(find(node.inputs[i]));
    TY_REQUIRE(inputs.back().valid(), "its input '{}' is not a tensor", node.inputs[i]);
    TensorType type = graph_.value(inputs.back()).type;
    if (i >= states) {
      std::vector<int64_t> dims = type.shape.vector();
      const int64_t axis = normalize_axis(axes[i - states], type.shape.rank(), "Scan");
      dims.erase(dims.begin() + axis);
      type.shape = Shape(std::move(dims));
    }
    types.push_back(std::move(type));
  }
  std::vector<ValueId> captures;
  std::vector<std::pair<std::string, Graph>> bodies;
  bodies.emplace_back("body", import_body(body, types, captures));
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  Attributes attributes = node.attributes;
  attributes["states"] = static_cast<int64_t>(states);
  add_with_body(node, std::move(inputs), std::move(bodies), std::move(attributes));
}

}  // namespace trainyard::onnx_io

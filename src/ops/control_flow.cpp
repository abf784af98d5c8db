// If, Loop and Scan. Their bodies are graphs; what a body reads from around it are further inputs
// of the node and of the body's graph, behind its own. The runtime executes them.
#include "ops/control_flow.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kIfAttributes[] = {{kElseRefusal, AttrKind::kText},
                                      {"else_branch", AttrKind::kGraph, true},
                                      {kThenRefusal, AttrKind::kText},
                                      {"then_branch", AttrKind::kGraph, true}};
constexpr AttrSpec kLoopAttributes[] = {{"body", AttrKind::kGraph, true},
                                        {"carried", AttrKind::kInt, true}};
constexpr AttrSpec kScanAttributes[] = {
    {"body", AttrKind::kGraph, true},      {"num_scan_inputs", AttrKind::kInt, true},
    {"scan_input_axes", AttrKind::kInts},  {"scan_input_directions", AttrKind::kInts},
    {"scan_output_axes", AttrKind::kInts}, {"scan_output_directions", AttrKind::kInts},
    {"states", AttrKind::kInt, true}};

const TensorType& body_output(const Graph& body, size_t i) {
  return body.value(body.outputs()[i]).type;
}

std::vector<TensorType> branch_types(const NodeView& node, const Graph& branch) {
  TY_REQUIRE(node.num_outputs() <= branch.outputs().size(),
             "its branch gives {} outputs, expected {}", branch.outputs().size(),
             node.num_outputs());
  std::vector<TensorType> types;
  for (size_t i = 0; i < branch.outputs().size(); ++i) types.push_back(body_output(branch, i));
  return types;
}

// Open where the branches differ.
std::vector<TensorType> infer_if(const NodeView& node) {
  const Graph& yes = *node.attr_graph("then_branch");
  const Graph& no = *node.attr_graph("else_branch");
  TY_REQUIRE(node.num_inputs() == 1 + yes.inputs().size() + no.inputs().size(),
             "it has {} inputs, its branches read {}", node.num_inputs(),
             yes.inputs().size() + no.inputs().size());
  TY_REQUIRE(node.input_type(0).dtype == DType::kBool, "its condition is {}, expected bool",
             node.input_type(0).to_string());
  // What does not fit is never taken, or ends the run.
  if (node.has_attr(kThenRefusal)) return branch_types(node, no);
  if (node.has_attr(kElseRefusal)) return branch_types(node, yes);
  TY_REQUIRE(
      yes.outputs().size() == no.outputs().size() && node.num_outputs() <= yes.outputs().size(),
      "its branches give {} and {} outputs, expected {}", yes.outputs().size(), no.outputs().size(),
      node.num_outputs());
  std::vector<TensorType> types;
  for (size_t i = 0; i < yes.outputs().size(); ++i) {
    TensorType type = body_output(yes, i);
    const TensorType& other = body_output(no, i);
    TY_REQUIRE(type.dtype == other.dtype && type.shape.rank() == other.shape.rank(),
               "its branches give {} and {}: other types or ranks are not supported",
               type.to_string(), other.to_string());
    for (int64_t d = 0; d < type.shape.rank(); ++d) {
      if (type.shape[d] != other.shape[d]) type.shape[d] = Shape::kUnknown;
    }
    types.push_back(std::move(type));
  }
  return types;
}

TensorType stacked(const TensorType& type, int64_t count, int64_t axis) {
  std::vector<int64_t> dims = type.shape.vector();
  dims.insert(dims.begin() + axis, count);
  return {type.dtype, Shape(std::move(dims))};
}

std::vector<TensorType> infer_loop(const NodeView& node) {
  const Graph& body = *node.attr_graph("body");
  const int64_t carried = node.attr_int("carried", 0);
  TY_REQUIRE(carried >= 0 && node.num_inputs() == body.inputs().size() &&
                 static_cast<size_t>(carried) + 2 <= body.inputs().size(),
             "it has {} inputs, its body {}", node.num_inputs(), body.inputs().size());
  const auto count = static_cast<size_t>(carried);
  TY_REQUIRE(body.outputs().size() > count, "its body gives {} outputs, expected more than {}",
             body.outputs().size(), count);
  TY_REQUIRE(node.num_outputs() < body.outputs().size(),
             "it has {} outputs, its body gives {} and a condition", node.num_outputs(),
             body.outputs().size() - 1);
  std::vector<TensorType> types;
  for (size_t i = 0; i < count; ++i) types.push_back(body.value(body.inputs()[2 + i]).type);
  for (size_t i = count + 1; i < body.outputs().size(); ++i) {
    types.push_back(stacked(body_output(body, i), Shape::kUnknown, 0));
  }
  return types;
}

std::vector<TensorType> infer_scan(const NodeView& node) {
  const Graph& body = *node.attr_graph("body");
  const ScanShape scan = scan_shape(node);
  TY_REQUIRE(node.num_inputs() == body.inputs().size() &&
                 scan.states + scan.input_axes.size() <= node.num_inputs(),
             "it has {} inputs, its body {}", node.num_inputs(), body.inputs().size());
  TY_REQUIRE(body.outputs().size() >= scan.states, "its body gives {} outputs, expected {}",
             body.outputs().size(), scan.states);
  std::vector<TensorType> types;
  for (size_t i = 0; i < scan.states; ++i) {
    TY_REQUIRE(body_output(body, i).dtype == node.input_type(i).dtype,
               "state {} is {} and becomes {}", i, node.input_type(i).to_string(),
               body_output(body, i).to_string());
    types.push_back(body_output(body, i));
  }
  for (size_t i = scan.states; i < body.outputs().size(); ++i) {
    types.push_back(stacked(body_output(body, i), scan.length, scan.output_axes[i - scan.states]));
  }
  return types;
}

Cost body_cost(const Graph& body) {
  Cost total;
  for (const NodeId id : body.node_ids()) {
    const Cost cost = node_cost({body, id});
    checked_add(total.macs, cost.macs);
    checked_add(total.flops, cost.flops);
    checked_add(total.bytes_read, cost.bytes_read);
    checked_add(total.bytes_written, cost.bytes_written);
  }
  return total;
}

Cost times(const Cost& cost, int64_t count) {
  return {checked_product({cost.macs, count}), checked_product({cost.flops, count}),
          checked_product({cost.bytes_read, count}), checked_product({cost.bytes_written, count})};
}

// The dearer branch.
Cost cost_if(const NodeView& node) {
  const Cost yes = body_cost(*node.attr_graph("then_branch"));
  const Cost no = body_cost(*node.attr_graph("else_branch"));
  return yes.flops >= no.flops ? yes : no;
}

// One round where their number is known only at run time.
Cost cost_loop(const NodeView& node) {
  const Tensor* trips = node.has_input(0) ? node.input_constant(0) : nullptr;
  const bool known = trips != nullptr && trips->num_elements() == 1;
  const int64_t count = known ? std::max<int64_t>(element_as_int(*trips, 0), 0) : 1;
  return times(body_cost(*node.attr_graph("body")), count);
}

Cost cost_scan(const NodeView& node) {
  return times(body_cost(*node.attr_graph("body")), std::max<int64_t>(scan_shape(node).length, 1));
}

std::vector<int64_t> list_of(const NodeView& node, std::string_view name, size_t count) {
  std::vector<int64_t> list = node.attr_ints(name, std::vector<int64_t>(count, 0));
  TY_REQUIRE(list.size() == count, "{} has {} entries, expected {}", name, list.size(), count);
  return list;
}

}  // namespace

bool is_control_flow(std::string_view op) {
  return op == "If" || op == "Loop" || op == "Scan";
}

ScanShape scan_shape(const NodeView& node) {
  ScanShape scan;
  const Graph& body = *node.attr_graph("body");
  const int64_t states = node.attr_int("states", 0);
  const int64_t scanned = node.attr_int("num_scan_inputs", 0);
  TY_REQUIRE(states >= 0 && scanned >= 1 &&
                 static_cast<size_t>(states + scanned) <= node.num_inputs() &&
                 static_cast<size_t>(states) <= body.outputs().size(),
             "{} states and {} scanned inputs of {} inputs", states, scanned, node.num_inputs());
  scan.states = static_cast<size_t>(states);
  const auto count = static_cast<size_t>(scanned);
  const size_t outputs = body.outputs().size() - scan.states;
  scan.input_axes = list_of(node, "scan_input_axes", count);
  scan.input_directions = list_of(node, "scan_input_directions", count);
  scan.output_axes = list_of(node, "scan_output_axes", outputs);
  scan.output_directions = list_of(node, "scan_output_directions", outputs);
  for (size_t i = 0; i < count; ++i) {
    const Shape& x = node.input_shape(scan.states + i);
    scan.input_axes[i] = normalize_axis(scan.input_axes[i], x.rank(), "Scan");
    const int64_t length = x[scan.input_axes[i]];
    TY_REQUIRE(i == 0 || length == scan.length, "scanned inputs are {} and {} long", scan.length,
               length);
    scan.length = length;
  }
  for (size_t i = 0; i < outputs; ++i) {
    const int64_t rank = body_output(body, scan.states + i).shape.rank() + 1;
    scan.output_axes[i] = normalize_axis(scan.output_axes[i], rank, "Scan");
  }
  return scan;
}

// Inputs: condition, what the branches read. Outputs: the chosen branch's.
extern const OpDef kIf = {.name = "If",
                          .inputs = {1, Arity::kMany},
                          .outputs = {1, Arity::kMany},
                          .attributes = kIfAttributes,
                          .infer = infer_if,
                          .cost = cost_if};
// Inputs: most rounds and first condition (each may be absent), carried values, what the body
// reads. Outputs: carried values, then what the body gives in each round, stacked.
extern const OpDef kLoop = {.name = "Loop",
                            .inputs = {0, Arity::kMany},
                            .outputs = {1, Arity::kMany},
                            .attributes = kLoopAttributes,
                            .infer = infer_loop,
                            .cost = cost_loop};
// Inputs: states, scanned tensors, what the body reads. Outputs: states, then what the body gives
// in each round, stacked.
extern const OpDef kScan = {.name = "Scan",
                            .inputs = {1, Arity::kMany},
                            .outputs = {1, Arity::kMany},
                            .attributes = kScanAttributes,
                            .infer = infer_scan,
                            .cost = cost_scan};

}  // namespace trainyard::ops

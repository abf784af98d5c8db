#include "ops/inference.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "ops/compute_known.h"
#include "ops/control_flow.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

// Shape arithmetic works on a handful of numbers; anything larger is data and is left to the run.
constexpr int64_t kLargestKnownValue = 4096;

// Trailing optional inputs may be left out, others are kNoValue.
void check_arity(const NodeView& node, const OpDef& op) {
  const auto inputs = static_cast<int>(node.num_inputs());
  const auto outputs = static_cast<int>(node.num_outputs());
  TY_REQUIRE(op.inputs.least <= inputs && inputs <= op.inputs.most,
             "it has {} inputs, expected {} to {}", inputs, op.inputs.least, op.inputs.most);
  TY_REQUIRE(op.outputs.least <= outputs && outputs <= op.outputs.most,
             "it has {} outputs, expected {} to {}", outputs, op.outputs.least, op.outputs.most);
  for (int i = 0; i < op.inputs.least; ++i) {
    TY_REQUIRE(node.has_input(static_cast<size_t>(i)), "input {} is missing", i);
  }
  for (int i = 0; i < op.outputs.least; ++i) {
    TY_REQUIRE(node.has_output(static_cast<size_t>(i)), "output {} is missing", i);
  }
}

// An unknown attribute is an error, not ignored: it would change the meaning of the node.
void check_attributes(const NodeView& node, const OpDef& op) {
  for (const auto& [name, attribute] : node.node().attributes) {
    const auto spec =
        std::find_if(op.attributes.begin(), op.attributes.end(),
                     [&wanted = name](const AttrSpec& s) { return s.name == wanted; });
    if (spec == op.attributes.end()) {
      std::vector<std::string> names;
      for (const AttrSpec& known : op.attributes) names.emplace_back(known.name);
      throw_error("it has no attribute '{}'.{}", name, did_you_mean(name, names));
    }
    TY_REQUIRE(attr_kind(attribute) == spec->kind, "attribute '{}' is {}, expected {}", name,
               attr_kind_name(attr_kind(attribute)), attr_kind_name(spec->kind));
  }
  for (const AttrSpec& spec : op.attributes) {
    TY_REQUIRE(!spec.required || node.has_attr(spec.name), "attribute '{}' is missing", spec.name);
  }
}

bool small_and_static(const TensorType& type) {
  return type.shape.is_static() && type.shape.num_elements() <= kLargestKnownValue;
}

// Whether all inputs are known and small.
bool can_run_now(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.has_input(i)) continue;
    if (node.input_constant(i) == nullptr || !small_and_static(node.input_type(i))) return false;
  }
  return true;
}

// Of a node whose inputs are all constants.
std::vector<Tensor> run_routine(const NodeView& node, const OpDef& op) {
  std::vector<TensorView> x(node.num_inputs());
  for (size_t i = 0; i < x.size(); ++i) {
    if (node.has_input(i)) x[i] = node.input_constant(i)->view();
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    outputs.push_back(node.has_output(i) ? Tensor(node.output_type(i)) : Tensor());
  }
  std::vector<TensorView> y;
  for (const Tensor& output : outputs) y.push_back(output.view());
  // The same routine as at run time, so that a folded result cannot differ from a computed one.
  op.routine(node)(x, y);
  return outputs;
}

// The outputs, if they are known before the run; empty otherwise.
std::vector<Tensor> known_outputs(const NodeView& node, const OpDef& op) {
  if (op.routine != nullptr && can_run_now(node)) return run_routine(node, op);
  if (op.evaluate != nullptr) return op.evaluate(node);
  return {};
}

bool all_static(const std::vector<TensorType>& types) {
  return std::all_of(types.begin(), types.end(),
                     [](const TensorType& type) { return type.shape.is_static(); });
}

// Are all inputs known, so that all outputs are? Not those of bodies, which only a run tells.
bool inferred_wholly(const NodeView& node) {
  return all_inputs_constant(node) && !is_control_flow(node.op());
}

struct Inferred {
  std::vector<TensorType> types;
  std::vector<Tensor> results;  // where only they say how large they are
};

// Throws Error naming the node. Dimensions of hostile graphs are checked here, once for all
// operators.
Inferred infer(const NodeView& node) {
  const OpDef& op = op_of(node);
  try {
    check_arity(node, op);
    check_attributes(node, op);
    Inferred inferred{.types = op.infer(node), .results = {}};
    std::vector<TensorType>& types = inferred.types;
    TY_CHECK(types.size() >= node.num_outputs(), "{} inferred {} of {} outputs", op.name,
             types.size(), node.num_outputs());
    types.resize(node.num_outputs());
    // NonZero and the like: how large the output is depends on values.
    if (op.evaluate != nullptr && !all_static(types)) {
      inferred.results = op.evaluate(node);
      for (size_t i = 0; i < inferred.results.size(); ++i) types[i] = inferred.results[i].type();
    }
    // Where everything is known, -1 is not an unknown dimension but a number that data brought.
    const int64_t least = inferred_wholly(node) ? 0 : Shape::kUnknown;
    for (const TensorType& type : types) {
      for (const int64_t d : type.shape.dims()) {
        TY_REQUIRE(d >= least, "its output would have shape {}", type.shape.to_string());
      }
      (void)type.num_bytes();  // refuses what overflows
    }
    return inferred;
  } catch (const Error& problem) {
    throw_error("node '{}' ({}): {}", node.name(), node.op(), problem.what());
  }
}

}  // namespace

std::vector<TensorType> infer_types(const Graph& graph, NodeId id) {
  return infer({graph, id}).types;
}

void infer_node(Graph& graph, NodeId id) {
  const NodeView node(graph, id);
  auto [types, known] = infer(node);
  bool wanted = true;
  for (size_t i = 0; i < types.size(); ++i) {
    wanted = wanted && small_and_static(types[i]);
    if (!node.has_output(i)) continue;
    Value& output = graph.mutable_value(node.output(i));
    output.type = std::move(types[i]);
    // An older constant may be that of other inputs.
    output.constant = nullptr;
  }
  try {
    if (wanted && known.empty()) known = known_outputs(node, op_of(node));
    for (size_t i = 0; i < known.size(); ++i) {
      if (!node.has_output(i)) continue;
      graph.mutable_value(node.output(i)).constant =
          std::make_shared<const Tensor>(std::move(known[i]));
    }
  } catch (const Error& problem) {
    throw_error("node '{}' ({}): {}", node.name(), node.op(), problem.what());
  }
}

std::vector<Tensor> compute_known(const NodeView& node) {
  const OpDef& op = op_of(node);
  if (op.routine == nullptr || !all_inputs_constant(node)) return {};
  return run_routine(node, op);
}

// All problems, not the first only; the graph is not changed.
std::vector<std::string> verify_graph(const Graph& graph) {
  std::vector<std::string> findings;
  std::vector<bool> made(graph.value_limit(), false);
  for (const ValueId id : graph.inputs()) made[static_cast<size_t>(id.index)] = true;
  for (const ValueId id : graph.initializers()) made[static_cast<size_t>(id.index)] = true;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    for (const ValueId input : node.node().inputs) {
      if (!input.valid() || made[static_cast<size_t>(input.index)]) continue;
      findings.push_back(fmt::format("node '{}' ({}): input '{}' is used before it is made",
                                     node.name(), node.op(), graph.value(input).name));
    }
    try {
      const std::vector<TensorType> types = infer_types(graph, id);
      for (size_t i = 0; i < types.size(); ++i) {
        if (!node.has_output(i) || node.output_type(i) == types[i]) continue;
        findings.push_back(fmt::format("node '{}' ({}): output {} is declared {} but computes {}",
                                       node.name(), node.op(), i, node.output_type(i).to_string(),
                                       types[i].to_string()));
      }
    } catch (const Error& problem) {
      findings.emplace_back(problem.what());
    }
    // Whatever is wrong with a node, its outputs count as made, so that it is reported once.
    for (const ValueId output : node.node().outputs) {
      if (output.valid()) made[static_cast<size_t>(output.index)] = true;
    }
  }
  if (graph.outputs().empty()) findings.emplace_back("the graph has no outputs");
  for (const ValueId id : graph.outputs()) {
    if (!made[static_cast<size_t>(id.index)]) {
      findings.push_back(fmt::format("output '{}' is made by no node", graph.value(id).name));
    }
  }
  return findings;
}

}  // namespace trainyard::ops

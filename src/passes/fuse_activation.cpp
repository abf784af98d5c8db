// fuse_activation: an activation of the result of a convolution, matrix product or scaling is
// applied by that operator itself.
#include <array>

#include "ops/math/activation.h"
#include "passes/edit.h"
#include "passes/pass.h"

namespace trainyard::passes {
namespace {

struct Row {
  std::string_view op;
  std::string_view fused;
};
constexpr std::array<Row, 5> kRows = {{{"Conv", "FusedConv"},
                                       {"FusedConv", "FusedConv"},
                                       {"Gemm", "FusedGemm"},
                                       {"FusedGemm", "FusedGemm"},
                                       {"ScaleShift", "ScaleShift"}}};

// What fast kernels can do on the way out.
constexpr std::array<std::string_view, 11> kActivations = {
    "Clip", "Elu",     "Gelu",     "HardSigmoid", "HardSwish", "LeakyRelu",
    "Relu", "Sigmoid", "Softplus", "Swish",       "Tanh"};

bool can_fuse(std::string_view activation) {
  for (const std::string_view known : kActivations) {
    if (known == activation) return true;
  }
  return false;
}

// Scaling does only what costs it nothing; the others have fast kernels of their own.
bool has_cheap_form(std::string_view activation) {
  return activation != "Gelu" && activation != "HardSigmoid" && activation != "Swish";
}

}  // namespace

bool fuse_activation(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (node.num_inputs() == 0 || !can_fuse(node.op())) continue;
    if (node.input_type(0).dtype != DType::kF32) continue;
    const ops::ActivationSpec activation = ops::activation_from(node);
    if (activation.op.empty()) continue;
    const ValueId x = node.input(0);
    const NodeId producer = sole_producer(graph, x);
    if (!producer.valid()) continue;
    for (const Row& row : kRows) {
      Node& made_by = graph.mutable_node(producer);
      if (made_by.op != row.op || made_by.attributes.contains("activation")) continue;
      if (row.op == "ScaleShift" && !has_cheap_form(activation.op)) continue;
      made_by.op = row.fused;
      made_by.attributes["activation"] = activation.op;
      made_by.attributes["activation_alpha"] = activation.alpha;
      made_by.attributes["activation_beta"] = activation.beta;
      bypass(graph, id, x);
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace trainyard::passes

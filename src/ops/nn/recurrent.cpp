// RNN, GRU and LSTM: a sequence read step by step, each step from the input and the state before.
#include "ops/nn/recurrent.h"

#include "base/checked.h"
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/nn/recurrent_activation.h"
#include "ops/nn/recurrent_gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kRnnAttributes[] = {{"activation_alpha", AttrKind::kFloats},
                                       {"activation_beta", AttrKind::kFloats},
                                       {"activations", AttrKind::kTexts},
                                       {"clip", AttrKind::kFloat},
                                       {"direction", AttrKind::kText},
                                       {"hidden_size", AttrKind::kInt},
                                       {"layout", AttrKind::kInt}};
constexpr AttrSpec kGruAttributes[] = {{"activation_alpha", AttrKind::kFloats},
                                       {"activation_beta", AttrKind::kFloats},
                                       {"activations", AttrKind::kTexts},
                                       {"clip", AttrKind::kFloat},
                                       {"direction", AttrKind::kText},
                                       {"hidden_size", AttrKind::kInt},
                                       {"layout", AttrKind::kInt},
                                       {"linear_before_reset", AttrKind::kInt}};
constexpr AttrSpec kLstmAttributes[] = {
    {"activation_alpha", AttrKind::kFloats}, {"activation_beta", AttrKind::kFloats},
    {"activations", AttrKind::kTexts},       {"clip", AttrKind::kFloat},
    {"direction", AttrKind::kText},          {"hidden_size", AttrKind::kInt},
    {"input_forget", AttrKind::kInt},        {"layout", AttrKind::kInt}};
// X, W, R, B, sequence_lens, initial_h, initial_c, P
constexpr ParamRole kRecurrentRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kWeight,
                                         ParamRole::kBias, ParamRole::kNone,   ParamRole::kNone,
                                         ParamRole::kNone, ParamRole::kWeight};
constexpr size_t kBias = 3;
constexpr size_t kSequenceLengths = 4;
constexpr size_t kInitialHidden = 5;
constexpr size_t kInitialCell = 6;
constexpr size_t kPeepholes = 7;

int64_t gates_of(std::string_view op) {
  if (op == "LSTM") return 4;
  return op == "GRU" ? 3 : 1;
}

int64_t directions_of(const NodeView& node) {
  const std::string direction = node.attr_text("direction", "forward");
  TY_REQUIRE(direction == "forward" || direction == "reverse" || direction == "bidirectional",
             "direction '{}' is not one of forward, reverse, bidirectional", direction);
  return direction == "bidirectional" ? 2 : 1;
}

void require_shape(const NodeView& node, size_t input, const Shape& expected) {
  if (!node.has_input(input)) return;
  const Shape& found = node.input_shape(input);
  bool fits = found.rank() == expected.rank();
  for (int64_t i = 0; fits && i < expected.rank(); ++i) fits = same_dim(found[i], expected[i]);
  TY_REQUIRE(fits, "input {} has shape {}, expected {}", input, found.to_string(),
             expected.to_string());
}

// Batch and directions change places with the layout.
Shape state_shape(const RecurrentSizes& s) {
  if (s.batch_first) return {s.batch, s.directions, s.hidden};
  return {s.directions, s.batch, s.hidden};
}

std::vector<TensorType> infer_recurrent(const NodeView& node) {
  const RecurrentSizes s = recurrent_sizes(node);
  require_floats(node, {1, 2, kBias, kInitialHidden, kInitialCell, kPeepholes});
  (void)recurrent_activations(node, s.directions);  // refuses what is not known
  const DType dtype = node.input_type(0).dtype;
  const Shape y = s.batch_first ? Shape{s.batch, s.sequence, s.directions, s.hidden}
                                : Shape{s.sequence, s.directions, s.batch, s.hidden};
  return {{dtype, y}, {dtype, state_shape(s)}, {dtype, state_shape(s)}};
}

// One MAC per weight, step and sequence. Each gate also takes four FLOPs an element: two biases, an
// activation and its part in the new state.
Cost cost_recurrent(const NodeView& node) {
  const RecurrentSizes s = recurrent_sizes(node);
  const int64_t gate_elements =
      checked_product({s.sequence, s.batch, s.directions, s.gates, s.hidden});
  Cost cost = traffic(node);
  cost.macs = checked_product({gate_elements, s.input + s.hidden});
  cost.flops = 2 * cost.macs + 4 * gate_elements;
  return cost;
}

}  // namespace

RecurrentSizes recurrent_sizes(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const Shape& r = node.input_shape(2);
  TY_REQUIRE(x.rank() == 3, "input has shape {}, expected three dimensions", x.to_string());
  TY_REQUIRE(r.rank() == 3, "input 2 has shape {}, expected three dimensions", r.to_string());
  RecurrentSizes s;
  s.gates = gates_of(node.op());
  s.directions = directions_of(node);
  s.batch_first = node.attr_int("layout", 0) != 0;
  s.sequence = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = r[2];
  TY_REQUIRE(node.attr_int("hidden_size", s.hidden) == s.hidden,
             "hidden_size is {} but the weights of shape {} have {}",
             node.attr_int("hidden_size", s.hidden), r.to_string(), s.hidden);
  const int64_t rows = s.gates * s.hidden;
  require_shape(node, 1, {s.directions, rows, s.input});
  require_shape(node, 2, {s.directions, rows, s.hidden});
  require_shape(node, kBias, {s.directions, 2 * rows});
  require_shape(node, kSequenceLengths, {s.batch});
  require_shape(node, kInitialHidden, state_shape(s));
  require_shape(node, kInitialCell, state_shape(s));
  require_shape(node, kPeepholes, {s.directions, 3 * s.hidden});
  TY_REQUIRE(
      !node.has_input(kSequenceLengths) || node.input_type(kSequenceLengths).dtype == DType::kI32,
      "sequence lengths are {}, expected i32", dtype_name(node.input_type(kSequenceLengths).dtype));
  return s;
}

extern const OpDef kRNN = {.name = "RNN",
                           .kind = OpKind::kLinear,
                           .inputs = {3, 6},
                           .outputs = {0, 2},
                           .attributes = kRnnAttributes,
                           .roles = kRecurrentRoles,
                           .infer = infer_recurrent,
                           .cost = cost_recurrent,
                           .gradient = gradient_recurrent};
extern const OpDef kGRU = {.name = "GRU",
                           .kind = OpKind::kLinear,
                           .inputs = {3, 6},
                           .outputs = {0, 2},
                           .attributes = kGruAttributes,
                           .roles = kRecurrentRoles,
                           .infer = infer_recurrent,
                           .cost = cost_recurrent,
                           .gradient = gradient_recurrent};
extern const OpDef kLSTM = {.name = "LSTM",
                            .kind = OpKind::kLinear,
                            .inputs = {3, 8},
                            .outputs = {0, 3},
                            .attributes = kLstmAttributes,
                            .roles = kRecurrentRoles,
                            .infer = infer_recurrent,
                            .cost = cost_recurrent,
                            .gradient = gradient_recurrent};

}  // namespace trainyard::ops

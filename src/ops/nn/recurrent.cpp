// RNN, GRU and LSTM: a sequence read step by step, each step from the input and the state before.
#include "ops/nn/recurrent.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/nn/recurrent_activation.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

// The gradient rule that RNN, GRU and LSTM share.
using Values = std::vector<ValueId>;

// Every step is some forty nodes.
constexpr int64_t kMostSteps = 1024;

void require_plain(const NodeView& node, const RecurrentSizes& sizes) {
  for (const char* attribute : {"activations", "clip", "input_forget"}) {
    TY_REQUIRE(!node.has_attr(attribute), "attribute '{}' has no gradient rule", attribute);
  }
  TY_REQUIRE(!node.has_input(4), "sequences of different length have no gradient rule");
  TY_REQUIRE(!node.has_input(7), "peepholes have no gradient rule");
  TY_REQUIRE(sizes.sequence <= kMostSteps, "{} steps are more than the {} of its gradient rule",
             sizes.sequence, kMostSteps);
}

// One direction. Steps are counted in the order in which they are taken.
class DirectionGradient {
 public:
  DirectionGradient(GradContext& grad, const RecurrentSizes& sizes, int64_t direction,
                    bool backwards)
      : grad_(grad), s_(sizes), direction_(direction), backwards_(backwards) {}

  // x: all steps, T x N x I.
  void run(ValueId x);

  ValueId dx = kNoValue, dw = kNoValue, dr = kNoValue, db = kNoValue;
  ValueId dh = kNoValue, dc = kNoValue;  // of the first states, N x H

 private:
  struct Step {
    ValueId h_before, c_before;
    Values gates;                   // after their activations, in ONNX's order
    ValueId c_shown = kNoValue;     // LSTM: tanh of the cell
    ValueId from_state = kNoValue;  // GRU: the state's part in the candidate; r * h before reset
  };

  ValueId add(std::string_view op, Values inputs, Attributes attributes = {}) {
    return grad_.add(op, std::move(inputs), std::move(attributes));
  }
  ValueId mul(ValueId a, ValueId b) { return add("Mul", {a, b}); }
  ValueId plus(ValueId a, ValueId b) { return a.valid() ? add("Add", {a, b}) : b; }
  ValueId from_one(ValueId a) { return add("Sub", {grad_.scalar(1), a}); }
  ValueId times_transposed(ValueId a, ValueId b) {
    return add("Gemm", {a, b}, {{"transB", int64_t{1}}});
  }
  ValueId transposed_times(ValueId a, ValueId b) {
    return add("Gemm", {a, b}, {{"transA", int64_t{1}}});
  }
  ValueId concat(Values parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : add("Concat", std::move(parts), {{"axis", axis}});
  }
  Values split(ValueId x, int64_t parts, int64_t axis) {
    if (parts == 1) return {x};
    const int64_t size = grad_.builder().shape(x)[axis] / parts;
    const std::vector<int64_t> sizes(static_cast<size_t>(parts), size);
    return grad_.builder().add_multi("Split", {x, grad_.ints(sizes)}, sizes.size(),
                                     {{"axis", axis}});
  }
  // This direction of an operand, whose shape begins with the directions.
  ValueId own(size_t input, const Shape& shape) {
    const ValueId all = grad_.x(input);
    return grad_.reshape(split(all, s_.directions, 0)[static_cast<size_t>(direction_)], shape);
  }
  // The states of this direction (input or gradient), N x H.
  ValueId own_state(ValueId states) {
    const Values parts = split(states, s_.directions, s_.batch_first ? 1 : 0);
    return grad_.reshape(parts[static_cast<size_t>(direction_)], {s_.batch, s_.hidden});
  }
  ValueId first_state(size_t input) {
    if (grad_.node().has_input(input)) return own_state(grad_.x(input));
    return grad_.zeros({s_.batch, s_.hidden});
  }
  Values in_order(Values steps) {
    if (backwards_) std::reverse(steps.begin(), steps.end());
    return steps;
  }
  Values output_gradients();

  Step forward(ValueId projected, ValueId h, ValueId c, ValueId& h_new, ValueId& c_new);
  // Gradients before the activations: of the input's part and of the state's part.
  std::pair<ValueId, ValueId> backward(const Step& step);
  std::pair<ValueId, ValueId> backward_gru(const Step& step);
  ValueId gate_slope(ValueId d, ValueId gate) { return mul(d, mul(gate, from_one(gate))); }
  ValueId tanh_slope(ValueId d, ValueId y) { return mul(d, from_one(mul(y, y))); }
  void finish(ValueId x_rows, const std::vector<Step>& steps, Values from_input, Values from_state);

  GradContext& grad_;
  const RecurrentSizes& s_;
  int64_t direction_;
  bool backwards_;
  ValueId w_, r_, state_bias_ = kNoValue;
  Values r_gates_;
  bool resets_late_ = false;
};

Values DirectionGradient::output_gradients() {
  if (!grad_.dy(0).valid()) return {};
  // T x D x N x H
  ValueId dy = grad_.dy(0);
  if (s_.batch_first) {
    dy = add("Transpose", {dy}, {{"perm", std::vector<int64_t>{1, 2, 0, 3}}});
  }
  dy = split(dy, s_.directions, 1)[static_cast<size_t>(direction_)];
  dy = grad_.reshape(dy, {s_.sequence * s_.batch, s_.hidden});
  return in_order(split(dy, s_.sequence, 0));
}

DirectionGradient::Step DirectionGradient::forward(ValueId projected, ValueId h, ValueId c,
                                                   ValueId& h_new, ValueId& c_new) {
  Step step{h, c, {}};
  ValueId state = times_transposed(h, r_);
  if (state_bias_.valid()) state = add("Add", {state, state_bias_});
  if (s_.gates == 1) {
    h_new = add("Tanh", {add("Add", {projected, state})});
    step.gates = {h_new};
  } else if (s_.gates == 4) {
    Values sums = split(add("Add", {projected, state}), 4, 1);
    for (size_t g = 0; g < 4; ++g) {
      step.gates.push_back(add(g == 3 ? "Tanh" : "Sigmoid", {sums[g]}));
    }
    c_new = add("Add", {mul(step.gates[2], c), mul(step.gates[0], step.gates[3])});
    step.c_shown = add("Tanh", {c_new});
    h_new = mul(step.gates[1], step.c_shown);
  } else {
    const Values inputs = split(projected, 3, 1);
    const Values states = split(state, 3, 1);
    const ValueId z = add("Sigmoid", {add("Add", {inputs[0], states[0]})});
    const ValueId r = add("Sigmoid", {add("Add", {inputs[1], states[1]})});
    step.from_state = resets_late_ ? states[2] : mul(r, h);
    ValueId recurrent = kNoValue;
    if (resets_late_) {
      recurrent = mul(r, step.from_state);
    } else {
      recurrent = times_transposed(step.from_state, r_gates_[2]);
      if (state_bias_.valid()) recurrent = add("Add", {recurrent, split(state_bias_, 3, 0)[2]});
    }
    const ValueId n = add("Tanh", {add("Add", {inputs[2], recurrent})});
    step.gates = {z, r, n};
    h_new = add("Add", {mul(from_one(z), n), mul(z, h)});
  }
  return step;
}

std::pair<ValueId, ValueId> DirectionGradient::backward_gru(const Step& step) {
  const ValueId z = step.gates[0];
  const ValueId r = step.gates[1];
  const ValueId n = step.gates[2];
  const ValueId dz = gate_slope(mul(dh, add("Sub", {step.h_before, n})), z);
  const ValueId dn = tanh_slope(mul(dh, from_one(z)), n);
  ValueId before = mul(dh, z);
  ValueId dr_sum = kNoValue;
  ValueId dn_state = dn;
  if (resets_late_) {
    dr_sum = mul(dn, step.from_state);
    dn_state = mul(dn, r);
    before = plus(before, add("MatMul", {dn_state, r_gates_[2]}));
  } else {
    const ValueId back = add("MatMul", {dn, r_gates_[2]});
    dr_sum = mul(back, step.h_before);
    before = plus(before, mul(back, r));
  }
  const ValueId dr_gate = gate_slope(dr_sum, r);
  before = plus(before, add("MatMul", {dz, r_gates_[0]}));
  dh = plus(before, add("MatMul", {dr_gate, r_gates_[1]}));
  return {concat({dz, dr_gate, dn}, 1), concat({dz, dr_gate, dn_state}, 1)};
}

std::pair<ValueId, ValueId> DirectionGradient::backward(const Step& step) {
  if (s_.gates == 3) return backward_gru(step);
  ValueId sums = kNoValue;
  if (s_.gates == 1) {
    sums = tanh_slope(dh, step.gates[0]);
  } else {
    const ValueId i = step.gates[0];
    const ValueId o = step.gates[1];
    const ValueId f = step.gates[2];
    const ValueId g = step.gates[3];
    dc = plus(dc, tanh_slope(mul(dh, o), step.c_shown));
    sums = concat({gate_slope(mul(dc, g), i), gate_slope(mul(dh, step.c_shown), o),
                   gate_slope(mul(dc, step.c_before), f), tanh_slope(mul(dc, i), g)},
                  1);
    dc = mul(dc, f);
  }
  dh = add("MatMul", {sums, r_});
  return {sums, sums};
}

void DirectionGradient::finish(ValueId x_rows, const std::vector<Step>& steps, Values from_input,
                               Values from_state) {
  Values states;
  Values reset;
  for (const Step& step : steps) {
    states.push_back(step.h_before);
    reset.push_back(step.from_state);
  }
  std::reverse(from_state.begin(), from_state.end());
  const ValueId d_state = concat(std::move(from_state), 0);
  const ValueId rows = concat(std::move(states), 0);
  if (s_.gates == 3 && !resets_late_) {
    const Values parts = split(d_state, 3, 1);
    const ValueId gated = concat(std::move(reset), 0);
    dr = concat({transposed_times(parts[0], rows), transposed_times(parts[1], rows),
                 transposed_times(parts[2], gated)},
                0);
  } else {
    dr = transposed_times(d_state, rows);
  }
  // Back to the order of time.
  if (!backwards_) std::reverse(from_input.begin(), from_input.end());
  const ValueId d_input = concat(std::move(from_input), 0);
  dw = transposed_times(d_input, x_rows);
  dx = grad_.reshape(add("MatMul", {d_input, w_}), {s_.sequence, s_.batch, s_.input});
  const auto sum = [&](ValueId d) { return grad_.sum_to(d, {s_.gates * s_.hidden}); };
  db = concat({sum(d_input), sum(d_state)}, 0);
}

void DirectionGradient::run(ValueId x) {
  const int64_t rows = s_.gates * s_.hidden;
  w_ = own(1, {rows, s_.input});
  r_ = own(2, {rows, s_.hidden});
  r_gates_ = split(r_, s_.gates, 0);
  resets_late_ = grad_.node().attr_int("linear_before_reset", 0) != 0;
  const ValueId x_rows = grad_.reshape(x, {s_.sequence * s_.batch, s_.input});
  ValueId projected = times_transposed(x_rows, w_);
  if (grad_.node().has_input(3)) {
    const Values biases = split(own(3, {2 * rows}), 2, 0);
    projected = add("Add", {projected, biases[0]});
    state_bias_ = biases[1];
  }
  const Values inputs = in_order(split(projected, s_.sequence, 0));
  ValueId h = first_state(5);
  ValueId c = s_.gates == 4 ? first_state(6) : kNoValue;
  std::vector<Step> steps;
  for (const ValueId input : inputs) {
    ValueId h_new = kNoValue;
    ValueId c_new = kNoValue;
    steps.push_back(forward(input, h, c, h_new, c_new));
    h = h_new;
    c = c_new;
  }
  const Values dy = output_gradients();
  const auto wanted = [&](size_t i) {
    return grad_.node().num_outputs() > i && grad_.dy(i).valid();
  };
  dh = wanted(1) ? own_state(grad_.dy(1)) : kNoValue;
  dc = wanted(2) ? own_state(grad_.dy(2)) : kNoValue;
  Values from_input;
  Values from_state;
  for (size_t i = steps.size(); i-- > 0;) {
    if (!dy.empty()) dh = plus(dh, dy[i]);
    if (!dh.valid()) dh = grad_.zeros({s_.batch, s_.hidden});
    const auto [input, state] = backward(steps[i]);
    from_input.push_back(input);
    from_state.push_back(state);
  }
  finish(x_rows, steps, std::move(from_input), std::move(from_state));
}

// Throws Error for other activations than the usual ones, clipping, lengths, peepholes and coupled
// gates.
std::vector<ValueId> gradient_recurrent(GradContext& grad) {
  const RecurrentSizes s = recurrent_sizes(grad.node());
  require_plain(grad.node(), s);
  const std::vector<int64_t> exchange = {1, 0, 2};
  const auto turned = [&](ValueId x) {
    return s.batch_first ? grad.add("Transpose", {x}, {{"perm", exchange}}) : x;
  };
  const bool reversed = grad.node().attr_text("direction", "forward") == "reverse";
  const ValueId x = turned(grad.x(0));
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  Values parts[5];  // dw, dr, db, dh, dc by direction
  for (int64_t d = 0; d < s.directions; ++d) {
    DirectionGradient one(grad, s, d, reversed || d == 1);
    one.run(x);
    dx[0] = dx[0].valid() ? grad.add("Add", {dx[0], one.dx}) : one.dx;
    const ValueId made[] = {one.dw, one.dr, one.db, one.dh, one.dc};
    for (size_t i = 0; i < std::size(made); ++i) parts[i].push_back(made[i]);
  }
  dx[0] = turned(dx[0]);
  const auto join = [&](size_t input, const Values& by_direction, int64_t axis) {
    if (!grad.wants(input) || !grad.node().has_input(input)) return;
    Values unsqueezed;
    for (const ValueId part : by_direction) {
      unsqueezed.push_back(grad.add("Unsqueeze", {part, grad.ints(std::vector<int64_t>{axis})}));
    }
    dx[input] = unsqueezed.size() == 1
                    ? unsqueezed[0]
                    : grad.add("Concat", std::move(unsqueezed), {{"axis", axis}});
  };
  for (size_t i = 0; i < 3; ++i) join(1 + i, parts[i], 0);
  join(5, parts[3], s.batch_first ? 1 : 0);
  if (s.gates == 4) join(6, parts[4], s.batch_first ? 1 : 0);
  return dx;
}

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

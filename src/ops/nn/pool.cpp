// Pooling: MaxPool, AveragePool and LpPool over windows, their Global forms over everything.
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kPoolMaxAttributes[] = {
    {"auto_pad", AttrKind::kText},  {"ceil_mode", AttrKind::kInt},
    {"dilations", AttrKind::kInts}, {"kernel_shape", AttrKind::kInts, true},
    {"pads", AttrKind::kInts},      {"storage_order", AttrKind::kInt},
    {"strides", AttrKind::kInts}};
constexpr AttrSpec kPoolAverageAttributes[] = {{"auto_pad", AttrKind::kText},
                                               {"ceil_mode", AttrKind::kInt},
                                               {"count_include_pad", AttrKind::kInt},
                                               {"dilations", AttrKind::kInts},
                                               {"kernel_shape", AttrKind::kInts, true},
                                               {"pads", AttrKind::kInts},
                                               {"strides", AttrKind::kInts}};
constexpr AttrSpec kLpAttributes[] = {
    {"auto_pad", AttrKind::kText},  {"ceil_mode", AttrKind::kInt},
    {"dilations", AttrKind::kInts}, {"kernel_shape", AttrKind::kInts, true},
    {"p", AttrKind::kInt},          {"pads", AttrKind::kInts},
    {"strides", AttrKind::kInts}};
constexpr AttrSpec kGlobalLpAttributes[] = {{"p", AttrKind::kInt}};

Window pool_window(const NodeView& node) {
  return resolve_window(node, node.input_shape(0), node.attr_ints("kernel_shape", {}));
}

Window global_window(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  Window window;
  for (int64_t i = 2; i < x.rank(); ++i) window.kernel.push_back(x[i]);
  const size_t rank = window.kernel.size();
  window.strides.assign(rank, 1);
  window.dilations.assign(rank, 1);
  window.pads_begin.assign(rank, 0);
  window.pads_end.assign(rank, 0);
  window.output.assign(rank, 1);
  return window;
}

void require_spatial(const NodeView& node) {
  TY_REQUIRE(node.input_shape(0).rank() >= 3, "input has shape {}, expected N x C x spatial",
             node.input_shape(0).to_string());
}

std::vector<TensorType> infer_pool(const NodeView& node) {
  require_spatial(node);
  const TensorType& x = node.input_type(0);
  const Shape y = window_output_shape(x.shape[0], x.shape[1], pool_window(node));
  // The second output of MaxPool holds the flat position of each maximum.
  return {{x.dtype, y}, {DType::kI64, y}};
}

void require_norm(const NodeView& node) {
  TY_REQUIRE(node.attr_int("p", 2) >= 1, "p is {}, expected 1 or more", node.attr_int("p", 2));
}

std::vector<TensorType> infer_lp(const NodeView& node) {
  require_norm(node);
  return infer_pool(node);
}

std::vector<TensorType> infer_global(const NodeView& node) {
  require_spatial(node);
  const TensorType& x = node.input_type(0);
  return {{x.dtype, window_output_shape(x.shape[0], x.shape[1], global_window(node))}};
}

std::vector<TensorType> infer_global_lp(const NodeView& node) {
  require_norm(node);
  return infer_global(node);
}

// One comparison or addition per window element.
Cost cost_pool(const NodeView& node) {
  return elementwise_cost(node, pool_window(node).kernel_elements());
}

// A power and an addition per window element, then a root.
Cost cost_lp(const NodeView& node) {
  return elementwise_cost(node, 2 * pool_window(node).kernel_elements() + 1);
}

// One comparison or addition per input element.
Cost cost_global(const NodeView& node) {
  Cost cost = traffic(node);
  cost.flops = node.input_shape(0).num_elements();
  return cost;
}

// A power and an addition per input element, then a root per output element.
Cost cost_global_lp(const NodeView& node) {
  Cost cost = traffic(node);
  cost.flops = 2 * node.input_shape(0).num_elements() + node.output_shape(0).num_elements();
  return cost;
}

std::optional<Window> window_pool(const NodeView& node) {
  return pool_window(node);
}
std::optional<Window> window_global(const NodeView& node) {
  return global_window(node);
}

std::vector<ValueId> gradient_max(GradContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.erase("storage_order");
  return {grad.add("MaxPoolGrad", {grad.x(0), grad.dy()}, std::move(attributes))};
}

std::vector<ValueId> gradient_average(GradContext& grad) {
  Attributes attributes = grad.attributes();
  attributes["input_shape"] = grad.x_shape(0).vector();
  return {grad.add("AveragePoolGrad", {grad.dy()}, std::move(attributes))};
}

// A global pooling is one whose window is everything.
Attributes global_attributes(GradContext& grad) {
  return {{"kernel_shape", global_window(grad.node()).kernel}};
}

std::vector<ValueId> gradient_global_max(GradContext& grad) {
  return {grad.add("MaxPoolGrad", {grad.x(0), grad.dy()}, global_attributes(grad))};
}

std::vector<ValueId> gradient_global_average(GradContext& grad) {
  Attributes attributes = global_attributes(grad);
  attributes["input_shape"] = grad.x_shape(0).vector();
  return {grad.add("AveragePoolGrad", {grad.dy()}, std::move(attributes))};
}

// y = (sum of |x|^p)^(1/p): dx = sign(x) * |x|^(p - 1) * spread(dy * y^(1 - p)).
ValueId lp_share(GradContext& grad, double p) {
  return grad.add("Mul", {grad.dy(), grad.add("Pow", {grad.y(), grad.scalar(1 - p)})});
}
ValueId lp_slope(GradContext& grad, double p) {
  const ValueId size = grad.add("Pow", {grad.add("Abs", {grad.x(0)}), grad.scalar(p - 1)});
  return grad.add("Mul", {size, grad.add("Sign", {grad.x(0)})});
}

// Spreading is what the gradient of an average over whole windows does, times their size.
std::vector<ValueId> gradient_lp(GradContext& grad) {
  const auto p = static_cast<double>(grad.node().attr_int("p", 2));
  Attributes attributes = grad.attributes();
  attributes.erase("p");
  attributes["count_include_pad"] = int64_t{1};
  attributes["input_shape"] = grad.x_shape(0).vector();
  const auto size = static_cast<double>(pool_window(grad.node()).kernel_elements());
  const ValueId share = grad.add("Mul", {lp_share(grad, p), grad.scalar(size)});
  const ValueId spread = grad.add("AveragePoolGrad", {share}, std::move(attributes));
  return {grad.add("Mul", {spread, lp_slope(grad, p)})};
}

std::vector<ValueId> gradient_global_lp(GradContext& grad) {
  const auto p = static_cast<double>(grad.node().attr_int("p", 2));
  return {grad.add("Mul", {lp_slope(grad, p), lp_share(grad, p)})};
}

constexpr OpDef global_pool(std::string_view name, std::vector<ValueId> (*gradient)(GradContext&),
                            SavedTensors saves, Movement (*movement)(const NodeView&),
                            Int8Form int8) {
  return {.name = name,
          .kind = OpKind::kPooling,
          .infer = infer_global,
          .cost = cost_global,
          .window = window_global,
          .reach = whole_input,
          .gradient = gradient,
          .saves = saves,
          .movement = movement,
          .int8 = int8};
}

}  // namespace

extern const OpDef kMaxPool = {.name = "MaxPool",
                               .kind = OpKind::kPooling,
                               .outputs = {1, 2},
                               .attributes = kPoolMaxAttributes,
                               .infer = infer_pool,
                               .cost = cost_pool,
                               .window = window_pool,
                               .gradient = gradient_max,
                               .saves = SavedTensors::kInput,
                               .movement = always_moved,
                               .int8 = Int8Form::kMove};
extern const OpDef kAveragePool = {.name = "AveragePool",
                                   .kind = OpKind::kPooling,
                                   .attributes = kPoolAverageAttributes,
                                   .infer = infer_pool,
                                   .cost = cost_pool,
                                   .window = window_pool,
                                   .gradient = gradient_average,
                                   .saves = SavedTensors::kNothing,
                                   .int8 = Int8Form::kJoin};
extern const OpDef kLpPool = {.name = "LpPool",
                              .kind = OpKind::kPooling,
                              .attributes = kLpAttributes,
                              .infer = infer_lp,
                              .cost = cost_lp,
                              .window = window_pool,
                              .gradient = gradient_lp};
extern const OpDef kGlobalLpPool = {.name = "GlobalLpPool",
                                    .kind = OpKind::kPooling,
                                    .attributes = kGlobalLpAttributes,
                                    .infer = infer_global_lp,
                                    .cost = cost_global_lp,
                                    .window = window_global,
                                    .reach = whole_input,
                                    .gradient = gradient_global_lp};
extern const OpDef kGlobalMaxPool = global_pool(
    "GlobalMaxPool", gradient_global_max, SavedTensors::kInput, always_moved, Int8Form::kNone);
extern const OpDef kGlobalAveragePool = global_pool(
    "GlobalAveragePool", gradient_global_average, SavedTensors::kNothing, nullptr, Int8Form::kJoin);

}  // namespace trainyard::ops

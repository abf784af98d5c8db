// fuse_layer_norm: x - mean(x) over the root of its mean square, as files below opset 17 write it,
// becomes LayerNormalization; x over the root of its mean square becomes RMSNormalization. The
// factor and the summand for each column after it go into it.
#include <algorithm>

#include "ops/math/reduce.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

namespace trainyard::passes {
namespace {

struct Norm {
  ValueId x;
  ValueId scaled;    // what is divided by the root: x, or x less its mean
  int64_t axis = 0;  // the first of the normalized dimensions
  double epsilon = 0;
  bool centered = false;
};

// What `id` is the mean of, over all dimensions from `axis` on, which it keeps as ones.
struct Mean {
  ValueId of;
  int64_t axis = 0;
};
std::optional<Mean> mean_behind(const Graph& graph, ValueId id) {
  const NodeId producer = made_by(graph, id, "ReduceMean");
  if (!producer.valid()) return std::nullopt;
  const NodeView node(graph, producer);
  const auto reduced = ops::reduced_axes(node);
  if (!reduced || node.attr_int("keepdims", 1) == 0) return std::nullopt;
  const auto first = std::find(reduced->begin(), reduced->end(), true);
  if (first == reduced->end() || std::find(first, reduced->end(), false) != reduced->end()) {
    return std::nullopt;
  }
  return Mean{node.input(0), first - reduced->begin()};
}

// What `id` is the square of; kNoValue if it is none.
ValueId square_behind(const Graph& graph, ValueId id) {
  if (const NodeId power = made_by(graph, id, "Pow"); power.valid()) {
    const NodeView node(graph, power);
    return is_number(graph, node.input(1), 2) ? node.input(0) : kNoValue;
  }
  const NodeId product = made_by(graph, id, "Mul");
  if (!product.valid()) return kNoValue;
  const Node& node = graph.node(product);
  return node.inputs[0] == node.inputs[1] ? node.inputs[0] : kNoValue;
}

// x of x - mean(x), over the dimensions from `axis` on; kNoValue if `id` is another thing.
ValueId centered_behind(const Graph& graph, ValueId id, int64_t axis) {
  const NodeId difference = made_by(graph, id, "Sub");
  if (!difference.valid()) return kNoValue;
  const Node& node = graph.node(difference);
  const auto mean = mean_behind(graph, node.inputs[1]);
  return mean && mean->of == node.inputs[0] && mean->axis == axis ? mean->of : kNoValue;
}

// What the root of `id` would divide.
std::optional<Norm> norm_behind(const Graph& graph, ValueId id) {
  const NodeId sum = made_by(graph, id, "Add");
  if (!sum.valid()) return std::nullopt;
  const NodeView node(graph, sum);
  for (size_t i = 0; i < 2; ++i) {
    const auto epsilon = number_of(graph, node.input(i));
    const auto mean = mean_behind(graph, node.input(1 - i));
    if (!epsilon || !mean || *epsilon < 0) continue;
    const ValueId squared = square_behind(graph, mean->of);
    if (!squared.valid() || graph.value(squared).type.dtype != DType::kF32) continue;
    const ValueId x = centered_behind(graph, squared, mean->axis);
    return Norm{.x = x.valid() ? x : squared,
                .scaled = squared,
                .axis = mean->axis,
                .epsilon = *epsilon,
                .centered = x.valid()};
  }
  return std::nullopt;
}

// Is it what the norm divides? Some files take the mean off once more.
bool is_scaled(const Graph& graph, const Norm& norm, ValueId id) {
  if (id == norm.scaled) return true;
  return norm.centered && centered_behind(graph, id, norm.axis) == norm.x;
}

// The node that multiplies by `factor`, one over the root; invalid if it is another thing.
NodeId product_with(const Graph& graph, const Norm& norm, ValueId factor) {
  const NodeId product = sole_user(graph, factor);
  if (!product.valid() || graph.node(product).op != "Mul") return {};
  const ValueId other = beside({graph, product}, factor);
  return is_scaled(graph, norm, other) ? product : NodeId{};
}

// The node that divides by `root`.
NodeId division_by(const Graph& graph, const Norm& norm, ValueId root) {
  const NodeId user = sole_user(graph, root);
  if (!user.valid()) return {};
  const NodeView node(graph, user);
  const bool divides = node.op() == "Div" && node.input(1) == root;
  if (divides && is_scaled(graph, norm, node.input(0))) return user;
  const bool inverts = node.op() == "Reciprocal" || (divides && is_number(graph, node.input(0), 1));
  return inverts ? product_with(graph, norm, node.output(0)) : NodeId{};
}

// The operand that the only user of `id` combines with it, one number for each column, if it does
// `op`; the user becomes the last node of the pattern.
ValueId take_columns(const Graph& graph, const Norm& norm, std::string_view op, NodeId& last) {
  const ValueId y = graph.node(last).outputs[0];
  const NodeId user = sole_user(graph, y);
  if (!user.valid() || graph.node(user).op != op) return kNoValue;
  const ValueId other = beside({graph, user}, y);
  const Shape& x = graph.value(norm.x).type.shape;
  const TensorType& type = graph.value(other).type;
  const int64_t columns = x.num_elements(norm.axis, x.rank());
  const int64_t rank = x.rank() - norm.axis;
  if (other == y || type.dtype != DType::kF32 || !type.shape.is_static() ||
      type.shape.rank() < rank || type.shape.rank() > x.rank() ||
      type.shape.num_elements() != columns || columns == 1) {
    return kNoValue;
  }
  for (int64_t i = 1; i <= rank; ++i) {
    if (type.shape.dim(-i) != x.dim(-i)) return kNoValue;
  }
  last = user;
  return other;
}

bool fuse_root(Graph& graph, NodeId root, bool inverse) {
  const std::optional<Norm> norm = norm_behind(graph, graph.node(root).inputs[0]);
  if (!norm || !graph.value(norm->x).type.shape.is_static()) return false;
  const ValueId of_root = graph.node(root).outputs[0];
  NodeId last = inverse ? product_with(graph, *norm, of_root) : division_by(graph, *norm, of_root);
  if (!last.valid()) return false;
  const Shape x = graph.value(norm->x).type.shape;
  ValueId scale = take_columns(graph, *norm, "Mul", last);
  const ValueId shift =
      norm->centered && scale.valid() ? take_columns(graph, *norm, "Add", last) : kNoValue;
  if (!scale.valid()) {
    Tensor ones(DType::kF32,
                Shape(std::vector<int64_t>(x.dims().begin() + norm->axis, x.dims().end())));
    std::fill(ones.values<float>().begin(), ones.values<float>().end(), 1.0F);
    scale = add_constant(graph, graph.node(last).name + ".ones", std::move(ones));
  }
  std::vector<ValueId> inputs = {norm->x, scale};
  if (shift.valid()) inputs.push_back(shift);
  replace_by(graph, last, norm->centered ? "LayerNormalization" : "RMSNormalization",
             std::move(inputs),
             {{"axis", norm->axis}, {"epsilon", static_cast<float>(norm->epsilon)}});
  return true;
}

}  // namespace

bool fuse_layer_norm(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    const bool inverse = node.op() == "Pow" && is_number(graph, node.input(1), -0.5);
    const bool is_root =
        node.op() == "Sqrt" || (node.op() == "Pow" && is_number(graph, node.input(1), 0.5));
    if (is_root || inverse) changed = fuse_root(graph, id, inverse) || changed;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes

// fuse_attention: softmax(Q K^T * scale + mask) V, as exporters write it with products and
// transpositions of batch x heads x rows x columns, becomes one Attention, which reads heads that
// lie side by side where they are.
#include <cmath>

#include "engine/passes/edit.h"
#include "engine/passes/pass.h"

namespace trainyard::passes {
namespace {

using Order = std::vector<int64_t>;

NodeId producer_of(const Graph& graph, ValueId id, std::string_view op) {
  const NodeId producer = graph.value(id).producer;
  return producer.valid() && graph.node(producer).op == op ? producer : NodeId{};
}

bool transposes(const Graph& graph, NodeId id, const Order& order) {
  return id.valid() && NodeView(graph, id).attr_ints("perm", {}) == order;
}

struct Found {
  ValueId q, k, v, mask = kNoValue;
  double scale = 1;
  bool causal = false;
  bool keys_by_rows = false;  // k is batch x rows x heads x columns
};

// Takes a product with (or quotient by) one number off `id`.
void take_factor(const Graph& graph, ValueId& id, double& scale) {
  for (const std::string_view op : {"Mul", "Div"}) {
    const NodeId producer = producer_of(graph, id, op);
    if (!producer.valid()) continue;
    const NodeView node(graph, producer);
    for (size_t i = 0; i < 2; ++i) {
      const Tensor* number = node.input_constant(1 - i);
      if (number == nullptr || number->num_elements() != 1 || (op == "Div" && i == 1)) continue;
      if (node.input_shape(i).rank() != 4) continue;
      const double factor = element_as_double(*number, 0);
      scale *= op == "Mul" ? factor : 1 / factor;
      id = node.input(i);
      return;
    }
  }
}

// Nothing below and on the diagonal, everything above.
bool is_causal_mask(const Tensor& mask, int64_t queries, int64_t keys) {
  constexpr double kMasked = -1e4;
  if (mask.num_elements() != queries * keys || queries != keys || mask.dtype() != DType::kF32) {
    return false;
  }
  const float* values = mask.values<float>().data();
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const double value = values[i * keys + j];
      if (j <= i ? value != 0 : value > kMasked) return false;
    }
  }
  return true;
}

void take_mask(const Graph& graph, ValueId& scores, Found& found) {
  const NodeId producer = producer_of(graph, scores, "Add");
  if (!producer.valid()) return;
  const NodeView node(graph, producer);
  for (size_t i = 0; i < 2; ++i) {
    const NodeId product = graph.value(node.input(i)).producer;
    const bool is_scores =
        product.valid() && (graph.node(product).op == "MatMul" || graph.node(product).op == "Mul" ||
                            graph.node(product).op == "Div");
    const Shape& shape = node.input_shape(i);
    const Shape& mask = node.input_shape(1 - i);
    if (!is_scores || shape != node.output_shape(0) || mask.rank() < 2 || mask.rank() > 4) continue;
    if (mask.dim(-1) != shape.dim(-1)) continue;
    scores = node.input(i);
    const Tensor* known = node.input_constant(1 - i);
    found.causal = known != nullptr && is_causal_mask(*known, shape[2], shape[3]);
    if (!found.causal) found.mask = node.input(1 - i);
    return;
  }
}

// K of K^T: by exchanging the last two axes, or straight from rows with heads side by side.
bool take_keys(const Graph& graph, ValueId turned, Found& found) {
  take_factor(graph, turned, found.scale);
  const NodeId transpose = producer_of(graph, turned, "Transpose");
  if (!transpose.valid()) return false;
  found.k = graph.node(transpose).inputs[0];
  if (transposes(graph, transpose, {0, 1, 3, 2})) {
    take_factor(graph, found.k, found.scale);
    return true;
  }
  found.keys_by_rows = transposes(graph, transpose, {0, 2, 3, 1});
  return found.keys_by_rows;
}

std::optional<Found> match(const Graph& graph, const NodeView& softmax) {
  const Shape& shape = softmax.output_shape(0);
  if (shape.rank() != 4 || !shape.is_static()) return std::nullopt;
  if (normalize_axis(softmax.attr_int("axis", -1), 4, "Softmax") != 3) return std::nullopt;
  const Value& shares = graph.value(softmax.output(0));
  if (shares.consumers.size() != 1 || graph.is_output(softmax.output(0))) return std::nullopt;
  const NodeView product(graph, shares.consumers[0]);
  if (product.op() != "MatMul" || product.input(0) != softmax.output(0)) return std::nullopt;
  Found found;
  found.v = product.input(1);
  ValueId scores = softmax.input(0);
  take_mask(graph, scores, found);
  take_factor(graph, scores, found.scale);
  const NodeId first = producer_of(graph, scores, "MatMul");
  if (!first.valid()) return std::nullopt;
  found.q = graph.node(first).inputs[0];
  take_factor(graph, found.q, found.scale);
  if (!take_keys(graph, graph.node(first).inputs[1], found)) return std::nullopt;
  const auto fits = [&](ValueId id) {
    const TensorType& type = graph.value(id).type;
    return type.dtype == DType::kF32 && type.shape.rank() == 4 && type.shape.is_static() &&
           type.shape[0] == shape[0] &&
           type.shape[found.keys_by_rows && id == found.k ? 2 : 1] == shape[1];
  };
  if (!fits(found.q) || !fits(found.k) || !fits(found.v)) return std::nullopt;
  return found;
}

class AttentionMaker {
 public:
  AttentionMaker(Graph& graph, const Found& found, NodeId product)
      : graph_(graph), found_(found), product_(product) {}

  void make() {
    const ValueId rows[3] = {by_rows(found_.q, false), by_rows(found_.k, found_.keys_by_rows),
                             by_rows(found_.v, false)};
    const ValueId y = graph_.node(product_).outputs[0];
    const NodeId back = sole_transpose_of(y);
    if (rows[0].valid() && rows[1].valid() && rows[2].valid() && back.valid()) {
      make_side_by_side(rows, graph_.node(back).outputs[0]);
      return;
    }
    if (found_.keys_by_rows)
      found_.k = add("Transpose", {found_.k}, {{"perm", Order{0, 2, 1, 3}}}, turned_type(found_.k));
    const ValueId made = add_attention({found_.q, found_.k, found_.v}, {}, graph_.value(y).type);
    graph_.replace_uses(y, made);
  }

 private:
  // What `id` (batch x heads x rows x columns) is the transpose of; kNoValue if it is none.
  ValueId by_rows(ValueId id, bool already) const {
    if (already) return id;
    const NodeId transpose = producer_of(graph_, id, "Transpose");
    return transposes(graph_, transpose, {0, 2, 1, 3}) ? graph_.node(transpose).inputs[0]
                                                       : kNoValue;
  }
  NodeId sole_transpose_of(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.consumers.size() != 1 || graph_.is_output(id)) return {};
    const NodeId user = value.consumers[0];
    return graph_.node(user).op == "Transpose" && transposes(graph_, user, {0, 2, 1, 3}) ? user
                                                                                         : NodeId{};
  }
  TensorType turned_type(ValueId id) const {
    TensorType type = graph_.value(id).type;
    std::swap(type.shape[1], type.shape[2]);
    return type;
  }

  // Rows with heads side by side, as three dimensions.
  ValueId joined(ValueId id) {
    const Shape& shape = graph_.value(id).type.shape;
    return reshaped(id, {shape[0], shape[1], shape[2] * shape[3]});
  }
  ValueId reshaped(ValueId id, const Shape& shape) {
    const ValueId target = add_constant(graph_, "attention.shape", Tensor::of_ints(shape.vector()));
    return add("Reshape", {id, target}, {}, {DType::kF32, shape});
  }
  void make_side_by_side(const ValueId (&rows)[3], ValueId old) {
    const Shape shape = graph_.value(old).type.shape;
    const Attributes heads = {{"q_num_heads", shape[2]}, {"kv_num_heads", shape[2]}};
    const ValueId made = add_attention({joined(rows[0]), joined(rows[1]), joined(rows[2])}, heads,
                                       {DType::kF32, {shape[0], shape[1], shape[2] * shape[3]}});
    graph_.replace_uses(old, reshaped(made, shape));
  }
  ValueId add_attention(std::vector<ValueId> inputs, Attributes attributes, TensorType type) {
    if (found_.mask.valid()) inputs.push_back(found_.mask);
    attributes["scale"] = static_cast<float>(found_.scale);
    if (found_.causal) attributes["is_causal"] = int64_t{1};
    return add("Attention", std::move(inputs), std::move(attributes), std::move(type));
  }
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
              TensorType type) {
    const std::string name = graph_.unique_name(graph_.node(product_).name + ".attention");
    const NodeId id =
        graph_.add_node(name, std::string(op), std::move(inputs), std::move(attributes),
                        std::vector<std::string>{name}, std::vector<TensorType>{std::move(type)});
    return graph_.node(id).outputs[0];
  }

  Graph& graph_;
  Found found_;
  NodeId product_;
};

}  // namespace

bool fuse_attention(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).op != "Softmax") continue;
    const NodeView softmax(graph, id);
    const std::optional<Found> found = match(graph, softmax);
    if (!found) continue;
    AttentionMaker(graph, *found, graph.value(softmax.output(0)).consumers[0]).make();
    changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes

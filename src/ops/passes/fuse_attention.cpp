// fuse_attention: softmax(Q K^T * scale + mask) V, as exporters write it with products and
// transpositions of batch x heads x rows x columns, or of as many matrices, becomes one Attention,
// which reads heads that lie side by side where they are. A mask is added, or chosen by Where.
#include <cmath>

#include "ops/builder.h"
#include "ops/passes/edit.h"
#include "ops/passes/pass.h"
#include "ops/passes/pattern.h"

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
  ValueId q, k, v;
  std::vector<ValueId> masks = {};
  double scale = 1;
  bool causal = false;
  bool keys_by_rows = false;  // k is batch x rows x heads x columns
  // There is no batch: rank 3, heads x rows x columns.
  bool flat = false;
};

// Exchanges heads and rows.
Order heads_and_rows(bool flat) {
  return flat ? Order{1, 0, 2} : Order{0, 2, 1, 3};
}

// Takes a product with (or quotient by) one number off `id`.
void take_factor(const Graph& graph, ValueId& id, double& scale) {
  for (const std::string_view op : {"Mul", "Div"}) {
    const NodeId producer = producer_of(graph, id, op);
    if (!producer.valid()) continue;
    const NodeView node(graph, producer);
    for (size_t i = 0; i < 2; ++i) {
      const Tensor* number = node.input_constant(1 - i);
      if (number == nullptr || number->num_elements() != 1 || (op == "Div" && i == 1)) continue;
      if (node.input_shape(i) != node.output_shape(0)) continue;
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

// From here on a summand leaves nothing of a score, not even its place among others like it.
constexpr double kHides = -1e9;

void add_mask(Graph& graph, ValueId mask, const Shape& scores, Found& found) {
  const Tensor* known = graph.value(mask).constant.get();
  const bool causal = known != nullptr && is_causal_mask(*known, scores.dim(-2), scores.dim(-1));
  if (causal) {
    found.causal = true;
  } else {
    found.masks.push_back(mask);
  }
}

bool fits_scores(const Shape& mask, const Shape& scores) {
  return mask.is_static() && mask.rank() >= 2 && mask.rank() <= scores.rank() &&
         mask.dim(-1) == scores.dim(-1);
}

bool take_added_mask(Graph& graph, ValueId& scores, Found& found) {
  const NodeId producer = producer_of(graph, scores, "Add");
  if (!producer.valid()) return false;
  const NodeView node(graph, producer);
  for (size_t i = 0; i < 2; ++i) {
    const NodeId product = graph.value(node.input(i)).producer;
    if (!product.valid()) continue;
    const std::string& op = graph.node(product).op;
    const bool is_scores = op == "MatMul" || op == "Mul" || op == "Div" || op == "Where";
    const Shape& shape = node.input_shape(i);
    if (!is_scores || shape != node.output_shape(0) || !fits_scores(node.input_shape(1 - i), shape))
      continue;
    scores = node.input(i);
    add_mask(graph, node.input(1 - i), shape, found);
    return true;
  }
  return false;
}

// Where(condition, number, scores), or with the two exchanged, is a sum with such numbers and
// zeros.
bool take_choice(Graph& graph, const PassContext& context, ValueId& scores, Found& found) {
  const NodeId producer = producer_of(graph, scores, "Where");
  if (!producer.valid()) return false;
  const NodeView node(graph, producer);
  for (const size_t hidden : {1, 2}) {
    const ValueId kept = node.input(3 - hidden);
    const Tensor* number = node.input_constant(hidden);
    if (number == nullptr || number->num_elements() != 1 || number->dtype() != DType::kF32)
      continue;
    const float fill = number->values<float>()[0];
    const Shape shape = graph.value(kept).type.shape;
    if (!(double{fill} <= kHides) || shape != node.output_shape(0) ||
        !fits_scores(node.input_shape(0), shape)) {
      continue;
    }
    scores = kept;
    ops::Builder b(graph);
    const std::string name = node.name();
    const ValueId condition = node.input(0);
    const ValueId fills = add_constant(graph, name + ".fill", Tensor::scalar(fill));
    const ValueId zero = add_constant(graph, name + ".zero", Tensor::scalar(0.0F));
    ValueId mask = b.add("Where", hidden == 1 ? std::vector{condition, fills, zero}
                                              : std::vector{condition, zero, fills});
    if (graph.value(condition).constant != nullptr && context.evaluate) {
      std::vector<Tensor> known = context.evaluate(graph, graph.value(mask).producer);
      if (!known.empty()) mask = add_constant(graph, name + ".mask", std::move(known[0]));
    }
    add_mask(graph, mask, shape, found);
    return true;
  }
  return false;
}

void take_masks(Graph& graph, const PassContext& context, ValueId& scores, Found& found) {
  constexpr int kMost = 2;
  for (int i = 0; i < kMost; ++i) {
    if (!take_added_mask(graph, scores, found) && !take_choice(graph, context, scores, found))
      return;
  }
}

// K of K^T of which all heads of the batch were made one dimension, exchanged and parted again;
// kNoValue if `turned` is another thing.
ValueId keys_of_flat_heads(Graph& graph, ValueId turned) {
  const NodeId parting = producer_of(graph, turned, "Reshape");
  if (!parting.valid()) return kNoValue;
  const NodeId transpose = producer_of(graph, graph.node(parting).inputs[0], "Transpose");
  if (!transposes(graph, transpose, {0, 2, 1})) return kNoValue;
  const Shape& shape = graph.value(turned).type.shape;
  const ValueId keys = graph.node(transpose).inputs[0];
  const Shape& flat = graph.value(keys).type.shape;
  if (shape.rank() != 4 || !shape.is_static() ||
      flat != Shape{shape[0] * shape[1], shape[3], shape[2]}) {
    return kNoValue;
  }
  const Shape parted = {shape[0], shape[1], shape[3], shape[2]};
  const ValueId target = add_constant(graph, "attention.keys", Tensor::of_ints(parted.vector()));
  return ops::Builder(graph).add("Reshape", {keys, target});
}

// K of K^T: by exchanging the last two axes, or straight from rows with heads side by side.
bool take_keys(Graph& graph, ValueId turned, Found& found) {
  take_factor(graph, turned, found.scale);
  if (const ValueId keys = keys_of_flat_heads(graph, turned); keys.valid()) {
    found.k = keys;
    return true;
  }
  const NodeId transpose = producer_of(graph, turned, "Transpose");
  if (!transpose.valid()) return false;
  found.k = graph.node(transpose).inputs[0];
  if (transposes(graph, transpose, found.flat ? Order{0, 2, 1} : Order{0, 1, 3, 2})) {
    take_factor(graph, found.k, found.scale);
    return true;
  }
  found.keys_by_rows =
      transposes(graph, transpose, found.flat ? Order{1, 2, 0} : Order{0, 2, 3, 1});
  return found.keys_by_rows;
}

bool fits_operand(const Graph& graph, const Found& found, ValueId id, const Shape& scores) {
  const TensorType& type = graph.value(id).type;
  if (type.dtype != DType::kF32 || type.shape.rank() != scores.rank() || !type.shape.is_static()) {
    return false;
  }
  const bool by_rows = found.keys_by_rows && id == found.k;
  if (found.flat) return type.shape[by_rows ? 1 : 0] == scores[0];
  return type.shape[0] == scores[0] && type.shape[by_rows ? 2 : 1] == scores[1];
}

std::optional<Found> match(Graph& graph, const PassContext& context, NodeId id) {
  const NodeView softmax(graph, id);
  const Shape shape = softmax.output_shape(0);
  const int64_t rank = shape.rank();
  if ((rank != 4 && rank != 3) || !shape.is_static()) return std::nullopt;
  if (normalize_axis(softmax.attr_int("axis", -1), rank, "Softmax") != rank - 1) {
    return std::nullopt;
  }
  const ValueId shares = softmax.output(0);
  const NodeId user = sole_user(graph, shares);
  if (!user.valid() || graph.node(user).op != "MatMul" || graph.node(user).inputs[0] != shares) {
    return std::nullopt;
  }
  Found found;
  found.flat = rank == 3;
  found.v = graph.node(user).inputs[1];
  ValueId scores = softmax.input(0);
  take_masks(graph, context, scores, found);
  take_factor(graph, scores, found.scale);
  const NodeId first = producer_of(graph, scores, "MatMul");
  if (!first.valid()) return std::nullopt;
  found.q = graph.node(first).inputs[0];
  take_factor(graph, found.q, found.scale);
  if (!take_keys(graph, graph.node(first).inputs[1], found)) return std::nullopt;
  for (const ValueId operand : {found.q, found.k, found.v}) {
    if (!fits_operand(graph, found, operand, shape)) return std::nullopt;
  }
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
      make_side_by_side(rows, batch_shape(graph_.value(y).type.shape),
                        graph_.node(back).outputs[0]);
      return;
    }
    if (found_.keys_by_rows) {
      found_.k = add("Transpose", {found_.k}, {{"perm", heads_and_rows(found_.flat)}},
                     turned_type(found_.k));
    }
    const TensorType type = graph_.value(y).type;
    const ValueId made = add_attention({in_batch(found_.q), in_batch(found_.k), in_batch(found_.v)},
                                       {}, {DType::kF32, batch_shape(type.shape)});
    graph_.replace_uses(y, found_.flat ? reshaped(made, type.shape) : made);
  }

 private:
  // What `id` (batch x heads x rows x columns) is the transpose of; kNoValue if it is none.
  ValueId by_rows(ValueId id, bool already) const {
    if (already) return id;
    const NodeId transpose = producer_of(graph_, id, "Transpose");
    if (transposes(graph_, transpose, heads_and_rows(found_.flat))) {
      return graph_.node(transpose).inputs[0];
    }
    return found_.flat ? kNoValue : by_rows_of_one(id);
  }
  // The same, where a batch of one was put in front after heads and rows were exchanged.
  ValueId by_rows_of_one(ValueId id) const {
    const Shape& shape = graph_.value(id).type.shape;
    const NodeId reshape = producer_of(graph_, id, "Reshape");
    if (shape[0] != 1 || !reshape.valid()) return kNoValue;
    const ValueId heads = graph_.node(reshape).inputs[0];
    const NodeId transpose = producer_of(graph_, heads, "Transpose");
    const bool alone = transposes(graph_, transpose, heads_and_rows(true)) &&
                       batch_shape(graph_.value(heads).type.shape) == shape;
    return alone ? graph_.node(transpose).inputs[0] : kNoValue;
  }
  NodeId sole_transpose_of(ValueId id) const {
    const NodeId user = sole_user(graph_, id);
    if (!user.valid() || graph_.node(user).op != "Transpose") return {};
    // A batch of one may stand anywhere.
    const bool turns = transposes(graph_, user, heads_and_rows(found_.flat)) ||
                       (!found_.flat && graph_.value(id).type.shape[0] == 1 &&
                        transposes(graph_, user, {2, 0, 1, 3}));
    return turns ? user : NodeId{};
  }
  TensorType turned_type(ValueId id) const {
    TensorType type = graph_.value(id).type;
    const int64_t heads = found_.flat ? 0 : 1;
    std::swap(type.shape[heads], type.shape[heads + 1]);
    return type;
  }

  // With a batch of one in front if there is none.
  static Shape batch_shape(const Shape& shape) {
    return shape.rank() == 3 ? Shape{1, shape[0], shape[1], shape[2]} : shape;
  }
  ValueId in_batch(ValueId id) {
    return found_.flat ? reshaped(id, batch_shape(graph_.value(id).type.shape)) : id;
  }

  // Rows with heads side by side, as three dimensions.
  ValueId joined(ValueId id) {
    const Shape shape = batch_shape(graph_.value(id).type.shape);
    return reshaped(id, {shape[0], shape[1], shape[2] * shape[3]});
  }
  ValueId reshaped(ValueId id, const Shape& shape) {
    const ValueId target = add_constant(graph_, "attention.shape", Tensor::of_ints(shape.vector()));
    return add("Reshape", {id, target}, {}, {DType::kF32, shape});
  }
  // `shape`: batch, heads, rows and columns of the result.
  void make_side_by_side(const ValueId (&rows)[3], const Shape& shape, ValueId old) {
    const Attributes heads = {{"q_num_heads", shape[1]}, {"kv_num_heads", shape[1]}};
    const ValueId made = add_attention({joined(rows[0]), joined(rows[1]), joined(rows[2])}, heads,
                                       {DType::kF32, {shape[0], shape[2], shape[1] * shape[3]}});
    const Shape own = graph_.value(old).type.shape;
    graph_.replace_uses(old, reshaped(made, own));
  }
  ValueId add_attention(std::vector<ValueId> inputs, Attributes attributes, TensorType type) {
    if (!found_.masks.empty()) inputs.push_back(joined_mask());
    attributes["scale"] = static_cast<float>(found_.scale);
    if (found_.causal) attributes["is_causal"] = int64_t{1};
    return add("Attention", std::move(inputs), std::move(attributes), std::move(type));
  }
  ValueId joined_mask() {
    ValueId mask = found_.masks[0];
    ops::Builder b(graph_);
    for (size_t i = 1; i < found_.masks.size(); ++i) mask = b.add("Add", {mask, found_.masks[i]});
    return mask;
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

bool fuse_attention(Graph& graph, const PassContext& context) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).op != "Softmax") continue;
    const std::optional<Found> found = match(graph, context, id);
    if (!found) continue;
    AttentionMaker(graph, *found, sole_user(graph, graph.node(id).outputs[0])).make();
    changed = true;
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace trainyard::passes

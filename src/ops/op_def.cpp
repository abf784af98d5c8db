#include "ops/op_def.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::ops {

#define OP(name) extern const OpDef k##name;
#include "ops/op_list.def"
#undef OP

namespace {

constexpr const OpDef* kTable[] = {
#define OP(name) &k##name,
#include "ops/op_list.def"
#undef OP
};

bool is_kind_of_points(OpKind kind) {
  return kind == OpKind::kActivation || kind == OpKind::kElementwise ||
         kind == OpKind::kQuantization;
}

// size and jump as in Araujo et al. 2019: first and last move by the window, jump grows by the
// stride.
Reaches reach_of_window(const std::optional<Window>& window, size_t dims) {
  if (!window || window->rank() != dims) return std::nullopt;
  std::vector<InputWindow> reaches;
  for (size_t i = 0; i < dims; ++i) {
    const auto begin = static_cast<double>(-window->pads_begin[i]);
    const auto reach = static_cast<double>((window->kernel[i] - 1) * window->dilations[i]);
    reaches.push_back({begin, begin + reach, static_cast<double>(window->strides[i])});
  }
  return reaches;
}

bool keeps_last_dims(const NodeView& node, size_t dims) {
  const auto x = node.input_shape(0).dims();
  const auto y = node.output_shape(0).dims();
  if (x.size() < dims || y.size() < dims) return false;
  return std::equal(x.end() - static_cast<std::ptrdiff_t>(dims), x.end(),
                    y.end() - static_cast<std::ptrdiff_t>(dims));
}

}  // namespace

std::string_view kind_name(OpKind kind) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "convolution", "linear", "pooling",      "normalization", "activation", "elementwise",
      "reduction",   "data",   "quantization", "loss",          "optimizer",  "other"};
  return kNames[static_cast<size_t>(kind)];
}

const OpDef* find_op(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, const OpDef*>;
    for (const OpDef* op : kTable) map->emplace(op->name, op);
    return map;
  }();
  const auto found = kByName->find(name);
  return found == kByName->end() ? nullptr : found->second;
}

std::span<const OpDef* const> all_ops() {
  return kTable;
}

const OpDef& op_of(const NodeView& node) {
  const OpDef* op = find_op(node.op());
  if (op == nullptr) {
    std::vector<std::string> names;
    for (const OpDef* known : kTable) names.emplace_back(known->name);
    throw_error("node '{}': operator '{}' is not known.{}", node.name(), node.op(),
                did_you_mean(node.op(), names));
  }
  return *op;
}

Cost node_cost(const NodeView& node) {
  for (const auto& list : {node.node().inputs, node.node().outputs}) {
    for (const ValueId id : list) {
      if (id.valid() && !node.graph().value(id).type.shape.is_static()) return {};
    }
  }
  const OpDef& op = op_of(node);
  return op.cost != nullptr ? op.cost(node) : traffic(node);
}

ParamRole param_role(const OpDef& op, size_t input) {
  return input < op.roles.size() ? op.roles[input] : ParamRole::kNone;
}

// A sum's gradient is copied to one branch where paths fork; a pool's backward pass reads its
// input, output and gradient.
MemoryPasses memory_passes(const OpDef& op) {
  if (op.passes) return *op.passes;
  if (op.kind == OpKind::kPooling) return {2, 2, 5};
  if (op.kind == OpKind::kElementwise) return {3, 3, 3};
  return {};
}

Movement movement_of(const NodeView& node) {
  const OpDef& op = op_of(node);
  return op.movement != nullptr ? op.movement(node) : Movement::kComputed;
}

bool is_view(const NodeView& node) {
  return movement_of(node) == Movement::kView;
}

bool is_view_in_training(const NodeView& node) {
  return is_view(node) && op_of(node).in_training.empty();
}

bool may_overwrite(const NodeView& node) {
  return op_of(node).overwrites && node.num_outputs() == 1;
}

Reaches reach_of(const NodeView& node, size_t dims) {
  const OpDef& op = op_of(node);
  if (op.reach != nullptr) return op.reach(node, dims);
  if (op.window != nullptr) return reach_of_window(op.window(node), dims);
  const bool same = is_kind_of_points(op.kind) || (is_view(node) && keeps_last_dims(node, dims));
  // What is not known to work position by position is taken to mix them all.
  return same ? same_position(node, dims) : std::nullopt;
}

bool outputs_known(const NodeView& node) {
  const auto known = [&](ValueId id) {
    return !id.valid() || node.graph().value(id).constant != nullptr;
  };
  return std::all_of(node.node().outputs.begin(), node.node().outputs.end(), known);
}

Movement always_view(const NodeView& /*node*/) {
  return Movement::kView;
}

Movement always_moved(const NodeView& /*node*/) {
  return Movement::kMoved;
}

Reaches same_position(const NodeView& /*node*/, size_t dims) {
  return std::vector<InputWindow>(dims);
}

Reaches whole_input(const NodeView& /*node*/, size_t /*dims*/) {
  return std::nullopt;
}

bool is_spatial(const NodeView& node, int64_t axis, const Shape& shape, size_t dims) {
  return normalize_axis(axis, shape.rank(), node.op()) >= shape.rank() - static_cast<int64_t>(dims);
}

bool all_inputs_constant(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && node.input_constant(i) == nullptr) return false;
  }
  return true;
}

Shape unknown_shape(int64_t rank) {
  constexpr int64_t kLargestRank = 64;
  TY_REQUIRE(0 <= rank && rank <= kLargestRank,
             "a tensor of {} dimensions, at most {} are possible", rank, kLargestRank);
  return Shape(std::vector<int64_t>(static_cast<size_t>(rank), Shape::kUnknown));
}

Cost traffic(const NodeView& node) {
  Cost cost;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i)) cost.bytes_read += node.input_type(i).num_bytes();
  }
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (node.has_output(i)) cost.bytes_written += node.output_type(i).num_bytes();
  }
  return cost;
}

Cost elementwise_cost(const NodeView& node, int64_t per_element) {
  Cost cost = traffic(node);
  cost.flops = per_element * node.output_shape(0).num_elements();
  return cost;
}

}  // namespace trainyard::ops

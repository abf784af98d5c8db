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

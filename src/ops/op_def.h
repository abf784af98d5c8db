// What an operator is: every fact about it except how it is computed fast.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/node_view.h"
#include "ops/nn/window.h"
#include "ops/routine.h"

namespace trainyard::ops {

// For totals by kind; the names are what tables print.
enum class OpKind : uint8_t {
  kConvolution,
  kLinear,
  kPooling,
  kNormalization,
  kActivation,
  kElementwise,
  kReduction,
  kDataMovement,  // copies, views and shape arithmetic
  kQuantization,
  kLoss,
  kOptimizer,
  kOther,
};
std::string_view kind_name(OpKind kind);

// 1 MAC = 2 FLOPs. A comparison, an exponential or a division counts as one FLOP, as in most
// papers. Bytes count each operand once, as if nothing were cached.
struct Cost {
  int64_t macs = 0;
  int64_t flops = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
};

// What an initializer at an input position is to the network.
enum class ParamRole : uint8_t { kNone, kWeight, kBias, kStatistic };

struct AttrSpec {
  std::string_view name;
  AttrKind kind;
  bool required = false;
};

struct Arity {
  int least = 1;
  int most = 1;  // kMany: no bound
  static constexpr int kMany = 1 << 20;
};

class GradContext;

// What differentiation does at an operator without a rule.
enum class NoGradient : uint8_t {
  kUndefined,  // an error: the operator is not differentiable, or its rule is not written
  kNever,      // the outputs do not change with the inputs (Shape, ArgMax): nothing flows back
};

// Only string views, spans of constants and function pointers, so that tables are
// constant-initialized.
struct OpDef {
  std::string_view name;
  OpKind kind = OpKind::kOther;
  Arity inputs = {1, 1};
  Arity outputs = {1, 1};
  std::span<const AttrSpec> attributes = {};
  // By input position; positions beyond the end are kNone.
  std::span<const ParamRole> roles = {};

  // The types of the node's outputs (as many as it has; absent ones included). Throws Error,
  // without the node's name, which the caller adds. Dimensions that only data decides are
  // Shape::kUnknown.
  std::vector<TensorType> (*infer)(const NodeView&) = nullptr;
  // Null: nothing is computed, every input is read and every output written once.
  Cost (*cost)(const NodeView&) = nullptr;
  // The outputs, if they are known now; empty otherwise. For shape arithmetic on inputs that are
  // not all known, and where a shape can only be told by computing the outputs (NonMaxSuppression),
  // which are then kept.
  std::vector<Tensor> (*evaluate)(const NodeView&) = nullptr;
  // Computes the node, whose types are static. Null: a reference kernel of its own does.
  Routine (*routine)(const NodeView&) = nullptr;
  // How one output position sees the spatial input; null: position by position.
  std::optional<Window> (*window)(const NodeView&) = nullptr;
  // Values dL/dx, one per input, kNoValue where nothing flows or nobody asked; see ops/gradient.h.
  std::vector<ValueId> (*gradient)(GradContext&) = nullptr;
  // Without a rule.
  NoGradient no_gradient = NoGradient::kUndefined;
};

// Null if there is no such operator.
const OpDef* find_op(std::string_view name);
std::span<const OpDef* const> all_ops();

// The operator of a node; throws Error naming node and operator if it is unknown.
const OpDef& op_of(const NodeView& node);

// Cost of a node with the default filled in. Unknown shapes count as nothing.
Cost node_cost(const NodeView& node);
ParamRole param_role(const OpDef& op, size_t input);

// --- helpers for operator files
// Every present input known before the run?
bool all_inputs_constant(const NodeView& node);
// `rank` dimensions that only data decides. Throws Error for more than any tensor has: a rank may
// come out of a file.
Shape unknown_shape(int64_t rank);
// Bytes of all present inputs and outputs.
Cost traffic(const NodeView& node);
// traffic() plus `per_element` FLOPs for each element of output 0.
Cost elementwise_cost(const NodeView& node, int64_t per_element);

}  // namespace trainyard::ops

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

// Where the elements of output 0 come from.
enum class Movement : uint8_t {
  kComputed,  // they are new numbers
  kView,      // input 0 under another shape or name: the same elements in the same order
  kMoved,     // each is an element of input 0
  kPadded,    // each is an element of input 0, or zero
  kJoined,    // each is an element of some input
};

// What the gradient needs beside the gradient that comes in: what training keeps of the forward
// pass. Parameters are there anyway.
enum class SavedTensors : uint8_t {
  kInputsAndOutputs,  // nobody has looked: memory is never predicted too small
  kNothing,
  kInput,
  kOutput,
  kOtherFactor,         // each of inputs 0 and 1 whose partner is trained
  kInputAndStatistics,  // and two numbers for each element of input 1
};

// What becomes of an operator in a network of int8.
enum class Int8Form : uint8_t {
  kNone,   // it computes with floats
  kLayer,  // a product with weights
  kJoin,   // computes on steps and has steps of its own: sums, means
  kMove,   // hands on steps: its result has those of its inputs
};

// Which operators apply this one, an activation, to their result on the way out.
enum class FusedBy : uint8_t {
  kNone,
  kProducts,  // convolutions and matrix products
  kAll,       // these, and scalings, which do only what costs them nothing
};

// How often each element goes through the memory of a device.
struct MemoryPasses {
  double inference = 2;
  double training = 2;
  double backward = 3;
};

// What one output position sees of a spatial dimension: the input's positions from `first` to
// `last`, for the output's position 0, and `step` further for each position.
struct InputWindow {
  double first = 0;
  double last = 0;
  double step = 1;
};
// Of the last dimensions of output and input. No value: everything.
using Reaches = std::optional<std::vector<InputWindow>>;

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
  // The sliding window; null: there is none.
  std::optional<Window> (*window)(const NodeView&) = nullptr;
  // What an output position sees of the last `dims` dimensions. Null: what reach_of() says of its
  // window or kind.
  Reaches (*reach)(const NodeView&, size_t dims) = nullptr;
  // Values dL/dx, one per input, kNoValue where nothing flows or nobody asked; see ops/gradient.h.
  std::vector<ValueId> (*gradient)(GradContext&) = nullptr;
  // Without a rule.
  NoGradient no_gradient = NoGradient::kUndefined;
  SavedTensors saves = SavedTensors::kInputsAndOutputs;

  // Outside of training. Null: kComputed.
  Movement (*movement)(const NodeView&) = nullptr;
  // May output 0, if it is the only one, overwrite an input of its own type?
  bool overwrites = false;
  // The operator that does its work in training, if it works otherwise there; else empty.
  std::string_view in_training = {};
  // The operator that it becomes when it applies an activation on the way out; empty: none.
  std::string_view with_activation = {};
  FusedBy fused_by = FusedBy::kNone;
  Int8Form int8 = Int8Form::kNone;
  // No value: that of its kind, see memory_passes().
  std::optional<MemoryPasses> passes = std::nullopt;
};

// Null if there is no such operator.
const OpDef* find_op(std::string_view name);
std::span<const OpDef* const> all_ops();

// The operator of a node; throws Error naming node and operator if it is unknown.
const OpDef& op_of(const NodeView& node);

// Cost of a node with the default filled in. Unknown shapes count as nothing.
Cost node_cost(const NodeView& node);
ParamRole param_role(const OpDef& op, size_t input);
MemoryPasses memory_passes(const OpDef& op);

// As OpDef says, with the defaults filled in.
Movement movement_of(const NodeView& node);
bool is_view(const NodeView& node);
// Dropout is a view, but not in training.
bool is_view_in_training(const NodeView& node);
bool may_overwrite(const NodeView& node);
Reaches reach_of(const NodeView& node, size_t dims);
// Are all outputs known before the run?
bool outputs_known(const NodeView& node);

// --- helpers for operator files
Movement always_view(const NodeView& node);
Movement always_moved(const NodeView& node);
// Output positions see the same position of the input alone; or all of it.
Reaches same_position(const NodeView& node, size_t dims);
Reaches whole_input(const NodeView& node, size_t dims);
// Is `axis` one of the last `dims` dimensions of `shape`?
bool is_spatial(const NodeView& node, int64_t axis, const Shape& shape, size_t dims);
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

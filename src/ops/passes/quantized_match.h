// What the passes over quantized graphs ask of nodes and values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/node_view.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {

// An eight-bit value and the reals it stands for: scale * (value - zero).
struct Steps {
  ValueId value;
  float scale = 1;
  int64_t zero = 0;
  DType dtype = DType::kU8;

  bool same_steps(const Steps& other) const {
    return scale == other.scale && zero == other.zero && dtype == other.dtype;
  }
};

// What DequantizeLinear makes `real` from, if one scale and zero point, known, hold for all of it.
std::optional<Steps> dequantized_from(const Graph& graph, ValueId real);
// What a QuantizeLinear node gives, under the same conditions.
std::optional<Steps> quantized_by(const Graph& graph, NodeId node);
// u8, as all that the compiler makes computes on.
std::optional<Steps> bytes_behind(const Graph& graph, ValueId real);

// The nodes after `id` up to the one QuantizeLinear that gives u8, with at most one activation that
// is a range between, nothing else using what is between.
struct Requantization {
  NodeId activation;  // invalid: none
  NodeId quantize;
  Steps y;
  int64_t low = 0;
  int64_t high = 255;
};
std::optional<Requantization> requantization_after(const Graph& graph, NodeId id);

// A value that does not depend on inputs, worked out if it must be; null if it does depend on them.
const Tensor* known_value(Graph& graph, ValueId id, const PassContext& context);

// Constant weights of convolutions and matrix products: i8 with zero points of zero, one scale for
// all or one for each output channel.
struct WeightSteps {
  std::vector<int8_t> values;  // output channels first
  std::vector<float> scales;   // one per output channel
};
// `axis` holds the output channels; values come with it moved to the front (of a matrix:
// transposed).
std::optional<WeightSteps> weights_behind(Graph& graph, ValueId real, int64_t axis,
                                          const PassContext& context);

// Constant bias in steps of x_scale * scales[c]; zeros if there is none.
std::optional<std::vector<int32_t>> bias_behind(Graph& graph, ValueId real, float x_scale,
                                                std::span<const float> scales,
                                                const PassContext& context);

}  // namespace trainyard::passes

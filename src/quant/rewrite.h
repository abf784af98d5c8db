// The graph with steps in it: QuantizeLinear and DequantizeLinear around what computes in int8.
#pragma once

#include <map>
#include <optional>

#include "quant/plan.h"
#include "quant/scheme.h"

namespace trainyard::quant {

// What is rounded; all of it in the end, some of it to see what each costs.
struct Parts {
  bool weights = true;
  bool activations = true;
  bool biases = true;
};

using ValueSteps = std::map<ValueId, Steps>;

// A layer whose input has these steps (absent: float, then the bias is not quantized).
struct QuantizedLayer {
  QuantizedWeights weights;
  Tensor bias;                     // i32; empty: none
  std::vector<float> bias_scales;  // input scale * weight scale
};
QuantizedLayer quantize_layer(const NodeView& layer, const std::optional<Steps>& input,
                              const WeightScheme& scheme);

// `graph` is the one that `plan` was made of, with steps for each of its values. A Relu or Clip
// whose work the rounding does is left out. Steps of fewer than 8 bits are kept by a Clip before.
Graph rewrite(Graph graph, const Plan& plan, const ValueSteps& steps, const WeightScheme& scheme,
              const Parts& parts = {});

// The same with operators on integers where ONNX has them: QLinearConv, QLinearMatMul, and
// pools, reshapes and concatenations of u8. What it has not stays as it is.
Graph to_integer_operators(Graph graph);

}  // namespace trainyard::quant

// Small networks whose figures can be worked out by hand.
#pragma once

#include "ops/builder.h"

namespace trainyard::analysis {

inline ValueId conv(ops::Builder& b, ValueId x, int64_t channels, int64_t kernel, int64_t stride,
                    int64_t pad, const std::string& name, bool bias = true) {
  const int64_t in = b.shape(x)[1];
  std::vector<ValueId> inputs = {
      x, b.parameter(name + ".weight", {channels, in, kernel, kernel}, init_constant(1))};
  if (bias) inputs.push_back(b.parameter(name + ".bias", {channels}, init_constant(0)));
  return b.add(
      "Conv", inputs,
      {{"pads", std::vector<int64_t>(4, pad)}, {"strides", std::vector<int64_t>(2, stride)}}, name);
}

inline ValueId norm(ops::Builder& b, ValueId x, const std::string& name) {
  const Shape channels = {b.shape(x)[1]};
  return b.add("BatchNormalization",
               {x, b.parameter(name + ".weight", channels, init_constant(1)),
                b.parameter(name + ".bias", channels, init_constant(0)),
                b.parameter(name + ".mean", channels, init_constant(0)),
                b.parameter(name + ".var", channels, init_constant(1))},
               {}, name);
}

inline ValueId max_pool(ops::Builder& b, ValueId x, int64_t kernel, int64_t stride, int64_t pad,
                        const std::string& name) {
  return b.add("MaxPool", {x},
               {{"kernel_shape", std::vector<int64_t>(2, kernel)},
                {"pads", std::vector<int64_t>(4, pad)},
                {"strides", std::vector<int64_t>(2, stride)}},
               name);
}

inline ValueId linear(ops::Builder& b, ValueId x, int64_t outputs, const std::string& name) {
  return b.add("Gemm",
               {x, b.parameter(name + ".weight", {outputs, b.shape(x)[1]}, init_constant(1)),
                b.parameter(name + ".bias", {outputs}, init_constant(0))},
               {{"transB", int64_t{1}}}, name);
}

// 3x8x8 -> conv 4 (3x3, pad 1) -> relu -> maxpool 2 -> flatten -> linear 10.
inline Graph small_net(int64_t batch) {
  Graph graph("small");
  ops::Builder b(graph);
  ValueId x = b.input("image", {DType::kF32, {batch, 3, 8, 8}});
  x = conv(b, x, 4, 3, 1, 1, "conv");
  x = b.add("Relu", {x}, {}, "relu");
  x = max_pool(b, x, 2, 2, 0, "pool");
  x = b.add("Flatten", {x}, {}, "flatten");
  x = linear(b, x, 10, "fc");
  graph.set_outputs({x});
  return graph;
}

}  // namespace trainyard::analysis

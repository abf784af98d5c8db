// A quantized network runs on bytes, and means what its floats mean.
#include <cmath>

#include <gtest/gtest.h>

#include "engine/bench.h"
#include "engine/compiler.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;

// Two branches of convolutions that are joined, a residual sum, pools and a product, everything
// quantized as quantizers do it.
class QuantizedNetwork {
 public:
  QuantizedNetwork() : b_(graph_) {
    const ValueId image = rounded(b_.input("x", {DType::kF32, {2, 3, 15, 15}}), 1.0F / 127, 127);
    const ValueId stem = conv(image, {16, 3, 3, 3}, 1, 2, 0.02F);
    const ValueId pooled = rounded(
        b_.add("MaxPool", {stem}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}), 0.02F, 0);
    const ValueId depthwise = conv(pooled, {16, 1, 3, 3}, 16, 1, 0.01F);
    const ValueId other = conv(depthwise, {16, 16, 3, 3}, 1, 1, 0.02F);
    const ValueId sum = rounded(b_.add("Relu", {b_.add("Add", {other, pooled})}), 0.03F, 0);
    const ValueId joined =
        rounded(b_.add("Concat", {sum, depthwise}, {{"axis", int64_t{1}}}), 0.03F, 0);
    const ValueId mean = rounded(b_.add("GlobalAveragePool", {joined}), 0.01F, 0);
    const ValueId y =
        b_.add("Gemm", {b_.add("Flatten", {mean}), weights({32, 5}), bias(5)}, {}, "classes");
    graph_.set_outputs({rounded(y, kStep, 128)});
  }

  static constexpr float kStep = 0.02F;
  Graph graph() const { return graph_; }

 private:
  ValueId scalar(float value) { return b_.constant_scalar(graph_.unique_name("s"), value); }

  ValueId rounded(ValueId real, float scale, uint8_t zero) {
    const ValueId s = scalar(scale);
    const ValueId z = b_.constant(graph_.unique_name("z"), Tensor::scalar(zero));
    return b_.add("DequantizeLinear", {b_.add("QuantizeLinear", {real, s, z}), s, z});
  }
  ValueId weights(const Shape& shape) {
    Tensor tensor(DType::kI8, shape);
    int64_t i = 0;
    for (int8_t& w : tensor.values<int8_t>()) w = static_cast<int8_t>(i++ * 37 % 129 - 60);
    const ValueId steps = b_.constant(graph_.unique_name("w"), std::move(tensor));
    return b_.add("DequantizeLinear", {steps, scalar(0.004F)});
  }
  ValueId bias(int64_t count) {
    Tensor tensor(DType::kF32, {count});
    for (float& value : tensor.values<float>()) value = 0.1F;
    return b_.constant(graph_.unique_name("b"), std::move(tensor));
  }
  ValueId conv(ValueId x, const Shape& shape, int64_t groups, int64_t stride, float scale) {
    const ValueId y = b_.add("Conv", {x, weights(shape), bias(shape[0])},
                             {{"group", groups},
                              {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                              {"strides", std::vector<int64_t>{stride, stride}}});
    return rounded(b_.add("Relu", {y}), scale, 0);
  }

  Graph graph_;
  Builder b_;
};

std::vector<Tensor> run_network(const Executable& executable) {
  ExecutionContext context(executable);
  fill_inputs(context, executable, 1);
  context.run();
  std::vector<Tensor> outputs;
  outputs.push_back(context.output(0).clone());
  return outputs;
}

TEST(Quantized, NetworksRunOnBytes) {
  const Executable fast = compile(QuantizedNetwork().graph(), {});
  for (const StepInfo& step : fast.steps()) {
    EXPECT_TRUE(step.kernel.starts_with("native") || step.kernel == "view") << step.op;
    EXPECT_NE(step.op, "Conv");
    EXPECT_NE(step.op, "QuantizedAdd") << "sums belong to convolutions";
  }
  CompileOptions options;
  options.reference_only = true;
  const Executable floats = compile(QuantizedNetwork().graph(), options);
  const Tensor found = std::move(run_network(fast)[0]);
  const Tensor expected = std::move(run_network(floats)[0]);
  // Halves may fall elsewhere when sums are rounded in floats.
  const double step = double{QuantizedNetwork::kStep} * 1.001;
  bool differs = false;
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    EXPECT_NEAR(element_as_double(found, i), element_as_double(expected, i), step);
    differs = differs || element_as_double(found, i) != element_as_double(found, 0);
  }
  EXPECT_TRUE(differs) << "all results are the same: the test sees nothing";
}

}  // namespace
}  // namespace trainyard::runtime

// The kernels of a training step, whose weights change between runs, against the reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_runner.h"
#include "engine/kernels/native/cpu.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using TrainingKernelsInts = std::vector<int64_t>;

struct TrainingKernelsConvCase {
  int64_t batch, channels, height, width, filters, kernel, stride, pad, group, dilation;

  std::string text() const {
    return fmt::format("{}x{}x{}x{} to {}, kernel {} stride {} pad {} group {} dilation {}", batch,
                       channels, height, width, filters, kernel, stride, pad, group, dilation);
  }
};

const std::vector<TrainingKernelsConvCase>& cases() {
  static const std::vector<TrainingKernelsConvCase> kCases = {
      // batch, channels, height, width, filters, kernel, stride, pad, group, dilation
      // The second has weights so large that Winograd convolution transforms them when wanted; the
      // last two so many tiles that the gradient of the weights is summed in segments.
      {1, 3, 19, 23, 16, 7, 2, 3, 1, 1},   {7, 260, 8, 8, 250, 3, 1, 1, 1, 1},
      {7, 3, 12, 12, 24, 3, 1, 1, 1, 1},   {2, 3, 17, 18, 32, 3, 2, 1, 1, 1},
      {7, 1, 12, 12, 6, 5, 1, 0, 1, 1},    {7, 6, 12, 12, 16, 5, 1, 0, 1, 1},
      {1, 16, 14, 14, 32, 3, 1, 1, 1, 1},  {7, 16, 7, 9, 8, 3, 1, 1, 1, 1},
      {1, 24, 13, 11, 40, 3, 2, 1, 1, 1},  {2, 16, 15, 15, 16, 5, 1, 2, 1, 1},
      {1, 32, 14, 14, 64, 1, 1, 0, 1, 1},  {7, 32, 5, 5, 24, 1, 2, 0, 1, 1},
      {1, 12, 9, 9, 20, 3, 1, 1, 1, 1},    {1, 17, 8, 8, 9, 1, 1, 0, 1, 1},
      {1, 32, 14, 14, 32, 3, 1, 1, 32, 1}, {7, 24, 9, 9, 24, 3, 2, 1, 24, 1},
      {1, 20, 9, 9, 20, 3, 1, 1, 20, 1},   {2, 20, 10, 8, 20, 3, 2, 1, 20, 1},
      {1, 16, 1, 1, 16, 3, 2, 1, 16, 1},   {7, 16, 2, 3, 16, 3, 1, 1, 16, 1},
      {1, 16, 12, 12, 16, 5, 1, 2, 16, 1}, {1, 32, 8, 8, 64, 3, 1, 1, 2, 1},
      {1, 24, 8, 8, 36, 1, 1, 0, 3, 1},    {7, 12, 8, 8, 24, 3, 1, 1, 4, 1},
      {1, 16, 17, 17, 16, 3, 1, 2, 1, 2},  {1, 8, 30, 4, 16, 3, 1, 1, 1, 1},
      {1, 64, 1, 1, 32, 1, 1, 0, 1, 1},    {2, 24, 27, 27, 24, 3, 1, 1, 1, 1},
      {3, 32, 4, 4, 40, 3, 1, 1, 1, 1},    {7, 20, 9, 6, 28, 3, 1, 0, 1, 1},
      {1, 24, 11, 14, 24, 3, 1, 2, 1, 1},  {2, 64, 8, 8, 40, 3, 1, 1, 1, 1},
      {64, 16, 4, 4, 16, 3, 1, 1, 1, 1},   {7, 16, 33, 31, 16, 3, 1, 1, 1, 1},
      {7, 3, 14, 13, 20, 5, 2, 1, 1, 1},   {2, 32, 14, 14, 64, 3, 1, 1, 2, 1},
      {1, 16, 33, 31, 16, 3, 1, 1, 1, 1},  {3, 16, 61, 62, 24, 3, 1, 1, 1, 1},
      {5, 16, 30, 32, 24, 5, 1, 2, 1, 1},
  };
  return kCases;
}

Attributes attributes(const TrainingKernelsConvCase& c) {
  return {{"strides", TrainingKernelsInts{c.stride, c.stride}},
          {"pads", TrainingKernelsInts{c.pad, c.pad, c.pad, c.pad}},
          {"group", c.group},
          {"dilations", TrainingKernelsInts{c.dilation, c.dilation}}};
}

TensorType image_type(const TrainingKernelsConvCase& c) {
  return {DType::kF32, {c.batch, c.channels, c.height, c.width}};
}
TensorType weight_type(const TrainingKernelsConvCase& c) {
  return {DType::kF32, {c.filters, c.channels / c.group, c.kernel, c.kernel}};
}

Graph forward_graph(const TrainingKernelsConvCase& c, bool bias) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", image_type(c));
  const ValueId w = b.input("w", weight_type(c));
  std::vector<ValueId> inputs = {x, w};
  if (bias) inputs.push_back(b.input("b", {DType::kF32, {c.filters}}));
  graph.set_outputs({b.add("Conv", inputs, attributes(c))});
  return graph;
}

// The shape of dy is that of the convolution's result.
TensorType result_type(const TrainingKernelsConvCase& c) {
  const Graph forward = forward_graph(c, false);
  return forward.value(forward.outputs()[0]).type;
}

Graph input_gradient_graph(const TrainingKernelsConvCase& c) {
  Graph graph;
  Builder b(graph);
  const ValueId dy = b.input("dy", result_type(c));
  const ValueId w = b.input("w", weight_type(c));
  Attributes attrs = attributes(c);
  attrs["input_shape"] = image_type(c).shape.vector();
  graph.set_outputs({b.add("ConvGradInput", {dy, w}, attrs)});
  return graph;
}

Graph weight_gradient_graph(const TrainingKernelsConvCase& c) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", image_type(c));
  const ValueId dy = b.input("dy", result_type(c));
  Attributes attrs = attributes(c);
  attrs["weight_shape"] = weight_type(c).shape.vector();
  graph.set_outputs({b.add("ConvGradWeight", {x, dy}, attrs)});
  return graph;
}

std::string kernel_of_training_kernels(const Graph& graph, std::string_view op) {
  const Executable executable = compile_graph(graph, /*reference=*/false);
  for (const StepInfo& step : executable.steps()) {
    if (step.op == op) return step.kernel;
  }
  return "";
}

void expect_same_training_kernels(const Graph& graph, std::string_view op,
                                  const std::string& what) {
  SCOPED_TRACE(fmt::format("{} of {} by {}", op, what, kernel_of_training_kernels(graph, op)));
  const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
  for (const int threads : {1, 2}) {
    const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false, threads);
    ASSERT_EQ(fast.size(), reference.size());
    EXPECT_LE(relative_error(fast[0], reference[0]), kSumTolerance) << threads << " threads";
  }
}

TEST(TrainingKernels, ConvolutionForward) {
  for (const TrainingKernelsConvCase& c : cases()) {
    expect_same_training_kernels(forward_graph(c, false), "Conv", c.text());
    expect_same_training_kernels(forward_graph(c, true), "Conv", c.text() + " with bias");
  }
}

TEST(TrainingKernels, ConvolutionGradientOfTheInput) {
  for (const TrainingKernelsConvCase& c : cases()) {
    expect_same_training_kernels(input_gradient_graph(c), "ConvGradInput", c.text());
  }
}

TEST(TrainingKernels, ConvolutionGradientOfTheWeights) {
  for (const TrainingKernelsConvCase& c : cases()) {
    expect_same_training_kernels(weight_gradient_graph(c), "ConvGradWeight", c.text());
  }
}

TEST(TrainingKernels, ConvolutionsHaveFastKernels) {
  for (const TrainingKernelsConvCase& c : cases()) {
    if (c.channels < 8 || (c.group > 1 && c.group < c.channels)) continue;
    SCOPED_TRACE(c.text());
    EXPECT_NE(kernel_of_training_kernels(forward_graph(c, true), "Conv"), "reference");
    EXPECT_NE(kernel_of_training_kernels(input_gradient_graph(c), "ConvGradInput"), "reference");
    EXPECT_NE(kernel_of_training_kernels(weight_gradient_graph(c), "ConvGradWeight"), "reference");
  }
}

TEST(TrainingKernels, WeightGradientsDoNotDependOnTheThreads) {
  for (const TrainingKernelsConvCase& c : cases()) {
    const Graph graph = weight_gradient_graph(c);
    if (kernel_of_training_kernels(graph, "ConvGradWeight").find("native") == std::string::npos)
      continue;
    const std::vector<Tensor> one = run_graph(graph, /*reference=*/false, 1);
    const std::vector<Tensor> two = run_graph(graph, /*reference=*/false, 2);
    EXPECT_EQ(relative_error(two[0], one[0]), 0.0) << c.text();
  }
}

TEST(TrainingKernels, ConvolutionInOneAndThreeDimensions) {
  for (const int64_t rank : {1, 3}) {
    TrainingKernelsInts x_dims = {2, 16};
    TrainingKernelsInts w_dims = {24, 16};
    TrainingKernelsInts y_dims = {2, 24};
    for (int64_t i = 0; i < rank; ++i) {
      x_dims.push_back(7 + i);
      w_dims.push_back(3);
      y_dims.push_back(5 + i);
    }
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, Shape(x_dims)});
    const ValueId w = b.input("w", {DType::kF32, Shape(w_dims)});
    const ValueId dy = b.input("dy", {DType::kF32, Shape(y_dims)});
    graph.set_outputs({b.add("Conv", {x, w}),
                       b.add("ConvGradInput", {dy, w}, {{"input_shape", x_dims}}),
                       b.add("ConvGradWeight", {x, dy}, {{"weight_shape", w_dims}})});
    const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
    const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance) << rank << " dimensions";
    }
  }
}

TEST(TrainingKernels, LinearLayersWithChangingOperands) {
  for (const int64_t batch : {1, 7, 33}) {
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{64, 32}, {37, 19}, {300, 10}}) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, {batch, in}});
      const ValueId w = b.input("w", {DType::kF32, {out, in}});
      const ValueId bias = b.input("b", {DType::kF32, {out}});
      const ValueId dy = b.input("dy", {DType::kF32, {batch, out}});
      const int64_t yes = 1;
      graph.set_outputs({b.add("Gemm", {x, w, bias}, {{"transB", yes}}),
                         b.add("Gemm", {x, w}, {{"transB", yes}, {"alpha", 0.5F}}),
                         b.add("Gemm", {dy, w}), b.add("Gemm", {dy, x}, {{"transA", yes}}),
                         b.add("Gemm", {w, dy}, {{"transA", yes}, {"transB", yes}})});
      EXPECT_NE(kernel_of_training_kernels(graph, "Gemm"), "reference");
      const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
      const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
      for (size_t i = 0; i < fast.size(); ++i) {
        EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance)
            << "product " << i << " of batch " << batch << ", " << in << " to " << out;
      }
    }
  }
}

// As shortcuts of residual networks without weights do: every second position, more channels.
TEST(TrainingKernels, SlicesAndPadsOfBlocks) {
  struct Case {
    int64_t channels;
    TrainingKernelsInts pads;
  };
  const int64_t block = kernels::native::channel_block();
  for (const Case& c : {Case{2 * block, {0, block, 0, 0, 0, block, 0, 0}},
                        Case{2 * block, {0, -block, 1, 0, 0, block, 0, -1}},
                        Case{block + 5, {0, 0, 2, 1, 0, 0, -1, 3}},
                        Case{3 * block, {0, 0, -1, -1, 0, -block, -1, 0}}}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {3, block, 9, 10}});
    const ValueId w = b.constant("w", random_tensor({c.channels, block, 1, 1}, 3));
    const ValueId blocks = b.add("Conv", {x, w});
    const auto ints = [&](const TrainingKernelsInts& values) {
      return b.constant_ints("ints", values);
    };
    const std::vector<ValueId> ranges = {ints({0, 1}), ints({9, 10}), ints({2, 3}), ints({2, 3})};
    const ValueId slice = b.add("Slice", {blocks, ranges[0], ranges[1], ranges[2], ranges[3]});
    const ValueId spread = b.add("SliceGrad", {slice, ranges[0], ranges[1], ranges[2], ranges[3]},
                                 {{"input_shape", b.shape(blocks).vector()}});
    graph.set_outputs({slice, spread, b.add("Pad", {blocks, ints(c.pads)})});
    for (const std::string op : {"Slice", "SliceGrad", "Pad"}) {
      EXPECT_EQ(kernel_of_training_kernels(graph, op), "native") << op;
    }
    const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
    const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
    for (size_t i = 0; i < fast.size(); ++i) {
      EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance) << "output " << i;
    }
  }
}

}  // namespace
}  // namespace trainyard::runtime

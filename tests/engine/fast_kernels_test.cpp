// Every fast kernel against the reference, over a sweep of shapes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_runner.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using FastKernelsInts = std::vector<int64_t>;

std::string kernel_of_fast_kernels(const Graph& graph, std::string_view op) {
  const Executable executable = compile_graph(graph, /*reference=*/false);
  for (const StepInfo& step : executable.steps()) {
    if (step.op == op) return step.kernel;
  }
  return "";
}

void expect_same_fast_kernels(const Graph& graph, const std::string& what) {
  SCOPED_TRACE(what);
  const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
  const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
  ASSERT_EQ(fast.size(), reference.size());
  for (size_t i = 0; i < fast.size(); ++i) {
    EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance);
  }
}

struct FastKernelsConvCase {
  int64_t batch, channels, height, width, filters, kernel, stride, pad, group, dilation;
};

Graph conv_graph(const FastKernelsConvCase& c, bool bias, bool relu, bool residual) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {c.batch, c.channels, c.height, c.width}});
  const ValueId w =
      b.constant("w", random_tensor({c.filters, c.channels / c.group, c.kernel, c.kernel}, 7));
  std::vector<ValueId> inputs = {x, w};
  if (bias) inputs.push_back(b.constant("b", random_tensor({c.filters}, 8)));
  ValueId y = b.add("Conv", inputs,
                    {{"strides", FastKernelsInts{c.stride, c.stride}},
                     {"pads", FastKernelsInts{c.pad, c.pad, c.pad, c.pad}},
                     {"group", c.group},
                     {"dilations", FastKernelsInts{c.dilation, c.dilation}}});
  if (residual) y = b.add("Add", {y, b.input("r", b.type(y))});
  if (relu) y = b.add("Relu", {y});
  graph.set_outputs({y});
  return graph;
}

// Transformed weights depend on the tile: one for all batches, so that they are in memory once.
TEST(FastKernels, BatchesThatShareWeightsHaveTheSameTiles) {
  std::vector<std::string> kernels;
  for (const int64_t batch : {1, 8}) {
    CompileOptions options;
    options.share_constants = true;
    const FastKernelsConvCase small = {batch, 32, 7, 7, 32, 3, 1, 1, 1, 1};
    const Executable executable = compile(conv_graph(small, false, false, false), options);
    for (const StepInfo& step : executable.steps()) {
      if (step.op == "Conv") kernels.push_back(step.kernel);
    }
  }
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_NE(kernels[0].find("winograd"), std::string::npos);
  EXPECT_EQ(kernels[0], kernels[1]);
}

TEST(FastKernels, Convolution) {
  const std::vector<FastKernelsConvCase> cases = {
      // batch, channels, height, width, filters, kernel, stride, pad, group, dilation
      {1, 3, 19, 23, 16, 7, 2, 3, 1, 1},   {7, 3, 12, 12, 24, 3, 1, 1, 1, 1},
      {1, 16, 14, 14, 32, 3, 1, 1, 1, 1},  {7, 16, 7, 9, 8, 3, 1, 1, 1, 1},
      {1, 24, 13, 11, 40, 3, 2, 1, 1, 1},  {2, 16, 15, 15, 16, 5, 1, 2, 1, 1},
      {1, 32, 14, 14, 64, 1, 1, 0, 1, 1},  {7, 32, 5, 5, 24, 1, 2, 0, 1, 1},
      {1, 12, 9, 9, 20, 3, 1, 1, 1, 1},    {1, 17, 8, 8, 9, 1, 1, 0, 1, 1},
      {1, 32, 14, 14, 32, 3, 1, 1, 32, 1}, {7, 24, 9, 9, 24, 3, 2, 1, 24, 1},
      {1, 20, 9, 9, 20, 3, 1, 1, 20, 1},   {1, 32, 8, 8, 64, 3, 1, 1, 2, 1},
      {1, 24, 8, 8, 36, 1, 1, 0, 3, 1},    {7, 12, 8, 8, 24, 3, 1, 1, 4, 1},
      {1, 16, 17, 17, 16, 3, 1, 2, 1, 2},  {1, 8, 30, 4, 16, 3, 1, 1, 1, 1},
      {1, 64, 1, 1, 32, 1, 1, 0, 1, 1},    {2, 48, 27, 27, 48, 3, 1, 1, 1, 1},
      {2, 32, 14, 14, 64, 3, 1, 1, 2, 1},  {3, 32, 15, 15, 96, 5, 1, 2, 2, 1},
      {2, 3, 40, 37, 24, 11, 4, 2, 1, 1},  {7, 20, 9, 9, 20, 3, 2, 1, 20, 1},
  };
  for (const FastKernelsConvCase& c : cases) {
    for (const bool fused : {false, true}) {
      expect_same_fast_kernels(
          conv_graph(c, fused, fused, fused),
          fmt::format("{}x{}x{}x{} to {}, kernel {} stride {} pad {} group {} dilation {}{}",
                      c.batch, c.channels, c.height, c.width, c.filters, c.kernel, c.stride, c.pad,
                      c.group, c.dilation, fused ? " fused" : ""));
    }
  }
  EXPECT_NE(kernel_of_fast_kernels(conv_graph(cases[2], true, true, false), "FusedConv"),
            "reference");
}

// Run with the library kept to vectors of 8 floats and without (tests/CMakeLists.txt).
TEST(FastKernels, LibraryAndOwnConvolutionsAgreeOnBlocks) {
  Graph graph;
  Builder b(graph);
  ValueId x = b.input("x", {DType::kF32, {1, 32, 14, 14}});
  struct Conv {
    int64_t group;
    int64_t size;
  };
  for (const auto& [group, size] : {Conv{1, 1}, Conv{32, 3}, Conv{1, 3}, Conv{32, 5}, Conv{1, 3}}) {
    const ValueId w = b.constant(fmt::format("w{}", graph.num_nodes()),
                                 random_tensor({32, 32 / group, size, size}, 7));
    x = b.add("Conv", {x, w}, {{"group", group}, {"pads", FastKernelsInts(4, size / 2)}});
  }
  x = b.add("MaxPool", {x}, {{"kernel_shape", FastKernelsInts{2, 2}}});
  graph.set_outputs({x});
  int reorders = 0;
  const Executable executable = compile_graph(graph, /*reference=*/false);
  for (const StepInfo& step : executable.steps()) {
    reorders += step.op == "Reorder" ? 1 : 0;
  }
  EXPECT_EQ(reorders, 2) << "one at the beginning, one at the end";
  expect_same_fast_kernels(graph, "library and own in turns");
}

TEST(FastKernels, ConvolutionInOneAndThreeDimensions) {
  for (const int64_t rank : {1, 3}) {
    Graph graph;
    Builder b(graph);
    std::vector<int64_t> x_dims = {2, 16};
    std::vector<int64_t> w_dims = {24, 16};
    for (int64_t i = 0; i < rank; ++i) {
      x_dims.push_back(7 + i);
      w_dims.push_back(3);
    }
    const ValueId x = b.input("x", {DType::kF32, Shape(x_dims)});
    const ValueId w = b.constant("w", random_tensor(Shape(w_dims), 3));
    graph.set_outputs({b.add("Conv", {x, w})});
    expect_same_fast_kernels(graph, fmt::format("{} spatial dimensions", rank));
  }
}

TEST(FastKernels, ConvolutionWithWeightsThatAreComputed) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 16, 9, 9}});
  const ValueId w = b.input("w", {DType::kF32, {24, 16, 3, 3}});
  graph.set_outputs({b.add("Conv", {x, w})});
  expect_same_fast_kernels(graph, "computed weights");
}

TEST(FastKernels, Activations) {
  for (const std::string op : {"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "HardSwish",
                               "Softplus", "Swish", "Abs", "Exp"}) {
    for (const int64_t channels : {16, 13}) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, {2, 16, 6, 5}});
      const ValueId w = b.constant("w", random_tensor({channels, 16, 3, 3}, 3));
      const ValueId conv = b.add("Conv", {x, w});
      graph.set_outputs({b.add(op, {x}), b.add(op, {conv}), b.add("Relu", {conv})});
      expect_same_fast_kernels(graph, op);
    }
  }
}

// Near and far from zero, where it is computed in two ways, and beyond.
TEST(FastKernels, TanhIsPreciseEverywhere) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2011}});
  const ValueId scaled = b.add("Mul", {x, b.constant("ten", Tensor::scalar(10.0F))});
  graph.set_outputs({b.add("Tanh", {x}), b.add("Tanh", {scaled}),
                     b.add("Tanh", {b.add("Mul", {scaled, scaled})})});
  EXPECT_NE(kernel_of_fast_kernels(graph, "Tanh").find("native"), std::string::npos);
  const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
  const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
  constexpr float kFourUnits = 4 * 1.2e-7F;
  for (size_t i = 0; i < fast.size(); ++i) {
    for (int64_t j = 0; j < fast[i].num_elements(); ++j) {
      const double exact = element_as_double(reference[i], j);
      EXPECT_NEAR(element_as_double(fast[i], j), exact, std::fabs(exact) * double{kFourUnits});
    }
  }
}

TEST(FastKernels, ConvolutionWithTanh) {
  for (const int64_t channels : {6, 16}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {3, 8, 9, 7}});
    const ValueId w = b.constant("w", random_tensor({channels, 8, 5, 5}, 3));
    graph.set_outputs({b.add("Tanh", {b.add("Conv", {x, w})})});
    expect_same_fast_kernels(graph, fmt::format("tanh of {} channels", channels));
  }
}

// Channels that fill their blocks and those that do not, whose padding has to stay zero.
TEST(FastKernels, ConvolutionWithSwish) {
  for (const float alpha : {1.0F, 1.702F}) {
    for (const int64_t channels : {6, 16}) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, {3, 8, 9, 7}});
      const ValueId w = b.constant("w", random_tensor({channels, 8, 1, 1}, 3));
      const ValueId v = b.constant("v", random_tensor({4, channels, 1, 1}, 4));
      const ValueId swish = b.add("Swish", {b.add("Conv", {x, w})}, {{"alpha", alpha}});
      graph.set_outputs({b.add("Conv", {swish, v})});
      expect_same_fast_kernels(graph, fmt::format("swish {} of {} channels", alpha, channels));
    }
  }
}

TEST(FastKernels, Pooling) {
  for (const std::string op : {"MaxPool", "AveragePool"}) {
    for (const int64_t channels : {3, 16, 21}) {
      for (const int64_t ceil : {0, 1}) {
        for (const int64_t pad : {0, 1}) {
          Graph graph;
          Builder b(graph);
          const ValueId x = b.input("x", {DType::kF32, {3, channels, 13, 10}});
          graph.set_outputs({b.add(op, {x},
                                   {{"kernel_shape", FastKernelsInts{3, 3}},
                                    {"strides", FastKernelsInts{2, 2}},
                                    {"pads", FastKernelsInts{pad, pad, pad, pad}},
                                    {"ceil_mode", ceil}})});
          expect_same_fast_kernels(
              graph, fmt::format("{} of {} channels, ceil {}, pad {}", op, channels, ceil, pad));
        }
      }
    }
  }
  for (const std::string op : {"GlobalMaxPool", "GlobalAveragePool"}) {
    Graph graph;
    Builder b(graph);
    graph.set_outputs({b.add(op, {b.input("x", {DType::kF32, {7, 20, 6, 5}})})});
    expect_same_fast_kernels(graph, op);
  }
}

TEST(FastKernels, MatrixProducts) {
  for (const int64_t batch : {1, 7, 33}) {
    for (const int64_t transposed : {0, 1}) {
      for (const auto& [in, out] : {std::pair<int64_t, int64_t>{64, 32}, {37, 19}, {300, 257}}) {
        Graph graph;
        Builder b(graph);
        const ValueId x = b.input("x", {DType::kF32, {batch, in}});
        const Shape shape = transposed != 0 ? Shape{out, in} : Shape{in, out};
        const ValueId w = b.constant("w", random_tensor(shape, 4));
        const ValueId c = b.constant("c", random_tensor({out}, 5));
        const ValueId y = b.add("Gemm", {x, w, c}, {{"transB", transposed}});
        graph.set_outputs(
            {b.add("Relu", {y}), b.add("MatMul", {x, b.input("m", {DType::kF32, {in, 5}})})});
        expect_same_fast_kernels(
            graph, fmt::format("{} x {} x {}, transB {}", batch, in, out, transposed));
      }
    }
  }
}

TEST(FastKernels, SoftmaxAndLrn) {
  for (const int64_t axis : {1, 2, -1}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {3, 9, 5, 7}});
    const ValueId many = b.input("many", {DType::kF32, {2, 40, 5, 7}});
    graph.set_outputs(
        {b.add("Softmax", {x}, {{"axis", axis}}), b.add("LogSoftmax", {x}, {{"axis", axis}}),
         b.add("LRN", {x}, {{"size", int64_t{5}}}), b.add("LRN", {many}, {{"size", int64_t{5}}})});
    expect_same_fast_kernels(graph, fmt::format("axis {}", axis));
  }
}

TEST(FastKernels, ArithmeticFollowsBlockedLayouts) {
  for (const std::string op : {"Add", "Sub", "Mul", "Div"}) {
    for (const int64_t channels : {16, 12}) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, {3, 8, 6, 6}});
      const ValueId w = b.constant("w", random_tensor({channels, 8, 3, 3}, 3));
      const ValueId conv = b.add("Conv", {x, w});
      const ValueId gate = b.add("Sigmoid", {b.add("GlobalAveragePool", {conv})});
      const ValueId other = b.add("Sigmoid", {conv});
      const ValueId one = b.add("Exp", {b.input("s", {DType::kF32, {1}})});
      graph.set_outputs({b.add(op, {conv, other}), b.add(op, {conv, gate}),
                         b.add(op, {gate, other}), b.add(op, {conv, one}),
                         b.add("Relu", {b.add(op, {x, x})})});
      expect_same_fast_kernels(graph, fmt::format("{} of {} channels", op, channels));
    }
  }
}

TEST(FastKernels, NormalizationAndScaling) {
  for (const int64_t channels : {16, 13}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {2, channels, 5, 5}});
    const auto numbers = [&](std::string_view name, uint64_t seed) {
      Tensor tensor = random_tensor({channels}, seed);
      for (float& value : tensor.values<float>()) value = value * value + 0.5F;
      return b.constant(name, std::move(tensor));
    };
    const ValueId scale = numbers("scale", 1);
    const ValueId shift = numbers("shift", 2);
    const ValueId mean = numbers("mean", 3);
    const ValueId variance = numbers("variance", 4);
    const ValueId w = b.constant("w", random_tensor({channels, channels, 3, 3}, 5));
    const ValueId before = b.add("BatchNormalization", {x, scale, shift, mean, variance});
    const ValueId conv = b.add("Conv", {b.add("Relu", {before}), w});
    const ValueId after = b.add("BatchNormalization", {conv, scale, shift, mean, variance});
    graph.set_outputs({after, before});
    expect_same_fast_kernels(graph, fmt::format("{} channels", channels));
  }
}

}  // namespace
}  // namespace trainyard::runtime

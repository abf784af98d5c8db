// Fast kernels for reductions, transposition, resizing, transposed convolution, joining and
// splitting, against the reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_runner.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using FastMovementInts = std::vector<int64_t>;

// Compares with the reference and returns the kernel of the last step.
std::string check(const Graph& graph, const std::string& what) {
  SCOPED_TRACE(what);
  const std::vector<Tensor> fast = run_graph(graph, /*reference=*/false);
  const std::vector<Tensor> reference = run_graph(graph, /*reference=*/true);
  for (size_t i = 0; i < reference.size(); ++i) {
    EXPECT_LE(relative_error(fast[i], reference[i]), kSumTolerance);
  }
  std::string kernel;
  const Executable executable = compile_graph(graph, /*reference=*/false);
  for (const StepInfo& step : executable.steps()) {
    if (step.op != "Reorder") kernel = step.kernel;
  }
  return kernel;
}

TEST(FastMovement, Reductions) {
  const Shape shape{7, 5, 9, 37};
  const FastMovementInts axes[] = {{3}, {2, 3}, {1}, {0}, {0, 1, 2, 3}, {1, 2}};
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare"}) {
    for (const FastMovementInts& reduced : axes) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, shape});
      const bool is_sum = std::string_view(op) == "ReduceSum";
      graph.set_outputs({is_sum ? b.add(op, {x, b.constant_ints("axes", reduced)})
                                : b.add(op, {x}, {{"axes", reduced}})});
      const std::string kernel = check(graph, fmt::format("{} {}", op, reduced.size()));
      EXPECT_TRUE(kernel.starts_with("native")) << op << ": " << kernel;
    }
  }
}

TEST(FastMovement, Transposition) {
  const std::pair<Shape, FastMovementInts> cases[] = {{{5, 7}, {1, 0}},
                                                      {{3, 4, 5}, {2, 0, 1}},
                                                      {{7, 3, 9, 11}, {0, 2, 3, 1}},
                                                      {{1, 9, 4, 4, 3}, {4, 3, 2, 1, 0}}};
  for (const auto& [shape, perm] : cases) {
    Graph graph;
    Builder b(graph);
    graph.set_outputs({b.add("Transpose", {b.input("x", {DType::kF32, shape})}, {{"perm", perm}})});
    const std::string kernel = check(graph, shape.to_string());
    EXPECT_TRUE(kernel.starts_with("onednn")) << kernel;
  }
}

TEST(FastMovement, Resizing) {
  struct Case {
    std::vector<float> scales;
    const char* mode;
    const char* coordinates;
    const char* nearest;
  };
  const Case cases[] = {{{1, 1, 2, 2}, "nearest", "half_pixel", "round_prefer_floor"},
                        {{1, 1, 3, 2}, "nearest", "asymmetric", "floor"},
                        {{1, 1, 2, 2}, "linear", "half_pixel", "round_prefer_floor"},
                        {{1, 1, 0.5F, 2}, "linear", "half_pixel", "round_prefer_floor"}};
  for (const int64_t channels : {3, 16}) {
    for (const Case& c : cases) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, {2, channels, 6, 8}});
      const ValueId scales = b.constant("scales", Tensor::of<float>({4}, c.scales));
      const Attributes attributes = {{"mode", std::string(c.mode)},
                                     {"coordinate_transformation_mode", std::string(c.coordinates)},
                                     {"nearest_mode", std::string(c.nearest)}};
      graph.set_outputs({b.add("Resize", {x, kNoValue, scales}, attributes)});
      const std::string kernel = check(graph, fmt::format("{} {}", c.mode, channels));
      EXPECT_TRUE(kernel.starts_with("onednn")) << kernel;
    }
  }
}

TEST(FastMovement, TransposedConvolution) {
  struct Case {
    int64_t batch, channels, filters, kernel, stride, pad, group, dilation, extra;
  };
  const Case cases[] = {{1, 16, 8, 3, 2, 1, 1, 1, 1}, {7, 8, 16, 2, 2, 0, 1, 1, 0},
                        {2, 5, 3, 4, 2, 1, 1, 1, 0},  {1, 16, 16, 3, 1, 1, 2, 1, 0},
                        {1, 8, 8, 3, 2, 2, 1, 2, 0},  {2, 16, 8, 5, 3, 2, 1, 1, 2}};
  for (const Case& c : cases) {
    for (const bool bias : {false, true}) {
      Graph graph;
      Builder b(graph);
      std::vector<ValueId> inputs = {
          b.input("x", {DType::kF32, {c.batch, c.channels, 7, 9}}),
          b.constant("w", random_tensor({c.channels, c.filters / c.group, c.kernel, c.kernel}, 3))};
      if (bias) inputs.push_back(b.constant("b", random_tensor({c.filters}, 4)));
      graph.set_outputs({b.add("ConvTranspose", inputs,
                               {{"strides", FastMovementInts{c.stride, c.stride}},
                                {"pads", FastMovementInts{c.pad, c.pad, c.pad, c.pad}},
                                {"dilations", FastMovementInts{c.dilation, c.dilation}},
                                {"output_padding", FastMovementInts{c.extra, c.extra}},
                                {"group", c.group}})});
      const std::string kernel =
          check(graph, fmt::format("{} -> {}, kernel {}", c.channels, c.filters, c.kernel));
      EXPECT_TRUE(kernel.starts_with("onednn")) << kernel;
    }
  }
}

TEST(FastMovement, JoiningAndSplittingRows) {
  for (const int64_t axis : {0, 1, 2, 3}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {4, 6, 2, 8}});
    const std::vector<ValueId> halves = b.add_multi("Split", {x}, 2, {{"axis", axis}});
    const ValueId swapped = b.add("Concat", {halves[1], halves[0]}, {{"axis", axis}});
    graph.set_outputs({swapped, halves[0]});
    check(graph, fmt::format("axis {}", axis));
  }
}

}  // namespace
}  // namespace trainyard::runtime

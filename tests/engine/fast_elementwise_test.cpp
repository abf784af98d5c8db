// Element-wise operators with any broadcasting, functions of one element, padding and Fourier
// transforms: the fast kernels against the reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_inputs.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using ElementInts = std::vector<int64_t>;

void expect_fast_and_same(const Graph& graph, const std::string& what,
                          double tolerance = kSumTolerance) {
  SCOPED_TRACE(what);
  EXPECT_TRUE(reference_operators(graph).empty());
  const std::vector<Tensor> fast = run_typed(graph, /*reference=*/false, 5);
  const std::vector<Tensor> reference = run_typed(graph, /*reference=*/true, 5);
  ASSERT_EQ(fast.size(), reference.size());
  EXPECT_LE(relative_error(fast[0], reference[0]), tolerance);
}

const std::pair<Shape, Shape> kShapes[] = {{{3, 4, 5, 6}, {3, 1, 1, 6}},
                                           {{3, 4, 5, 6}, {1, 4, 5, 1}},
                                           {{4, 1, 6}, {1, 5, 1}},
                                           {{2, 3, 1}, {7}},
                                           {{6}, {2, 3, 6}},
                                           {{1}, {1}},
                                           {{2, 3, 4}, {2, 3, 4}},
                                           {{5, 1}, {5, 9000}},
                                           {{}, {3, 3}}};

TEST(FastElementwise, Broadcasting) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Less", "Equal",
                         "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or"}) {
    for (const auto& [a, b] : kShapes) {
      if (op == std::string_view("PRelu") && broadcast_shapes(a, b) != a) continue;
      for (const DType dtype : {DType::kF32, DType::kI64, DType::kBool}) {
        const bool logical = op == std::string_view("And") || op == std::string_view("Or");
        if (logical != (dtype == DType::kBool)) continue;
        const std::string_view of_floats = "Div Max Min PRelu";
        if (dtype == DType::kI64 && of_floats.find(op) != std::string_view::npos) continue;
        Graph graph;
        Builder builder(graph);
        const ValueId x = builder.input("a", {dtype, a});
        graph.set_outputs({builder.add(op, {x, builder.input("b", {dtype, b})})});
        expect_fast_and_same(
            graph, fmt::format("{} {} {} {}", op, a.to_string(), b.to_string(), dtype_name(dtype)));
      }
    }
  }
}

TEST(FastElementwise, Power) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.add("Abs", {b.input("x", {DType::kF32, {3, 40}})});
  graph.set_outputs({b.add("Pow", {x, b.input("n", {DType::kF32, {40}})})});
  expect_fast_and_same(graph, "Pow");
}

TEST(FastElementwise, Choice) {
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kU8}) {
    for (const auto& [a, b] : kShapes) {
      for (const auto& [condition, yes, no] : {std::tuple{a, b, Shape{}}, std::tuple{Shape{}, a, b},
                                               std::tuple{b, a, a}, std::tuple{a, Shape{1}, b}}) {
        Graph graph;
        Builder builder(graph);
        const ValueId c = builder.input("c", {DType::kBool, condition});
        graph.set_outputs({builder.add(
            "Where", {c, builder.input("a", {dtype, yes}), builder.input("b", {dtype, no})})});
        expect_fast_and_same(
            graph, fmt::format("{} {} {}", condition.to_string(), yes.to_string(), no.to_string()));
      }
    }
  }
}

TEST(FastElementwise, FunctionsOfOneElement) {
  for (const char* op : {"Ceil", "Cos", "Erf", "Floor", "HardSigmoid", "Log", "Neg", "Reciprocal",
                         "Round", "Sign", "Sin", "Softsign"}) {
    Graph graph;
    Builder b(graph);
    ValueId x = b.input("x", {DType::kF32, {3, 67}});
    x = b.add("Mul", {x, b.constant_scalar("far", 5.0F)});
    if (op == std::string_view("Log") || op == std::string_view("Reciprocal"))
      x = b.add("Add", {x, b.constant_scalar("positive", 5.5F)});
    graph.set_outputs({b.add(op, {x})});
    expect_fast_and_same(graph, op, 1e-6);
  }
}

TEST(FastElementwise, ErfNearZeroKeepsItsDigits) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {200}});
  graph.set_outputs({b.add("Erf", {b.add("Mul", {x, b.constant_scalar("near", 1e-4F)})})});
  expect_fast_and_same(graph, "Erf", 1e-6);
}

TEST(FastElementwise, Padding) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    for (const ElementInts& pads :
         {ElementInts{0, 0, 1, 2, 0, 0, 2, 1}, ElementInts{1, 0, 0, 3, 0, 2, 0, 0},
          ElementInts{0, 0, -1, -2, 0, 0, 2, 1}, ElementInts{0, 0, 0, 0, 0, 0, 0, 0}}) {
      for (const DType dtype : {DType::kF32, DType::kU8, DType::kI64}) {
        Graph graph;
        Builder b(graph);
        std::vector<ValueId> inputs = {b.input("x", {dtype, {2, 3, 5, 7}}),
                                       b.constant_ints("pads", pads)};
        if (dtype == DType::kF32) inputs.push_back(b.constant_scalar("fill", 2.5F));
        graph.set_outputs({b.add("Pad", inputs, {{"mode", std::string(mode)}})});
        expect_fast_and_same(graph, fmt::format("{} {} {}", mode, pads[2], dtype_name(dtype)), 0);
      }
    }
  }
}

TEST(FastElementwise, BlocksBetweenStridedPlaces) {
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kU8}) {
    const auto check = [&](const Shape& shape, const std::string& what, const auto& make) {
      Graph graph;
      Builder b(graph);
      graph.set_outputs(make(b, b.input("x", {dtype, shape})));
      expect_fast_and_same(graph, what, 0);
    };
    using Values = std::vector<ValueId>;
    check({3, 8, 5}, "slice", [](Builder& b, ValueId x) {
      const auto numbers = [&](const char* name, const ElementInts& values) {
        return b.constant_ints(name, values);
      };
      return Values{b.add("Slice", {x, numbers("starts", {-1, 1}), numbers("ends", {-9, 7}),
                                    numbers("axes", {0, 1}), numbers("steps", {-1, 2})})};
    });
    check({2, 1, 3}, "expand", [](Builder& b, ValueId x) {
      return Values{b.add("Expand", {x, b.constant_ints("to", ElementInts{4, 2, 5, 3})})};
    });
    check({2, 9, 3}, "split and join", [](Builder& b, ValueId x) {
      const std::vector<ValueId> parts = b.add_multi(
          "Split", {x, b.constant_ints("sizes", ElementInts{2, 3, 4})}, 3, {{"axis", int64_t{1}}});
      return Values{b.add("Concat", {parts[2], parts[0], parts[1]}, {{"axis", int64_t{1}}})};
    });
    for (const char* mode : {"DCR", "CRD"}) {
      check({2, 12, 3, 5}, mode, [&](Builder& b, ValueId x) {
        const ValueId wide =
            b.add("DepthToSpace", {x}, {{"blocksize", int64_t{2}}, {"mode", std::string(mode)}});
        return Values{b.add("SpaceToDepth", {wide}, {{"blocksize", int64_t{2}}})};
      });
    }
  }
}

// Products of small factors, primes, and powers of two.
TEST(FastElementwise, FourierTransforms) {
  for (const int64_t points : {1, 2, 3, 8, 17, 60, 64, 97, 143, 400, 1009}) {
    for (const bool inverse : {false, true}) {
      for (const int64_t parts : {1, 2}) {
        Graph graph;
        Builder b(graph);
        const ValueId x = b.input("x", {DType::kF32, {2, points, 3, parts}});
        graph.set_outputs({b.add("DFT", {x, kNoValue, b.constant_ints("axis", ElementInts{1})},
                                 {{"inverse", int64_t{inverse}}})});
        expect_fast_and_same(graph, fmt::format("{} {} {}", points, inverse, parts));
      }
    }
  }
}

TEST(FastElementwise, HalfSpectraAndLengths) {
  for (const bool inverse : {false, true}) {
    for (const int64_t length : {0, 10, 24}) {
      Graph graph;
      Builder b(graph);
      const ValueId x = b.input("x", {DType::kF32, {2, 13, inverse ? 2 : 1}});
      const ValueId points = length > 0 ? b.constant_ints("points", ElementInts{length}) : kNoValue;
      graph.set_outputs(
          {b.add("DFT", {x, points}, {{"inverse", int64_t{inverse}}, {"onesided", int64_t{1}}})});
      expect_fast_and_same(graph, fmt::format("{} {}", inverse, length));
    }
  }
}

TEST(FastElementwise, Frames) {
  for (const bool windowed : {true, false}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {2, 130, 1}});
    const ValueId window = windowed ? b.constant("window", random_tensor({40}, 5)) : kNoValue;
    graph.set_outputs({b.add("STFT", {x, b.constant_ints("step", ElementInts{16}), window,
                                      b.constant_ints("length", ElementInts{40})})});
    expect_fast_and_same(graph, fmt::format("{}", windowed));
  }
}

}  // namespace
}  // namespace trainyard::runtime

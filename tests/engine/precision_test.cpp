// Products in bf16: exact beside the same sums of rounded operands, and near what f32 computes.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/graph_runner.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/half_gemm.h"
#include "engine/kernels/native/gemm/wide_linear.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

using kernels::Precision;
using kernels::native::HalfGemm;
using kernels::native::HalfGemmShape;
using kernels::native::WideLinear;

// Sums of f32 in another order.
constexpr double kExactTolerance = 1e-5;

class Bf16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::native::cpu_has_avx512_bf16()) GTEST_SKIP() << "the processor has no bf16";
    kernels::set_threads(2);
  }
};

double as_bf16(float x) {
  return double{bf16_to_f32(f32_to_bf16(x))};
}

struct Matrix {
  const Tensor& data;
  bool transposed;
  int64_t rows, columns;

  double at(int64_t row, int64_t column) const {
    const int64_t i = transposed ? column * rows + row : row * columns + column;
    return as_bf16(data.values<float>()[static_cast<size_t>(i)]);
  }
};

// Of y beside the exact sums of rounded operands.
double product_error(const Matrix& a, const Matrix& b, const float* bias, const float* y) {
  double largest = 1e-6;
  double error = 0;
  for (int64_t row = 0; row < a.rows; ++row) {
    for (int64_t column = 0; column < b.columns; ++column) {
      double sum = bias == nullptr ? 0 : double{bias[column]};
      for (int64_t k = 0; k < a.columns; ++k) sum += a.at(row, k) * b.at(k, column);
      largest = std::max(largest, std::fabs(sum));
      error = std::max(error, std::fabs(sum - double{y[row * b.columns + column]}));
    }
  }
  return error / largest;
}

const std::vector<HalfGemmShape> kHalfShapes = {
    {1, 1, 1}, {8, 32, 48}, {9, 33, 49}, {7, 5, 17}, {64, 96, 40}, {3, 130, 200}, {65, 16, 1}};

TEST_F(Bf16, ProductsOfChangingOperandsAreThoseOfRoundedOnes) {
  for (HalfGemmShape shape : kHalfShapes) {
    for (int turned = 0; turned < 4; ++turned) {
      shape.a_transposed = (turned & 1) != 0;
      shape.b_transposed = (turned & 2) != 0;
      SCOPED_TRACE(fmt::format("{}x{}x{}, {}", shape.rows, shape.depth, shape.columns, turned));
      const Tensor a = random_tensor({shape.rows * shape.depth}, 1);
      const Tensor b = random_tensor({shape.depth * shape.columns}, 2);
      const Tensor bias = random_tensor({shape.columns}, 3);
      const HalfGemm gemm(shape, {});
      Tensor scratch(DType::kU8, {gemm.scratch_bytes()});
      std::memset(scratch.data(), 0x7f, static_cast<size_t>(scratch.num_bytes()));
      Tensor y(DType::kF32, {shape.rows, shape.columns});
      const float* added = bias.values<float>().data();
      gemm.run(a.values<float>().data(), b.values<float>().data(), added, y.values<float>().data(),
               scratch.data());
      EXPECT_LE(product_error({a, shape.a_transposed, shape.rows, shape.depth},
                              {b, shape.b_transposed, shape.depth, shape.columns}, added,
                              y.values<float>().data()),
                kExactTolerance);
    }
  }
}

TEST_F(Bf16, LinearLayersAreProductsOfRoundedOperands) {
  for (const HalfGemmShape& shape : kHalfShapes) {
    for (const bool by_outputs : {false, true}) {
      SCOPED_TRACE(fmt::format("{}x{}x{}, {}", shape.rows, shape.depth, shape.columns, by_outputs));
      const Tensor x = random_tensor({shape.rows * shape.depth}, 1);
      const Tensor w = random_tensor({shape.depth * shape.columns}, 2);
      const WideLinear linear({shape.rows, shape.depth, shape.columns}, w.values<float>().data(),
                              by_outputs ? shape.depth : 1, by_outputs ? 1 : shape.columns, nullptr,
                              {}, Precision::kBf16);
      Tensor scratch(DType::kU8, {linear.scratch_bytes()});
      Tensor y(DType::kF32, {shape.rows, shape.columns});
      linear.run(x.values<float>().data(), y.values<float>().data(), scratch.data());
      EXPECT_LE(product_error({x, false, shape.rows, shape.depth},
                              {w, by_outputs, shape.depth, shape.columns}, nullptr,
                              y.values<float>().data()),
                kExactTolerance);
    }
  }
}

// x W^T + b, then gelu, of constant or changing weights.
Graph linear_graph(bool constant) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {40, 64}});
  const ValueId w = constant ? b.constant("w", random_tensor({96, 64}, 5))
                             : b.input("w", {DType::kF32, {96, 64}});
  const ValueId y =
      b.add("Gemm", {x, w, b.constant("b", random_tensor({96}, 6))}, {{"transB", int64_t{1}}});
  graph.set_outputs({b.add("Gelu", {y})});
  return graph;
}

std::vector<Tensor> run_in(const Graph& graph, Precision precision, std::string* kernel) {
  CompileOptions options;
  options.threads = 2;
  options.precision = precision;
  const Executable executable = compile(graph, options);
  *kernel = executable.steps()[0].kernel;
  EXPECT_EQ(executable.steps()[0].precision, precision);
  ExecutionContext context(executable);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < executable.inputs().size(); ++i) {
    inputs.push_back(random_tensor(executable.inputs()[i].type.shape, 100 + i));
  }
  return run_once(context, inputs);
}

TEST_F(Bf16, GraphsAreComputedSoOnlyWhenAsked) {
  for (const bool constant : {true, false}) {
    std::string kernel;
    const std::vector<Tensor> exact = run_in(linear_graph(constant), Precision::kF32, &kernel);
    EXPECT_EQ(kernel.find("bf16"), std::string::npos) << kernel;
    const std::vector<Tensor> rough = run_in(linear_graph(constant), Precision::kBf16, &kernel);
    EXPECT_NE(kernel.find("bf16"), std::string::npos) << kernel;
    const double error = relative_error(rough[0], exact[0]);
    EXPECT_LE(error, 1.0 / 128);  // eight bits of mantissa
    EXPECT_GT(error, 1e-6);
  }
}

TEST_F(Bf16, ReferenceKernelsRefuse) {
  CompileOptions options;
  options.precision = Precision::kBf16;
  options.reference_only = true;
  EXPECT_THROW(compile(linear_graph(true), options), Error);
}

TEST(Precision, UnknownNamesAreErrors) {
  EXPECT_EQ(kernels::precision_named("bf16"), Precision::kBf16);
  EXPECT_THROW(kernels::precision_named("f8"), Error);
}

// Activations that products do on the way out, beside the reference.
TEST(Linear, ActivationsOfProducts) {
  for (const std::string op : {"Swish", "HardSwish", "Tanh", "Gelu", "Relu"}) {
    Graph graph;
    ops::Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {13, 30}});
    const ValueId y = b.add("MatMul", {x, b.constant("w", random_tensor({30, 50}, 5))});
    graph.set_outputs({b.add(op, {y})});
    const Executable executable = compile_graph(graph, /*reference=*/false);
    EXPECT_EQ(executable.steps().size(), 1U) << op;
    if (kernels::native::cpu_has_avx512()) {
      EXPECT_TRUE(executable.steps()[0].kernel.starts_with("native")) << op;
    }
    EXPECT_LE(relative_error(run_graph(graph, false)[0], run_graph(graph, true)[0]), kSumTolerance)
        << op;
  }
}

}  // namespace
}  // namespace trainyard::runtime

#include "support/numeric_gradient.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/compiler.h"
#include "ops/autodiff/differentiate.h"

namespace trainyard::testing {
namespace {

constexpr uint64_t kSeed = 20;
// The error of a central difference is about step^2 * f'''/6 + 1e-16 / step: smallest near 1e-5.
constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-7;

Tensor draw(const Shape& shape, uint64_t key, double low, double high) {
  Tensor tensor(DType::kF64, shape);
  const RandomStream stream(kSeed, key);
  for (size_t i = 0; i < tensor.values<double>().size(); ++i) {
    tensor.values<double>()[i] = low + (high - low) * stream.uniform(i);
  }
  return tensor;
}

// The network with its loss and, on request, its gradients as outputs.
Graph build(const GradientCase& c, bool with_gradients) {
  Graph graph("gradient");
  ops::Builder b(graph);
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    inputs.push_back(b.input("x" + std::to_string(i), {DType::kF64, c.shapes[i]}));
  }
  const ValueId y = c.network(b, inputs);
  const ValueId weighted =
      b.add("Mul", {y, b.constant("combination", draw(b.shape(y), 99, -1, 1))});
  const ValueId loss = b.add("ReduceSum", {weighted}, {{"keepdims", int64_t{0}}});
  std::vector<ValueId> outputs = {loss};
  if (with_gradients) {
    for (const ValueId id : autodiff::differentiate(graph, loss, inputs)) {
      EXPECT_TRUE(id.valid()) << c.name;
      if (id.valid()) outputs.push_back(id);
    }
  }
  graph.set_outputs(outputs);
  graph.sort();
  return graph;
}

std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs) {
  runtime::CompileOptions options;
  options.threads = 1;
  options.reference_only = true;
  runtime::ExecutionContext context(runtime::compile(graph, options));
  return runtime::run_once(context, inputs);
}

}  // namespace

void check_gradient(const GradientCase& c) {
  SCOPED_TRACE(c.name + ", seed " + std::to_string(kSeed));
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.shapes.size(); ++i)
    inputs.push_back(draw(c.shapes[i], i, c.low, c.high));
  const std::vector<Tensor> results = run(build(c, true), inputs);
  ASSERT_EQ(results.size(), inputs.size() + 1);

  runtime::CompileOptions options;
  options.threads = 1;
  options.reference_only = true;
  runtime::ExecutionContext forward(runtime::compile(build(c, false), options));
  const auto loss = [&] { return element_as_double(runtime::run_once(forward, inputs)[0], 0); };
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(results[i + 1].shape(), inputs[i].shape());
    double largest = 1.0;
    for (const double g : results[i + 1].values<double>())
      largest = std::max(largest, std::fabs(g));
    for (int64_t j = 0; j < inputs[i].num_elements(); ++j) {
      double& x = inputs[i].values<double>()[static_cast<size_t>(j)];
      const double kept = x;
      x = kept + kStep;
      const double above = loss();
      x = kept - kStep;
      const double below = loss();
      x = kept;
      const double expected = (above - below) / (2 * kStep);
      ASSERT_NEAR(element_as_double(results[i + 1], j), expected, kTolerance * largest)
          << "input " << i << ", element " << j;
    }
  }
}

}  // namespace trainyard::testing

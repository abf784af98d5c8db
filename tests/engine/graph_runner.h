// Runs small graphs in tests, by fast kernels and by the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/compiler.h"
#include "engine/executable.h"

namespace trainyard::runtime {

// Numbers in [-1, 1) of the given seed.
inline Tensor random_tensor(const Shape& shape, uint64_t seed) {
  Tensor tensor(DType::kF32, shape);
  const RandomStream stream(seed);
  for (size_t i = 0; i < tensor.values<float>().size(); ++i) {
    tensor.values<float>()[i] = static_cast<float>(2.0 * stream.uniform(i) - 1.0);
  }
  return tensor;
}

inline Executable compile_graph(const Graph& graph, bool reference, int threads = 2) {
  CompileOptions options;
  options.threads = threads;
  options.reference_only = reference;
  return compile(graph, options);
}

inline std::vector<Tensor> run_graph(const Graph& graph, bool reference, int threads = 2) {
  const Executable executable = compile_graph(graph, reference, threads);
  ExecutionContext context(executable);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < executable.inputs().size(); ++i) {
    inputs.push_back(random_tensor(executable.inputs()[i].type.shape, 100 + i));
  }
  return run_once(context, inputs);
}

// Largest difference relative to the largest expected value.
inline double relative_error(const Tensor& got, const Tensor& expected) {
  if (got.type() != expected.type()) return 1e30;
  double largest = 1e-6;
  double error = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const double a = element_as_double(got, i);
    const double b = element_as_double(expected, i);
    if (std::isnan(a) != std::isnan(b)) return 1e30;
    largest = std::max(largest, std::fabs(b));
    error = std::max(error, std::fabs(a - b));
  }
  return error / largest;
}

// Sums of f32 products in another order differ by a few units in the last place of the largest
// partial sum; Winograd's transforms lose about one digit more.
inline constexpr double kSumTolerance = 2e-5;

}  // namespace trainyard::runtime

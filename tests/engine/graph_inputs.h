// Runs small graphs in tests whose inputs are of any type.
#pragma once

#include "engine/graph_runner.h"

namespace trainyard::runtime {

// Numbers in [-1, 1) as floats of any precision, others in [0, `below`).
inline Tensor random_of_type(const TensorType& type, uint64_t seed, int64_t below) {
  const Tensor unit = random_tensor(type.shape, seed);
  if (is_float(type.dtype)) return cast(unit, type.dtype);
  Tensor steps(DType::kF32, type.shape);
  for (size_t i = 0; i < steps.values<float>().size(); ++i) {
    steps.values<float>()[i] =
        std::floor((unit.values<float>()[i] + 1) * 0.5F * static_cast<float>(below));
  }
  return cast(steps, type.dtype);
}

inline std::vector<Tensor> run_typed(const Graph& graph, bool reference, int64_t below = 2) {
  const Executable executable = compile_graph(graph, reference);
  ExecutionContext context(executable);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < executable.inputs().size(); ++i) {
    inputs.push_back(random_of_type(executable.inputs()[i].type, 100 + i, below));
  }
  return run_once(context, inputs);
}

// Operators that reference kernels compute, late ones included; each once.
inline std::vector<std::string> reference_operators(const Graph& graph) {
  std::vector<std::string> found;
  const Executable executable = compile_graph(graph, /*reference=*/false);
  for (const StepInfo& step : executable.steps()) {
    const bool slow = step.kernel.starts_with("reference") || step.kernel == "late";
    if (slow && std::find(found.begin(), found.end(), step.op) == found.end()) {
      found.push_back(step.op);
    }
  }
  return found;
}

}  // namespace trainyard::runtime

// The ONNX backend tests: folders with a model, inputs and the outputs it must give.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace trainyard::measure {

enum class Verdict : uint8_t { kPassed, kFailed, kUnsupported };
std::string_view verdict_name(Verdict verdict);

struct CaseResult {
  std::string name;
  Verdict verdict = Verdict::kPassed;
  std::string reason;                  // empty if it passed
  std::vector<std::string> operators;  // of the model, as far as they could be read
};

struct ConformanceOptions {
  bool reference_only = false;
  std::string filter;  // only cases whose name contains it
  int threads = 0;
};

// |got - expected| <= kAbsolute + kRelative * |expected|. The relative part is ONNX's own; its
// absolute part, 1e-7, asks sums of f32 products near zero for more than f32 holds.
inline constexpr double kRelativeTolerance = 1e-3;
inline constexpr double kAbsoluteTolerance = 1e-5;
// One unit in the last place of bf16: the test data truncate where we round.
inline constexpr double kBF16RelativeTolerance = 1.0 / 128;

// Empty if the tensors agree, otherwise how they differ. Integers must be equal; NaN equals NaN.
std::string difference(const Tensor& got, const Tensor& expected);

// Walks `folder` for cases (folders that hold model.onnx), by name. Throws Error if there are none.
std::vector<CaseResult> run_conformance(const std::filesystem::path& folder,
                                        const ConformanceOptions& options);

}  // namespace trainyard::measure

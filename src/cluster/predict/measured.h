// What a measured machine's engine costs: per family of operators and pass, a few rates that turn
// the amounts of work in an operator (FLOPs, bytes near and far, bytes of weights, kernels) into
// seconds. `trainyard calibrate` fills them; docs/predict.md describes the form.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cluster/predict/profile.h"

namespace trainyard::predict {

enum class Family : uint8_t {
  kStem,       // convolutions of fewer than 8 channels
  kPoint,      // 1x1
  kWinograd,   // 3x3 and 5x5 of stride 1 where minimal filtering pays
  kConv,       // all others
  kDepthwise,  // groups of fewer than 8 filters
  kGemm,
  kNorm,  // alone, and right behind a product
  kNormAfterProduct,
  kActivation,  // alone, and behind a product or a normalization that can do it along the way
  kActivationAfterProduct,
  kActivationAfterNorm,
  kElementwise,  // likewise
  kElementwiseAfterProduct,
  kElementwiseAfterNorm,
  kMaxPool,
  kAveragePool,
  kResponseNorm,
  kConcat,
  kOther,
  kBias,   // gradients of biases
  kForks,  // sums of the gradients of a value with several uses, likewise
  kForksAfterNorm,
  kUpdate,  // momentum SGD
};
inline constexpr size_t kFamilies = static_cast<size_t>(Family::kUpdate) + 1;
std::string_view family_name(Family family);

// kData is also the whole backward pass of what has no weights, and of matrix products.
enum class Pass : uint8_t { kInference, kForward, kData, kWeights };
inline constexpr size_t kPasses = static_cast<size_t>(Pass::kWeights) + 1;
std::string_view pass_name(Pass pass);

// What costs time: FLOPs of the algorithm that is used, bytes of activations, those of them whose
// operator's working set is beyond the cache (what these cost more), bytes of weights, kernels.
enum class Amount : uint8_t { kFlops, kBytes, kFar, kWeights, kKernels };
inline constexpr size_t kAmounts = static_cast<size_t>(Amount::kKernels) + 1;
using Amounts = std::array<double, kAmounts>;

// One part of an operator's time. `bytes` are of activations, and its working set too.
struct Term {
  Family family = Family::kOther;
  Pass pass = Pass::kInference;
  double flops = 0;
  double bytes = 0;
  double weights = 0;  // bytes
  double kernels = 1;

  // Bytes become far ones where the working set passes the cache, over a factor of four.
  Amounts amounts(double cache_bytes) const;
};

// Seconds per FLOP, byte and kernel.
struct MeasuredCosts {
  double cache_bytes = 0;
  std::array<std::array<Amounts, kPasses>, kFamilies> seconds = {};

  const Amounts& of(Family family, Pass pass) const {
    return seconds[static_cast<size_t>(family)][static_cast<size_t>(pass)];
  }
  Amounts& of(Family family, Pass pass) {
    return seconds[static_cast<size_t>(family)][static_cast<size_t>(pass)];
  }
  double time(const Term& term) const;
};

// The parts of one operator's time at a batch; kBackward is all that it does in the backward pass.
enum class Phase : uint8_t { kInference, kForward, kBackward };
std::vector<Term> operator_terms(const OpProfile& op, double batch, Phase phase);
Term update_term(double parameters);

}  // namespace trainyard::predict

// Functions that describe a falling loss, and their fits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainyard::schedule {

enum class LossModel : uint8_t {
  kInverse,      // 1 / (b0 k + b1) + b2: Optimus
  kPower,        // b0 (k + 1)^-b1 + b2
  kExponential,  // b0 exp(-b1 k) + b2
};
inline constexpr std::array kLossModels = {LossModel::kInverse, LossModel::kPower,
                                           LossModel::kExponential};
std::string_view loss_model_name(LossModel model);
// "1/(b0 k + b1) + b2", for people.
std::string_view loss_model_formula(LossModel model);

using Beta = std::array<double, 3>;  // none of them negative

double loss_at(LossModel model, const Beta& beta, double k);

struct LossFit {
  LossModel model = LossModel::kInverse;
  Beta beta = {};
  Beta standard_error = {};  // 0 where a coefficient is at its bound
  double sse = 0;            // of residuals times weights
  double deviation = 0;      // standard deviation of a residual of weight 1
  double at(double k) const { return loss_at(model, beta, k); }
};

// Minimizes the sum of squared residuals times squared weights from several starts; an empty
// `weights` is 1 for all. At least 3 points. Deterministic.
LossFit fit_loss(LossModel model, std::span<const double> k, std::span<const double> loss,
                 std::span<const double> weights);

// Half the width of the 95 % band of the curve at k by error propagation.
double band_at(const LossFit& fit, double k, std::span<const double> points_k,
               std::span<const double> weights);

}  // namespace trainyard::schedule

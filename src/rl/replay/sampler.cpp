#include "rl/replay/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "rl/replay/samplers.h"

namespace trainyard::rl {

const std::vector<std::string>& sampler_names() {
  static const std::vector<std::string> kNames = {"uniform", "proportional", "rank"};
  return kNames;
}

std::unique_ptr<Sampler> make_sampler(const SamplerOptions& options, int64_t capacity) {
  TY_REQUIRE(options.alpha >= 0, "alpha is {}, expected 0 (uniform) or more", options.alpha);
  if (options.kind == "uniform") return make_uniform_sampler(capacity);
  if (options.kind == "proportional") return make_proportional_sampler(options, capacity);
  if (options.kind == "rank") return make_rank_sampler(options, capacity);
  throw_error("there is no replay '{}'.{} Expected {}", options.kind,
              did_you_mean(options.kind, sampler_names()), join(sampler_names(), ", "));
}

int64_t read_slot(double number, std::span<const int64_t> where) {
  TY_REQUIRE(
      number >= 0 && number < static_cast<double>(where.size()) && number == std::floor(number),
      "the priorities have slot {}, expected 0 to {}", number, where.size() - 1);
  TY_REQUIRE(where[static_cast<size_t>(number)] < 0, "the priorities have slot {} twice", number);
  return static_cast<int64_t>(number);
}

void require_finite(double error) {
  if (!std::isfinite(error)) throw_failure("the error of a transition is {}", error);
}

void require_priorities(std::span<const double> all, int64_t expected) {
  TY_REQUIRE(static_cast<int64_t>(all.size()) == expected,
             "the priorities are {} numbers, expected {}", all.size(), expected);
  for (const double number : all) {
    TY_REQUIRE(std::isfinite(number) && number >= 0, "the priorities have {} among them", number);
  }
}

void importance_weights(std::span<const double> probabilities, double count, double beta,
                        std::span<float> weights) {
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double weight = std::pow(count * probabilities[i], -beta);
    weights[i] = static_cast<float>(weight);
    largest = std::max(largest, weight);
  }
  for (float& weight : weights) weight = static_cast<float>(static_cast<double>(weight) / largest);
}

}  // namespace trainyard::rl

// What `trainyard rl priorities` prints: how often a few transitions are replayed.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "rl/agents/view.h"
#include "rl/replay/sampler.h"

namespace trainyard::cli {
namespace {

constexpr size_t kMostErrors = 1000;

// Of transitions with these errors, as a memory by priority has them.
struct SamplingProbabilities {
  std::vector<double> probabilities;
  std::vector<float> weights;
};

SamplingProbabilities chances_of(const std::string& kind, std::span<const double> errors,
                                 double alpha, double beta) {
  const auto count = static_cast<int64_t>(errors.size());
  const auto sampler = rl::make_sampler({.kind = kind, .alpha = alpha}, count);
  std::vector<int64_t> slots(errors.size());
  std::iota(slots.begin(), slots.end(), 0);
  for (const int64_t slot : slots) sampler->add(slot, std::abs(errors[static_cast<size_t>(slot)]));
  SamplingProbabilities chances;
  for (const int64_t slot : slots) chances.probabilities.push_back(sampler->probability(slot));
  chances.weights.resize(errors.size());
  rl::importance_weights(chances.probabilities, static_cast<double>(count), beta, chances.weights);
  return chances;
}

}  // namespace

report::Document priorities_document(std::span<const double> errors, double alpha, double beta) {
  TY_REQUIRE(!errors.empty() && errors.size() <= kMostErrors, "{} errors, expected 1 to {}",
             errors.size(), kMostErrors);
  const SamplingProbabilities proportional = chances_of("proportional", errors, alpha, beta);
  const SamplingProbabilities ranked = chances_of("rank", errors, alpha, beta);
  const double epsilon = rl::SamplerOptions{}.epsilon;
  report::Document document;
  document.title = fmt::format("Priorities of {} transitions", errors.size());
  document.lead = fmt::format(
      "alpha {:g}, beta {:g}. Proportional: p = |error| + {:g}, P = p^alpha / sum of all; by rank: "
      "p = 1 / rank. Weights are (N P)^-beta, divided by the largest of these transitions.",
      alpha, beta, epsilon);
  report::Table table({{"transition"},
                       {"error"},
                       {"p"},
                       {"p^alpha"},
                       {"P"},
                       {"weight"},
                       {"rank"},
                       {"P by rank"},
                       {"weight by rank"}});
  document.data = Json::object({{"alpha", alpha}, {"beta", beta}, {"rows", Json::array()}});
  for (size_t i = 0; i < errors.size(); ++i) {
    const double priority = std::abs(errors[i]) + epsilon;
    const double power = std::pow(priority, alpha);
    const auto rank =
        1 + std::ranges::count_if(errors, [&](const double& other) {
          const double here = std::abs(errors[i]);
          return std::abs(other) > here || (std::abs(other) == here && &other < &errors[i]);
        });
    const auto weight = static_cast<double>(proportional.weights[i]);
    const auto rank_weight = static_cast<double>(ranked.weights[i]);
    table.add_row(
        {report::count_cell(static_cast<int64_t>(i) + 1), report::fixed_cell(errors[i], 3),
         report::fixed_cell(priority, 3), report::fixed_cell(power, 3),
         report::fixed_cell(proportional.probabilities[i], 3), report::fixed_cell(weight, 3),
         report::count_cell(rank), report::fixed_cell(ranked.probabilities[i], 3),
         report::fixed_cell(rank_weight, 3)});
    document.data["rows"].push_back(Json::object({{"transition", static_cast<int64_t>(i) + 1},
                                                  {"error", errors[i]},
                                                  {"priority", priority},
                                                  {"power", power},
                                                  {"probability", proportional.probabilities[i]},
                                                  {"weight", weight},
                                                  {"rank", static_cast<int64_t>(rank)},
                                                  {"rank_probability", ranked.probabilities[i]},
                                                  {"rank_weight", rank_weight}}));
  }
  document.blocks.emplace_back(std::move(table));
  return document;
}

}  // namespace trainyard::cli

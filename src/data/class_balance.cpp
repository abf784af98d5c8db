#include "data/class_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::data {

Balance parse_balance(std::string_view text) {
  if (text == "natural") return Balance::kNatural;
  if (text == "sqrt") return Balance::kSqrt;
  if (text == "uniform") return Balance::kUniform;
  const std::vector<std::string> known = {"natural", "sqrt", "uniform"};
  throw_error("resample is '{}', expected natural, sqrt or uniform.{}", text,
              did_you_mean(text, known));
}

std::vector<std::vector<int64_t>> members_of_classes(const Dataset& dataset) {
  TY_REQUIRE(dataset.target_kind() == TargetKind::kClass,
             "{} has no class for each picture, which this choice of pictures needs",
             dataset.source());
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(dataset.num_classes()));
  for (int64_t i = 0; i < dataset.size(); ++i) {
    members[static_cast<size_t>(dataset.label(i))].push_back(i);
  }
  return members;
}

std::vector<int64_t> deal_out(int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  TY_CHECK(sum > 0, "nothing to deal {} out to", total);
  std::vector<int64_t> shares;
  std::vector<double> rests;
  int64_t left = total;
  for (const double weight : weights) {
    const double exact = static_cast<double>(total) * weight / sum;
    shares.push_back(static_cast<int64_t>(exact));
    rests.push_back(exact - std::floor(exact));
    left -= shares.back();
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rests[a] > rests[b]; });
  for (size_t i = 0; left > 0; i = (i + 1) % order.size()) {
    if (weights[order[i]] <= 0) continue;
    ++shares[order[i]];
    --left;
  }
  return shares;
}

std::vector<SampleGroup> balanced_groups(const Dataset& dataset, Balance balance) {
  std::vector<SampleGroup> groups;
  if (balance == Balance::kNatural) return groups;
  std::vector<double> weights;
  for (std::vector<int64_t>& members : members_of_classes(dataset)) {
    const auto count = static_cast<double>(members.size());
    weights.push_back(balance == Balance::kSqrt ? std::sqrt(count) : count > 0 ? 1 : 0);
    groups.push_back({std::move(members), 0});
  }
  const std::vector<int64_t> draws = deal_out(dataset.size(), weights);
  for (size_t c = 0; c < groups.size(); ++c) groups[c].draws = draws[c];
  return groups;
}

}  // namespace trainyard::data

#include "cluster/predict/spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace trainyard::predict {
namespace {

// A bit for each thing that the catalog says of a stack's kernels.
uint32_t properties_of(const Stack& stack) {
  uint32_t bits = 0;
  for (const bool has : {stack.engine, stack.compiled, stack.fuses, stack.channels_last,
                         stack.winograd, stack.fourier, stack.image_by_image, stack.copies_input,
                         stack.opencl, stack.casts_weights, stack.graph_launch}) {
    bits = 2 * bits + (has ? 1U : 0U);
  }
  return bits;
}

// The p that makes the sum of |p / v - 1| least: the median with weights 1 / v.
double best_for(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double all = 0;
  for (const double value : values) all += 1 / value;
  double below = 0;
  for (const double value : values) {
    below += 1 / value;
    if (below >= all / 2) return value;
  }
  return values.back();
}

double mean_of_others(const std::vector<const Score*>& members, const std::string& family) {
  double sum = 0;
  double count = 0;
  for (const Score* other : members) {
    if (other->family == family) continue;
    sum += std::log(other->measured);
    count += 1;
  }
  return std::exp(sum / count);
}

}  // namespace

FamilySpread family_spread(std::span<const Score> scores, const Catalog& catalog,
                           bool same_properties) {
  using Key = std::tuple<std::string, std::string, int64_t, Precision, Mode, uint32_t>;
  std::map<Key, std::vector<const Score*>> configurations;
  for (const Score& score : scores) {
    const Measurement& row = *score.row;
    const uint32_t properties = same_properties ? properties_of(catalog.stack(row.framework)) : 0;
    configurations[{row.device, row.model, row.batch_per_gpu, row.precision, row.mode, properties}]
        .push_back(&score);
  }
  FamilySpread spread;
  std::vector<double> others;
  for (const auto& [key, members] : configurations) {
    std::set<std::string> families;
    std::vector<double> speeds;
    for (const Score* score : members) {
      families.insert(score->family);
      speeds.push_back(score->measured);
    }
    if (families.size() < 2) continue;
    spread.configurations += 1;
    const double best = best_for(speeds);
    for (const Score* score : members) {
      spread.best += std::fabs(best / score->measured - 1);
      spread.model += std::fabs(score->error());
      others.push_back(std::fabs(mean_of_others(members, score->family) / score->measured - 1));
    }
  }
  if (others.empty()) return spread;
  spread.rows = static_cast<int64_t>(others.size());
  const auto rows = static_cast<double>(others.size());
  for (const double error : others) spread.others += error / rows;
  spread.best /= rows;
  spread.model /= rows;
  std::sort(others.begin(), others.end());
  spread.others_median = others[others.size() / 2];
  return spread;
}

LevelSplit level_split(std::span<const Score> scores,
                       const std::function<std::string(const Score&)>& group_of) {
  std::map<std::string, std::vector<double>> groups;  // measured / predicted
  for (const Score& score : scores) {
    groups[group_of(score)].push_back(score.measured / score.predicted);
  }
  LevelSplit split;
  split.groups = static_cast<int64_t>(groups.size());
  if (groups.empty()) return split;
  double sum = 0;
  double squares = 0;
  for (const auto& [name, ratios] : groups) {
    double level = 0;
    for (const double ratio : ratios) level -= std::log(ratio);
    level /= static_cast<double>(ratios.size());
    sum += level;
    squares += level * level;
    split.levels += static_cast<double>(ratios.size()) * std::fabs(std::exp(level) - 1);
    const double best = best_for(ratios);
    for (const double ratio : ratios) split.rest += std::fabs(best / ratio - 1);
  }
  const auto n = static_cast<double>(groups.size());
  split.deviation = std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
  split.levels /= static_cast<double>(scores.size());
  split.rest /= static_cast<double>(scores.size());
  return split;
}

}  // namespace trainyard::predict

#include "train/class_weights.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "data/class_balance.h"

namespace trainyard::train {

std::vector<float> parse_class_weights(const std::string& text) {
  std::vector<float> weights;
  if (text.empty()) return weights;
  for (const std::string& part : split(text, ',')) {
    const auto weight = parse_number<double>(part);
    TY_REQUIRE(weight && std::isfinite(*weight) && *weight >= 0,
               "class_weights: '{}' is no number from 0; expected balanced, or a number for each "
               "class, such as 1,2.5,1",
               part);
    weights.push_back(static_cast<float>(*weight));
  }
  return weights;
}

void settle_class_weights(std::string& weights, const data::Dataset& training) {
  if (weights.empty()) return;
  const auto classes = static_cast<size_t>(training.num_classes());
  if (weights == "balanced") {
    std::vector<std::string> numbers;
    for (const std::vector<int64_t>& members : data::members_of_classes(training)) {
      TY_REQUIRE(!members.empty(), "class_weights: class '{}' has no samples to be weighted by",
                 training.class_names()[numbers.size()]);
      const double share =
          static_cast<double>(training.size()) / static_cast<double>(classes * members.size());
      numbers.push_back(fmt::format("{:.6g}", share));
    }
    weights = join(numbers, ",");
  }
  const size_t count = parse_class_weights(weights).size();
  TY_REQUIRE(count == classes, "class_weights has {} numbers, but the data has {} classes", count,
             classes);
}

}  // namespace trainyard::train

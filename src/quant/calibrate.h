// What flows through a network: its values seen on pictures, counted in fixed memory.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "data/loader.h"
#include "quant/choose_range.h"
#include "quant/plan.h"
#include "quant/prepare.h"
#include "quant/rewrite.h"

namespace trainyard::quant {

using Progress = std::function<void(double share, std::string_view what)>;

struct ObservedValues {
  std::map<ValueId, Histogram> histograms;
  std::map<ValueId, Histogram> outputs;  // of layers, before what follows them
  // Means over samples and positions, by channel (axis 1), if they were asked for.
  std::map<ValueId, std::vector<double>> channel_means;
  int64_t images = 0;
};

// Runs `graph` on the first pictures of the loader's epoch 0 and counts the values of
// `plan`; those that are mere views of others have no histogram. The counts do not depend on the
// loader's batch. Throws Error naming a value that is NaN or infinite.
struct ObserveOptions {
  int64_t images = 128;
  bool channel_means = false;
  int threads = 1;
};
ObservedValues observe(const Graph& graph, const Plan& plan, data::Loader& loader,
                       const ObserveOptions& options, const Progress& progress);

// The steps of every value of the plan: one range for each group, over those of its members. At
// least one of each group has a range.
using ValueRanges = std::map<ValueId, Range>;
ValueSteps steps_of_groups(const Plan& plan, const ValueRanges& ranges, const RangeRule& rule);

// Of every value that was counted.
ValueRanges ranges_from(const ObservedValues& seen, const RangeRule& rule);

// The steps without pictures, from what batch normalization says about its results: four standard
// deviations around the mean of every channel. Pictures are taken to be normalized. Throws Error
// naming a value that no batch normalization leads to.
ValueSteps steps_from_statistics(const Prepared& prepared, const Plan& plan, const RangeRule& rule);

// What was seen of a value, or of another of its group.
const Histogram* histogram_of(const Plan& plan, const ObservedValues& seen, ValueId id);

}  // namespace trainyard::quant

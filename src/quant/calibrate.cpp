#include "quant/calibrate.h"

#include <algorithm>

#include "base/error.h"
#include "engine/compiler.h"
#include "engine/executable.h"

namespace trainyard::quant {
namespace {

// Sums sample by sample, so that they do not depend on the batch.
void add_channels(const Tensor& tensor, int64_t samples, std::vector<double>& sums) {
  const Shape& shape = tensor.shape();
  if (shape.rank() < 2) return;
  const int64_t channels = shape[1];
  const int64_t inner = shape.num_elements(2, shape.rank());
  sums.resize(static_cast<size_t>(channels), 0.0);
  const float* values = tensor.values<float>().data();
  for (int64_t n = 0; n < samples; ++n) {
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
      float sum = 0;
      for (int64_t i = 0; i < inner; ++i) sum += values[i];
      values += inner;
      sums[c] += double{sum} / static_cast<double>(inner);
    }
  }
}

// Called for each step of a run, on the thread that runs it.
class Observer {
 public:
  Observer(const Graph& graph, const Plan& plan, bool channel_means, ObservedValues& seen)
      : channel_means_(channel_means), seen_(seen) {
    for (const ValueId id : plan.values) wanted_[graph.value(id).name].planned = id;
    for (const NodeId layer : plan.layers) {
      const ValueId id = graph.node(layer).outputs[0];
      wanted_[graph.value(id).name].output = id;
    }
  }

  // The last batch may be filled up with zeros, which must not be counted.
  void set_samples(int64_t samples, int64_t batch) {
    samples_ = samples;
    batch_ = batch;
  }

  void look(const runtime::StepView& step) {
    for (size_t i = 0; i < step.num_outputs(); ++i) {
      const auto found = wanted_.find(step.output_name(i));
      if (found == wanted_.end()) continue;
      // Counts need no order: a copy is made only of what has to be one, or for sums by channel.
      const std::span<const std::byte> bytes = step.elements(i);
      if (!bytes.empty() && !channel_means_) {
        count(*found, {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)},
              step.output_shape(i));
      } else {
        look(*found, step.output(i));
      }
    }
  }

  void look(const std::string& name, const Tensor& tensor) {
    const auto found = wanted_.find(name);
    if (found != wanted_.end()) look(*found, tensor);
  }

 private:
  // Under its name: a value of the plan, the output of a layer, or both.
  struct Kinds {
    ValueId planned = kNoValue;
    ValueId output = kNoValue;
  };
  using Wanted = std::map<std::string, Kinds, std::less<>>;

  void look(const Wanted::value_type& wanted, const Tensor& tensor) {
    if (tensor.empty()) return;
    if (channel_means_ && wanted.second.planned.valid() && is_by_sample(tensor.shape())) {
      add_channels(tensor, samples_, seen_.channel_means[wanted.second.planned]);
    }
    count(wanted, tensor.values<float>(), tensor.shape());
  }

  // Values such as constants have another first dimension and are counted whole.
  bool is_by_sample(const Shape& shape) const { return shape.rank() > 0 && shape[0] == batch_; }

  void count(const Wanted::value_type& wanted, std::span<const float> values, const Shape& shape) {
    if (is_by_sample(shape)) {
      // The batch is the outermost dimension in every layout, so the valid samples are a prefix.
      values =
          values.first(values.size() / static_cast<size_t>(batch_) * static_cast<size_t>(samples_));
    }
    const auto [planned, output] = wanted.second;
    if (planned.valid()) add(wanted.first, values, seen_.histograms[planned]);
    if (output.valid()) add(wanted.first, values, seen_.outputs[output]);
  }

  static void add(const std::string& name, std::span<const float> values, Histogram& histogram) {
    histogram.add(values);
    TY_REQUIRE(
        histogram.bad() == 0,
        "'{}' has {} values that are NaN or infinite on the calibration pictures, which have "
        "no range; give other weights or pictures, or keep to float",
        name, histogram.bad());
  }

  bool channel_means_;
  ObservedValues& seen_;
  Wanted wanted_;
  int64_t samples_ = 0;
  int64_t batch_ = 1;
};

}  // namespace

ObservedValues observe(const Graph& graph, const Plan& plan, data::Loader& loader,
                       const ObserveOptions& options, const Progress& progress) {
  runtime::CompileOptions compile;
  compile.threads = options.threads;
  compile.rewrite = false;  // values keep their names
  runtime::ExecutionContext context(runtime::compile(graph, compile));
  ObservedValues seen;
  Observer observer(graph, plan, options.channel_means, seen);
  context.set_observer([&](const runtime::StepView& step) { observer.look(step); });
  // The pictures themselves are a value of the plan too, but no step's output.
  const std::string input = graph.value(graph.inputs()[0]).name;
  loader.start_epoch(0);
  while (seen.images < options.images) {
    const data::Batch* batch = loader.next();
    if (batch == nullptr) break;
    const int64_t samples = std::min(batch->valid, options.images - seen.images);
    observer.set_samples(samples, batch->images.shape()[0]);
    observer.look(input, batch->images);
    context.set_input(0, batch->images);
    context.run();
    seen.images += samples;
    progress(static_cast<double>(seen.images) / static_cast<double>(options.images), "calibrating");
  }
  for (auto& [id, means] : seen.channel_means) {
    for (double& mean : means) mean /= static_cast<double>(seen.images);
  }
  return seen;
}

// Views share the numbers of another value of their group, so its histogram serves.
const Histogram* histogram_of(const Plan& plan, const ObservedValues& seen, ValueId id) {
  if (const auto own = seen.histograms.find(id); own != seen.histograms.end()) {
    return &own->second;
  }
  const auto group = plan.group.find(id);
  if (group == plan.group.end()) return nullptr;
  for (const auto& [other, histogram] : seen.histograms) {
    const auto its = plan.group.find(other);
    if (its != plan.group.end() && its->second == group->second) return &histogram;
  }
  return nullptr;
}

ValueSteps steps_of_groups(const Plan& plan, const ValueRanges& ranges, const RangeRule& rule) {
  // Begins as [0, 0], so every joined range holds 0, as steps need anyway.
  std::map<size_t, Range> joined;
  for (const auto& [id, range] : ranges) {
    const auto group = plan.group.find(id);
    if (group == plan.group.end()) continue;
    Range& whole = joined[group->second];
    whole = {std::min(whole.low, range.low), std::max(whole.high, range.high)};
  }
  ValueSteps steps;
  for (const ValueId id : plan.values) {
    const auto found = joined.find(plan.group.at(id));
    TY_CHECK(found != joined.end(), "no range of value {}", id.index);
    steps[id] = steps_for(found->second, rule.bits, rule.symmetric);
  }
  return steps;
}

ValueRanges ranges_from(const ObservedValues& seen, const RangeRule& rule) {
  ValueRanges ranges;
  for (const auto& [id, histogram] : seen.histograms) ranges[id] = choose_range(histogram, rule);
  return ranges;
}

}  // namespace trainyard::quant

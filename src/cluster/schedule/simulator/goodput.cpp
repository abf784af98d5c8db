#include "cluster/schedule/simulator/goodput.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/integers.h"
#include "base/parse_number.h"

namespace trainyard::schedule {
namespace {

constexpr int32_t kWorkersPerNode = 4;

// Numbers of a file count images, epochs and entries of lists, so each is checked before it is
// used.
constexpr int64_t kMostCounted = 1'000'000'000;

int64_t count_of(const Json& data, const char* field, int64_t least = 1) {
  const int64_t count = data.at(field).as_int();
  TY_REQUIRE(count >= least && count <= kMostCounted, "'{}' is {}, expected {} to {}", field, count,
             least, kMostCounted);
  return count;
}

std::vector<double> numbers_of(const Json& data, const char* field, int64_t count) {
  std::vector<double> out;
  for (const Json& item : data.at(field).items()) out.push_back(item.as_number());
  TY_REQUIRE(static_cast<int64_t>(out.size()) == count, "'{}' has {} numbers, expected {}", field,
             out.size(), count);
  return out;
}

int64_t batch_of(const std::string& key) {
  const auto batch = parse_number<int64_t>(key);
  TY_REQUIRE(batch && *batch >= 1 && *batch <= kMostCounted,
             "'by_batch_size' has '{}', expected a batch of 1 to {}", key, kMostCounted);
  return *batch;
}

StepSeconds step_of_pair(const std::string& key, const Json& pair) {
  const Json::Array& both = pair.items();
  TY_REQUIRE(both.size() == 2, "'step_sync_seconds' of '{}' has {} numbers, expected 2", key,
             both.size());
  const StepSeconds seconds{both[0].as_number(), both[1].as_number()};
  TY_REQUIRE(
      seconds.first > 0 && seconds.second >= 0 && seconds.second <= seconds.first,
      "'step_sync_seconds' of '{}' is {} and {}, expected a step above 0 and up to as much of "
      "synchronization",
      key, seconds.first, seconds.second);
  return seconds;
}

// Its smallest rotation.
// Placements that differ by which node is which are the same measurement.
std::string name_of(std::vector<int32_t> placement) {
  std::vector<int32_t> least = placement;
  for (size_t i = 1; i < placement.size(); ++i) {
    std::rotate(placement.begin(), placement.begin() + 1, placement.end());
    least = std::min(least, placement);
  }
  std::string key;
  for (const int32_t count : least) key += std::to_string(count);
  return key;
}

// The entries around `x`, and how far it lies between them; the last or first beyond them.
template <typename Map>
struct Neighbors {
  typename Map::const_iterator low, high;
  double share = 0;
};
template <typename Map>
Neighbors<Map> around(const Map& map, double x) {
  auto high = map.begin();
  while (high != map.end() && static_cast<double>(high->first) < x) ++high;
  if (high == map.end()) --high;
  // Beyond the ends the nearest entry is taken, not extrapolated.
  if (high == map.begin() || static_cast<double>(high->first) <= x) return {high, high, 0};
  const auto low = std::prev(high);
  const auto from = static_cast<double>(low->first);
  return {low, high, (x - from) / (static_cast<double>(high->first) - from)};
}

// `value` of the entries around x, between them linear.
template <typename Map, typename Value>
StepSeconds between(const Map& map, double x, const Value& value) {
  const Neighbors<Map> found = around(map, x);
  const StepSeconds low = value(found.low->second);
  if (found.low == found.high) return low;
  const StepSeconds high = value(found.high->second);
  return {low.first + found.share * (high.first - low.first),
          low.second + found.share * (high.second - low.second)};
}

}  // namespace

void StepTable::add_placement(const std::string& placement, int64_t local, StepSeconds seconds) {
  int64_t workers = 0;
  // A digit for each node, which has at most 9 workers.
  for (const char digit : placement) workers += digit - '0';
  Mean& own = by_placement_[placement][local];
  own = {seconds, 1};
  add_counts(static_cast<int64_t>(placement.size()), workers, local, seconds);
}

void StepTable::add_counts(int64_t nodes, int64_t workers, int64_t local, StepSeconds seconds) {
  Mean& mean = by_counts_[nodes][workers][local];
  mean.sum.first += seconds.first;
  mean.sum.second += seconds.second;
  mean.count += 1;
}

StepSeconds StepTable::at(const std::vector<int32_t>& placement, int64_t local) const {
  const auto mean = [](const Mean& one) {
    return StepSeconds{one.sum.first / one.count, one.sum.second / one.count};
  };
  const auto of_curve = [&](const Curve& curve) {
    return between(curve, static_cast<double>(local), mean);
  };
  const auto found = by_placement_.find(name_of(placement));
  if (found != by_placement_.end()) return of_curve(found->second);
  const double workers = std::accumulate(placement.begin(), placement.end(), 0);
  // An unmeasured placement: interpolated between numbers of nodes, then workers, then local
  // batches.
  return between(by_counts_, static_cast<double>(placement.size()),
                 [&](const auto& by_workers) { return between(by_workers, workers, of_curve); });
}

std::optional<StepSeconds> GoodputApplication::step(const std::vector<int32_t>& placement,
                                                    int64_t local) const {
  if (!steps.empty()) {
    const auto found = steps.find(fmt::format("{}|{}", name_of(placement), local));
    if (found != steps.end()) return found->second;
  }
  if (table.empty()) return std::nullopt;
  return table.at(placement, local);
}

// The form in which Pollux's traces (Qiao et al., OSDI 2021) are stored: recorded runs by batch
// size, and steps with their share of synchronization.
GoodputApplication read_application(const Json& data) {
  GoodputApplication app;
  app.init_batch = count_of(data, "init_batch_size");
  app.most_batch = count_of(data, "max_batch_size");
  app.least_local = count_of(data, "min_local_bsz");
  app.most_local = count_of(data, "max_local_bsz");
  app.epochs = count_of(data, "max_epochs");
  app.progress = numbers_of(data, "progress_after_epoch", app.epochs + 1);
  for (size_t epoch = 1; epoch < app.progress.size(); ++epoch) {
    TY_REQUIRE(app.progress[epoch] > app.progress[epoch - 1],
               "'progress_after_epoch' is {} after {}, expected more", app.progress[epoch],
               app.progress[epoch - 1]);
  }
  for (const auto& [batch, record] : data.at("by_batch_size").members()) {
    const int64_t completion = count_of(record, "completion_epoch", 0);
    TY_REQUIRE(completion < app.epochs, "'completion_epoch' is {}, expected less than {}",
               completion, app.epochs);
    app.by_batch[batch_of(batch)] = {
        completion, numbers_of(record, "iterations_after_epoch", app.epochs),
        numbers_of(record, "grad_sqr", app.epochs), numbers_of(record, "grad_var", app.epochs)};
  }
  TY_REQUIRE(!app.by_batch.empty(), "'by_batch_size' is empty, expected at least one batch");
  for (const auto& [key, pair] : data.at("step_sync_seconds").members()) {
    app.steps[key] = step_of_pair(key, pair);
  }
  return app;
}

// Linear between the batches that were recorded.
double GoodputApplication::recorded(std::vector<double> Recorded::*field, int64_t batch,
                                    size_t epoch) const {
  const auto above = by_batch.lower_bound(batch);
  TY_REQUIRE(above != by_batch.end(), "nothing was recorded with a batch of {}", batch);
  const double high = (above->second.*field)[epoch];
  if (above->first == batch) return high;
  TY_REQUIRE(above != by_batch.begin(), "nothing was recorded with a batch of {}", batch);
  const auto below = std::prev(above);
  const double low = (below->second.*field)[epoch];
  const double share =
      static_cast<double>(batch - below->first) / static_cast<double>(above->first - below->first);
  return low + share * (high - low);
}

// Images per worker, and further steps of accumulation, as Pollux's simulator splits a batch.
GoodputProgress::Split GoodputProgress::split(int64_t workers, bool always_accumulate) const {
  const GoodputApplication& app = *application_;
  const int64_t each = divide_up(target_, workers);
  Split made;
  made.further = divide_up(each, app.most_local) - 1;
  if (workers == 1 && (always_accumulate || target_ > app.init_batch)) {
    made.further = std::max<int64_t>(1, made.further);
  }
  made.local = divide_up(each, made.further + 1);
  made.local = std::min(made.local, app.most_batch / (workers * (made.further + 1)));
  return made;
}

size_t GoodputProgress::completion_epoch() const {
  return static_cast<size_t>(application_->by_batch.begin()->second.completion_epoch);
}

double GoodputProgress::remaining() const {
  if (completion_epoch() <= epoch_) return 1;
  const auto after = [&](size_t epoch) {
    return application_->recorded(&GoodputApplication::Recorded::iterations, target_, epoch);
  };
  return after(completion_epoch()) - after(epoch_);
}

double GoodputProgress::done() const {
  return std::min(1.0, progress_ / application_->progress.back());
}

double GoodputProgress::speed(int32_t, int32_t workers, int32_t) const {
  if (workers < 1) return 0;
  std::vector<int32_t> placement;
  // Four to a node, as densely as possible: a policy asks before anything is placed.
  for (int32_t left = workers; left > 0; left -= kWorkersPerNode) {
    placement.push_back(std::min(left, kWorkersPerNode));
  }
  const Split made = split(workers, true);
  const auto found = application_->step(placement, made.local);
  // Beyond what was measured nobody asks for more.
  if (!found) return 1e-9;
  // Accumulated steps are not synchronized, so only the last one pays for it.
  const auto [whole, sync] = *found;
  return 1 / (whole + (whole - sync) * static_cast<double>(made.further));
}

std::optional<double> GoodputProgress::run(const Allocation& allocation, double seconds) {
  std::vector<int32_t> placement;
  for (const Share& share : allocation.worker_nodes) placement.push_back(share.count);
  const Split made = split(allocation.workers, false);
  const int64_t batch = allocation.workers * made.local * (made.further + 1);
  const double scale = static_cast<double>(batch) / static_cast<double>(application_->init_batch);
  const auto measured = application_->step(placement, made.local);
  TY_REQUIRE(measured, "no measured step for placement {} with {} images per worker",
             name_of(placement), made.local);
  const auto [whole, sync] = *measured;
  const double step_seconds = whole + (whole - sync) * static_cast<double>(made.further);
  for (double left = seconds; left > 0;) {
    using Recorded = GoodputApplication::Recorded;
    const double square = application_->recorded(&Recorded::square, batch, epoch_);
    const double variance = application_->recorded(&Recorded::variance, batch, epoch_);
    // Statistical efficiency (McCandlish et al. 2018): how many steps of the initial batch one step
    // of this batch is worth.
    const double gain = (variance + square) / (variance / scale + square);
    const double goodput = gain / step_seconds;
    const double next = application_->progress[epoch_ + 1];
    if (progress_ + goodput * left < next) {
      progress_ += goodput * left;
      return std::nullopt;
    }
    // Ends of epochs fall on whole seconds there.
    left -= std::nearbyint((next - progress_) / goodput);
    progress_ = next;
    epoch_ += 1;
    if (epoch_ > completion_epoch()) return seconds - left;
  }
  return std::nullopt;
}

}  // namespace trainyard::schedule

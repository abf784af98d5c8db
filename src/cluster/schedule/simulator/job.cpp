#include "cluster/schedule/simulator/job.h"

#include <algorithm>

namespace trainyard::schedule {

std::string_view resource_name(size_t index) {
  constexpr std::array<std::string_view, kNumResources> kNames = {"cpu", "gpu", "memory_gb",
                                                                  "bandwidth_gbps"};
  return kNames.at(index);
}

Resources Job::bundle() const {
  Resources sum = worker;
  if (has_servers()) {
    for (size_t r = 0; r < kNumResources; ++r) sum[r] += server[r];
  }
  return sum;
}

Resources Job::least() const {
  Resources demand = bundle();
  for (double& amount : demand) amount *= rigid ? gang : 1;
  return demand;
}

SteadyProgress::SteadyProgress(double work, std::shared_ptr<const SpeedModel> speed,
                               std::vector<double> type_factors)
    : work_(work), model_(std::move(speed)), by_type_(std::move(type_factors)) {}

SteadyProgress::SteadyProgress(double work,
                               std::shared_ptr<const std::vector<std::vector<double>>> table)
    : work_(work), table_(std::move(table)) {}

SteadyProgress::SteadyProgress(double work, std::vector<double> per_second)
    : work_(work), by_type_(std::move(per_second)) {}

double SteadyProgress::speed(int32_t servers, int32_t workers, int32_t type) const {
  const double factor = by_type_.empty() ? 1 : by_type_[static_cast<size_t>(type)];
  if (model_ != nullptr) {
    // Without servers every worker reduces its own share.
    return factor * model_->at(servers == 0 ? workers : servers, workers);
  }
  if (table_ != nullptr) {
    if (servers < 1 || workers < 1) return 0;
    const size_t p = std::min(static_cast<size_t>(servers), table_->size()) - 1;
    const size_t w = std::min(static_cast<size_t>(workers), (*table_)[p].size()) - 1;
    return (*table_)[p][w];
  }
  return workers > 0 ? factor : 0;
}

std::optional<double> SteadyProgress::run(const Allocation& allocation, double seconds) {
  const double per_second = speed(allocation.servers, allocation.workers, allocation.type);
  const double gain = per_second * seconds;
  // An end a rounding error away is an end.
  if (gone_ + gain < work_ * (1 - 1e-12)) {
    gone_ += gain;
    return std::nullopt;
  }
  const double used = per_second > 0 ? std::min(seconds, (work_ - gone_) / per_second) : 0;
  gone_ = work_;
  return used;
}

void SteadyProgress::lose(const Allocation& allocation, double seconds) {
  const double lost = seconds * speed(allocation.servers, allocation.workers, allocation.type);
  gone_ = std::max(0.0, gone_ - lost);
}

}  // namespace trainyard::schedule

// How far a real training is, by what it has written.
#pragma once

#include <filesystem>
#include <map>

#include "cluster/schedule/simulator/job.h"

namespace trainyard::schedule {

// Work in epochs. Speeds are measured where the job has run with so many workers; elsewhere they
// follow from the nearest measured number, each further worker adding 70 % of the first.
class LiveProgress : public Progress {
 public:
  LiveProgress(std::filesystem::path run, double epochs) : run_(std::move(run)), epochs_(epochs) {}

  // Looks at metrics.jsonl. `workers` is what it runs with now (0: it does not).
  void look(int32_t workers);
  bool ended() const { return done_ >= epochs_; }

  std::shared_ptr<Progress> copy() const override { return std::make_shared<LiveProgress>(*this); }
  double remaining() const override { return epochs_ > done_ ? epochs_ - done_ : 0; }
  double done() const override { return done_ / epochs_; }
  double speed(int32_t servers, int32_t workers, int32_t type) const override;
  // It runs by itself.
  std::optional<double> run(const Allocation&, double) override { return std::nullopt; }
  void lose(const Allocation&, double) override {}

 private:
  std::filesystem::path run_;
  double epochs_;
  double done_ = 0;
  std::map<int32_t, double> measured_;  // epochs/s by workers
};

}  // namespace trainyard::schedule

// What workers exchange after a step: a row of numbers for each of them. Every worker fills
// its own row, and the sum over the workers is the table of all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace trainyard::train {

class StepTable {
 public:
  enum Field : size_t {
    kLoss,  // times images
    kImages,
    kWantsStop,
    kComputeMs,  // forward, backward and update without waiting for others
    kCommunicationMs,
    kExposedMs,  // of the communication, what nothing else was done in
    kDataMs,
    kNumFields
  };

  StepTable(size_t workers, size_t metrics)
      : columns_(kNumFields + metrics), workers_(workers), values_(workers * columns_, 0) {}

  size_t workers() const { return workers_; }
  std::span<double> values() { return values_; }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }
  double& at(size_t worker, Field field) { return values_[worker * columns_ + field]; }
  double& metric(size_t worker, size_t index) {
    return values_[worker * columns_ + kNumFields + index];
  }
  double total(Field field) { return total_of_column(field); }
  double metric_total(size_t index) { return total_of_column(kNumFields + index); }

 private:
  double total_of_column(size_t column) const {
    double sum = 0;
    for (size_t w = 0; w < workers_; ++w) sum += values_[w * columns_ + column];
    return sum;
  }

  size_t columns_;
  size_t workers_;
  std::vector<double> values_;
};

}  // namespace trainyard::train

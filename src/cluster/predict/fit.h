// Fits the figures of all software stacks and the factors of devices to measured speeds at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/predict/device.h"
#include "cluster/predict/hierarchy.h"
#include "cluster/predict/profile.h"
#include "cluster/predict/stack.h"
#include "cluster/predict/step.h"

namespace trainyard::predict {

// One device. What it points to must outlive the fit.
struct FitRow {
  const NetworkProfile* profile = nullptr;
  const Device* device = nullptr;
  const Stack* stack = nullptr;
  double batch = 1;
  Precision precision = Precision::kFp32;
  Mode mode = Mode::kTraining;
  double images_per_s = 0;
  bool updates = true;
};

// images/s of a row with `stack` as it stands.
double predicted_speed(const FitRow& row, const Stack& stack);

// The effects (predict/hierarchy.h) that minimize the squared logarithms of predicted / measured
// together with their distances from the priors. Rows that no effects explain count less.
// Deterministic.
class HierarchicalFit {
 public:
  HierarchicalFit(std::span<const FitRow> rows, Hierarchy::Start start);
  ~HierarchicalFit();

  // log(predicted / measured) of every row, in images/s.
  std::vector<double> errors() const;
  // The same as if the rows of each group had not been there: group[i] is row i's. Fits once per
  // group.
  std::vector<double> errors_refitted(std::span<const int> group) const;
  // The same with the fit taken to be linear around its solution, for many small groups.
  std::vector<double> errors_left_out(std::span<const int> group) const;

  // The figures of a stack, also of one without rows.
  Efficiency efficiency(const Stack& stack, std::string_view device_class);
  // How sure a figure is: the standard deviation of its logarithm, and how much less that is than
  // without any rows (0: the prior alone, 1: the rows alone).
  struct FitUncertainty {
    double deviation = 0;
    double determined = 0;
  };
  FitUncertainty certainty(const Stack& stack, std::string_view device_class, size_t field);
  // Factors; 1 where there are no rows.
  double kind_factor(const Device& device, size_t quantity);
  double device_factor(const Device& device, size_t quantity);
  double pair_factor(const Stack& stack, const Device& device, size_t quantity);
  double throttle(bool matrix_units);
  double feeding();

 private:
  struct Solver;
  struct Without;
  double value(const Summand& term) const;

  Hierarchy hierarchy_;
  std::unique_ptr<Solver> solver_;
};

}  // namespace trainyard::predict

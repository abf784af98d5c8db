// Predictions against measurements, for both models, and fits that leave something out.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/predict/catalog.h"
#include "cluster/predict/exchange_fit.h"
#include "cluster/predict/fit.h"
#include "cluster/predict/interval.h"
#include "cluster/predict/measurements.h"
#include "cluster/predict/networks.h"

namespace trainyard::predict {

// kScaling: images/s at n devices given the measured speed of one. kFromOne: the same where the
// source has no row of one device, whose speed is predicted too. kOneProcess: one process for all
// devices (nn.DataParallel), which is no all-reduce.
enum class MeasuredTask : uint8_t { kTraining, kScaling, kInference, kFromOne, kOneProcess };
inline constexpr std::array kSubjects = {MeasuredTask::kTraining, MeasuredTask::kScaling,
                                         MeasuredTask::kInference, MeasuredTask::kFromOne,
                                         MeasuredTask::kOneProcess};
inline bool on_one_device(MeasuredTask subject) {
  return subject == MeasuredTask::kTraining || subject == MeasuredTask::kInference;
}
std::string_view subject_name(MeasuredTask subject);

struct Score {
  const Measurement* row = nullptr;
  MeasuredTask subject = MeasuredTask::kTraining;
  double measured = 0;  // images/s
  double predicted = 0;
  double paleo = 0;
  std::string kind = {};        // of device
  bool matrix_units = false;    // of the device
  std::string family = {};      // of stack
  std::string_view bound = {};  // what limits it, as predicted
  int64_t support = 0;          // one-device rows of the stack on the device
  double error() const { return predicted / measured - 1; }
  double paleo_error() const { return paleo / measured - 1; }
};

struct Excluded {
  const Measurement* row = nullptr;
  std::string reason;
};

// Mean absolute percentage error and mean error, as shares.
struct Summary {
  int64_t rows = 0;
  double mape = 0;
  double bias = 0;
  double paleo_mape = 0;
  double paleo_bias = 0;
};
Summary summarize(std::span<const Score> scores);

// What leaving out is done by. kConfiguration: one network on one device with one stack.
enum class Group : uint8_t { kNetwork, kDevice, kFamily, kConfiguration };
inline constexpr std::array kGroups = {Group::kNetwork, Group::kDevice, Group::kFamily,
                                       Group::kConfiguration};
std::string_view group_name(Group group);

// The rows of a file that can be scored, ready for fitting and scoring. `rows`, `catalog` and
// `networks` must outlive it.
class Validation {
 public:
  // `start`: whether fits begin from nothing or from the catalog (predict/hierarchy.h).
  Validation(const Catalog& catalog, Networks& networks, std::span<const Measurement> rows,
             Hierarchy::Start start = Hierarchy::Start::kRelatives);

  std::span<const Excluded> excluded() const { return excluded_; }
  // Every row, predicted with the stacks as `catalog` has them.
  std::vector<Score> score() const { return score(catalog_); }
  std::vector<Score> score(const Catalog& catalog) const;
  // The catalog with every stack and the factors of devices fitted to the rows.
  Catalog fit() const;
  // One-device training and inference rows, each predicted by a fit without the rows of its group.
  // `supported`: only those whose stack has rows outside of the group; of a family, those for which
  // another family has rows of the same precision and mode on the same class of device.
  std::vector<Score> leave_one_out(Group group, bool supported) const;
  // Shares of predictions that 80 % intervals contain, each interval from the errors of the other
  // groups' rows.
  struct Coverage {
    Group group = Group::kNetwork;
    Mode mode = Mode::kTraining;
    int64_t rows = 0;
    int64_t covered = 0;
  };
  std::vector<Coverage> coverage() const;
  // Every figure of a stack with how sure the fit is of it.
  struct Figure {
    std::string_view name;
    std::string device_class;
    double value = 0;
    HierarchicalFit::FitUncertainty certainty;
  };
  std::vector<Figure> figures(const Stack& stack) const;

 private:
  struct Item {
    const Measurement* row = nullptr;
    MeasuredTask subject = MeasuredTask::kTraining;
    const Network* network = nullptr;
    const Device* device = nullptr;  // null for devices that are not named
    double baseline = 0;             // measured images/s of one device
  };
  void add(const Measurement& row);
  double find_baseline(const Measurement& row) const;
  FitRow fit_row(const Item& item) const;
  // With the stacks and the factors of devices that `catalog` has, which must outlive the row.
  ScalingRow scaling_row(const Item& item, const Catalog& catalog) const;
  double paleo_scaling(const Item& item, const Stack& stack) const;
  double predict(const Item& item, const Catalog& catalog) const;
  void describe(const Item& item, Score& score) const;
  std::string_view bound_of(const Item& item, const Catalog& catalog) const;
  double paleo_speed(const Item& item, const Stack& stack) const;
  // Made when it is first needed.
  HierarchicalFit& fitted() const;
  // log(predicted / measured) of the one-device rows with their groups left out, their groups and
  // whether their stacks have rows elsewhere; kept.
  struct LeftOut {
    std::vector<double> errors;
    std::vector<int> groups;
    std::vector<bool> supported;
  };
  const LeftOut& left_out(Group group) const;
  // Those that an interval of this kind is made of.
  std::vector<GroupedError> errors_of(Group group, Mode mode, std::string_view device_class) const;
  Intervals fitted_intervals() const;
  DeviceFactors fitted_factors() const;
  Stack fitted_figures(Stack stack) const;
  void fit_exchanges(Catalog& fitted) const;

  const Catalog& catalog_;
  Networks& networks_;
  std::span<const Measurement> rows_;
  std::vector<Item> items_;
  std::vector<Excluded> excluded_;
  Hierarchy::Start start_;
  std::vector<const Item*> single_;  // items of one device, in the order of the fit
  mutable std::unique_ptr<HierarchicalFit> fit_;
  mutable std::map<Group, LeftOut> left_out_;
};

}  // namespace trainyard::predict

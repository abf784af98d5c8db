// Predictions against measurements, for both models, and fits that leave something out.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "predict/catalog.h"
#include "predict/fit.h"
#include "predict/measurements.h"
#include "predict/networks.h"

namespace trainyard::predict {

// kScaling: images/s at n devices given the measured speed of one.
enum class Subject : uint8_t { kTraining, kScaling, kInference };
std::string_view subject_name(Subject subject);

struct Score {
  const Measurement* row = nullptr;
  Subject subject = Subject::kTraining;
  double measured = 0;  // images/s
  double predicted = 0;
  double paleo = 0;
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

// What leaving out is done by.
enum class Group : uint8_t { kDevice, kNetwork };

// The rows of a file that can be scored, ready for fitting and scoring. `rows`, `catalog` and
// `networks` must outlive it.
class Validation {
 public:
  Validation(const Catalog& catalog, Networks& networks, std::span<const Measurement> rows);

  std::span<const Excluded> excluded() const { return excluded_; }
  // Every row, predicted with the stacks as `catalog` has them.
  std::vector<Score> score() const { return score(catalog_); }
  std::vector<Score> score(const Catalog& catalog) const;
  // The catalog with every stack fitted to the rows, parents before the stacks that inherit.
  Catalog fit() const;
  // One-device training and inference rows, each predicted by stacks fitted without the rows of
  // its device or its network. Rows of stacks that were measured on nothing else are left out.
  std::vector<Score> leave_one_out(Group group) const;

 private:
  struct Item {
    const Measurement* row = nullptr;
    Subject subject = Subject::kTraining;
    const Network* network = nullptr;
    const Device* device = nullptr;  // null for devices that are not named
    double baseline = 0;             // measured images/s of one device
  };
  void add(const Measurement& row);
  double find_baseline(const Measurement& row) const;
  FitRow fit_row(const Item& item) const;
  double predict(const Item& item, const Catalog& catalog) const;
  double predict_scaling(const Item& item, const Stack& stack, bool paleo) const;
  double paleo_speed(const Item& item, const Stack& stack) const;
  std::map<std::string, Stack> fit_stacks(std::span<const Item> items) const;
  Stack fit_exchange(Stack stack, std::span<const Item> items) const;

  const Catalog& catalog_;
  Networks& networks_;
  std::span<const Measurement> rows_;
  std::vector<Item> items_;
  std::vector<Excluded> excluded_;
};

// A catalog file with these stacks.
std::string stacks_yaml(std::span<const Stack> stacks);

}  // namespace trainyard::predict

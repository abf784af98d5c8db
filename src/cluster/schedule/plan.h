// Which device, how many workers, which offer: what meets a deadline and a budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/predict/catalog.h"
#include "cluster/predict/networks.h"

namespace trainyard::schedule {

struct PlanQuestion {
  std::string model = {};
  double images = 0;  // of an epoch
  double epochs = 0;
  std::string accuracy_basis = {};  // where the epochs come from
  double deadline_s = 0;            // 0: none
  double budget_usd = 0;            // 0: none
  predict::Precision precision = predict::Precision::kFp32;
  std::vector<std::string> devices = {};  // empty: all that have a price
  std::vector<std::string> clouds = {};   // empty: all
  std::vector<int64_t> workers = {1, 2, 4, 8, 16, 32, 64};
  std::vector<int64_t> batches = {32, 64, 128, 256};  // per worker
  int64_t most_batch = 8192;                          // of all workers together
  std::string link = {};     // between hosts, instead of the instances' own
  bool every_batch = false;  // otherwise the fastest of each offer and number of workers
  double error = 0.17;       // share by which a predicted time may be off
};

struct PlanChoice {
  std::string device;
  int64_t workers = 1;
  int64_t servers = 0;
  int64_t batch = 1;  // per worker
  std::string comm;
  double hours = 0;
  double low_hours = 0;
  double high_hours = 0;
  double cost_usd = 0;
  double low_usd = 0;
  double high_usd = 0;
  std::string cloud;
  std::string offer;
  int64_t instances = 1;
  std::string inside;
  std::string network;   // between the instances, in words
  bool complete = true;  // false: the price is of the accelerators alone
  std::string price_date;
  bool meets = false;   // deadline and budget, by the prediction
  bool surely = false;  // even at the far end of the interval
};

struct Plan {
  std::vector<PlanChoice> choices;  // that meet both, cheapest first
  std::vector<PlanChoice> pareto;   // of all: nothing is both faster and cheaper; fastest first
  int64_t considered = 0;
  std::optional<PlanChoice> cheapest;  // of all
  std::optional<PlanChoice> fastest;
};

// Throws Error for unknown devices, clouds without offers and numbers that make no sense.
Plan make_plan(const PlanQuestion& question, const predict::Catalog& catalog,
               predict::Networks& networks);

}  // namespace trainyard::schedule

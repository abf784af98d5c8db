// The documents of `optimus`, `plan` and `schedule`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/schedule/loss/depth.h"
#include "cluster/schedule/loss/regression.h"
#include "cluster/schedule/loss/stages.h"
#include "cluster/schedule/plan.h"
#include "cluster/schedule/speed/speed_model.h"
#include "cluster/schedule/summary.h"
#include "cluster/schedule/time_to_accuracy.h"
#include "report/document.h"

namespace trainyard::report {

struct LossReport {
  schedule::Curve curve;
  schedule::CurveFit fit;
  double threshold = 0.01;
  std::optional<double> convergence;  // of the last stage
  double target_accuracy = 0;         // 0: not asked
  std::optional<schedule::AccuracyPoint> target;
};
// With several curves, a table of all of them and then each.
Document loss_document(std::span<const LossReport> reports);

struct DepthReport {
  schedule::DepthModel model;
  std::vector<schedule::DepthError> errors;
  std::vector<schedule::Curve> curves;
  std::optional<double> wanted;  // a depth to predict
};
void add_depths(Document& document, const DepthReport& report);

// A model per curve, their regression, and the curve of another depth predicted from it.
struct RegressionReport {
  struct Error {
    std::string name;  // of the real curve
    std::string device;
    double mape = 0;  // 0..1
  };
  std::vector<schedule::CurveModel> models;
  schedule::LossRegression regression;
  std::string unit = "epoch";
  double last_k = 0;                            // how far predictions are drawn
  std::optional<double> wanted;                 // a depth to predict
  std::vector<schedule::CurveModel> predicted;  // one per device
  std::vector<schedule::Curve> real;            // curves of that depth, to compare with
  std::vector<Error> errors;                    // of each real curve
};
Document regression_document(const RegressionReport& report);

struct SpeedReport {
  schedule::SpeedModel model;
  std::vector<schedule::SpeedPoint> points;
  std::string estimator;            // what was made small
  bool predicted = false;           // the points are
  double mape = 0;                  // 0..1
  std::vector<double> other_theta;  // by the other estimator
  double other_mape = 0;
  std::vector<std::pair<int64_t, int64_t>> next;  // to measure
};
Document speed_document(const SpeedReport& report);

struct TimeReport {
  schedule::TimeQuestion question;
  schedule::TimeAnswer answer;
  std::string goal;   // "0.92 accuracy at epoch 101, measured"
  std::string price;  // where it is from
};
Document time_document(const TimeReport& report);

// People see the best `most` choices; programs too, since there may be thousands.
Document plan_document(const schedule::PlanQuestion& question, const schedule::Plan& plan,
                       size_t most);

// The documents of `trainyard schedule`.
struct ScheduleContext {
  std::string workload;
  std::string cluster;  // "13 nodes of 16 CPUs"
  std::vector<std::string> notes = {};
};

// All policies side by side, with a chart of completion times and one of who ran when.
Document schedule_document(const ScheduleContext& context,
                           std::span<const schedule::SimulationResult> results);

// Averages of each policy for estimates that are off by these shares.
struct Sensitivity {
  std::string policy;
  std::vector<double> average;  // by error
  std::vector<double> makespan;
};
void add_sensitivity(Document& document, std::span<const double> errors,
                     std::span<const Sensitivity> rows);

struct DecisionTime {
  std::string policy;
  int64_t jobs = 0;
  int64_t tasks = 0;  // that were placed
  int64_t nodes = 0;
  double seconds = 0;      // on the clock
  double cpu_seconds = 0;  // of the processor
};
Document decisions_document(std::span<const DecisionTime> rows);

}  // namespace trainyard::report

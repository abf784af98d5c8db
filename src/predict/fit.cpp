#include "predict/fit.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <ceres/ceres.h>

#include "base/error.h"
#include "predict/catalog.h"

namespace trainyard::predict {
namespace {

// Standard deviation of the logarithm by which a parameter may leave its prior.
double freedom(std::string_view field) {
  static const std::map<std::string_view, double> kFreedom = {
      {"conv", 0.5},    {"gemm", 0.3},   {"memory", 0.35}, {"gradient", 0.25}, {"winograd", 0.3},
      {"fourier", 0.5}, {"matrix", 0.7}, {"depth", 0.7},   {"launch_us", 1.0}, {"occupancy", 0.7}};
  return kFreedom.at(field);
}
// Nothing goes beyond the peak; minimal filtering with 4x4 tiles saves a factor of 4 at most.
double most(std::string_view field) {
  if (field == "conv" || field == "gemm" || field == "memory" || field == "fourier") return 0.95;
  return field == "winograd" ? 4.0 : 1e6;
}
constexpr double kDeviceFreedom = 0.25;
// What a measured row is worth: differences of this size are noise.
constexpr double kRowNoise = 0.08;
// Rows that no parameters explain must not bend the rest.
constexpr double kOutlier = 2.0;

// One number under the optimiser: its logarithm, and where it goes.
struct Parameter {
  std::string device_class;  // empty: a device factor
  const EfficiencyField* field = nullptr;
  std::string device;
  double prior = 0;
  double freedom = 1;
};

class Problem {
 public:
  Problem(const Stack& prior, std::span<const FitRow> rows) : prior_(prior), rows_(rows) {
    std::set<std::string> classes;
    for (const FitRow& row : rows) {
      classes.insert(std::string(device_class(*row.device)));
      devices_[row.device->id] = row.device;
    }
    for (const std::string& name : classes) {
      for (const EfficiencyField& field : efficiency_fields()) {
        const double value = prior.for_class(name).*field.value;
        parameters_.push_back({name, &field, "", std::log(value), freedom(field.name)});
      }
    }
    // With one device its factor and the class's efficiency are the same number.
    if (devices_.size() > 1) {
      for (const auto& [id, device] : devices_) {
        const double factor = prior.factor_for(id, device->kind);
        parameters_.push_back({"", nullptr, id, std::log(factor), kDeviceFreedom});
      }
    }
  }

  size_t size() const { return parameters_.size(); }
  size_t num_residuals() const { return rows_.size() + parameters_.size(); }

  double upper(size_t i) const {
    const EfficiencyField* field = parameters_[i].field;
    return std::log(field != nullptr ? most(field->name) : 1e6);
  }

  std::vector<double> start() const {
    std::vector<double> x;
    for (const Parameter& p : parameters_) x.push_back(p.prior);
    return x;
  }

  Stack stack(const double* x) const {
    Stack stack = prior_;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      if (p.field != nullptr) {
        stack.efficiency.find(p.device_class)->second.*p.field->value = std::exp(x[i]);
      } else {
        stack.device_factor[p.device] = std::exp(x[i]);
      }
    }
    return stack;
  }

  // With what devices of one kind have in common, for those that were not measured.
  Stack result(const double* x) const {
    Stack fitted = stack(x);
    std::map<std::string, std::pair<double, double>> kinds;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].field != nullptr) continue;
      auto& [sum, count] = kinds[devices_.at(parameters_[i].device)->kind];
      sum += x[i];
      count += 1;
    }
    for (const auto& [kind, sum] : kinds) {
      fitted.device_factor[kind] = std::exp(sum.first / sum.second);
    }
    return fitted;
  }

  void residuals(const double* x, double* out) const {
    const Stack candidate = stack(x);
    for (const FitRow& row : rows_) {
      const double error = std::log(predicted_speed(row, candidate) / row.images_per_s) / kRowNoise;
      // Grows like a square root beyond the outlier threshold.
      *out++ =
          std::copysign(kOutlier * (std::sqrt(1 + 2 * std::fabs(error) / kOutlier) - 1), error);
    }
    for (size_t i = 0; i < parameters_.size(); ++i) {
      *out++ = (x[i] - parameters_[i].prior) / parameters_[i].freedom;
    }
  }

 private:
  Stack prior_;
  std::span<const FitRow> rows_;
  std::map<std::string, const Device*> devices_;
  std::vector<Parameter> parameters_;
};

struct Residuals {
  const Problem* problem;
  bool operator()(double const* const* parameters, double* out) const {
    problem->residuals(parameters[0], out);
    return true;
  }
};

}  // namespace

double predicted_speed(const FitRow& row, const Stack& stack) {
  const Roofline roofline(*row.device, stack, row.precision);
  return row.batch / predict_step(*row.profile, roofline, row.batch, row.mode).total();
}

Stack fit_stack(const Stack& prior, std::span<const FitRow> rows) {
  if (rows.empty()) return prior;
  const Problem problem(prior, rows);
  std::vector<double> x = problem.start();
  auto cost = std::make_unique<ceres::DynamicNumericDiffCostFunction<Residuals, ceres::FORWARD>>(
      new Residuals{&problem});
  cost->AddParameterBlock(static_cast<int>(problem.size()));
  cost->SetNumResiduals(static_cast<int>(problem.num_residuals()));
  ceres::Problem solver;
  solver.AddResidualBlock(cost.release(), nullptr, x.data());
  for (size_t i = 0; i < x.size(); ++i) {
    solver.SetParameterUpperBound(x.data(), static_cast<int>(i), problem.upper(i));
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 30;
  options.function_tolerance = 1e-4;
  options.num_threads = 1;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &solver, &summary);
  TY_CHECK(summary.IsSolutionUsable(), "{}", summary.message);
  return problem.result(x.data());
}

}  // namespace trainyard::predict

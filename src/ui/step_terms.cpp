#include "ui/step_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace trainyard::ui {
namespace {

std::optional<double> last_number(const Run& run, std::string_view name) {
  const auto found = run.recording->last().find(name);
  if (found == run.recording->last().end()) return std::nullopt;
  return found->second;
}

std::optional<double> number_of(const Json& object, std::string_view name) {
  const Json* value = object.is_object() ? object.find(name) : nullptr;
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->as_number();
}

// Of the last step alone, before an epoch has ended.
std::optional<StepTerms> last_step(const Run& run) {
  const std::optional<double> step = last_number(run, "step_ms");
  if (!step) return std::nullopt;
  StepTerms terms{.step = *step,
                  .input = std::min(*step, last_number(run, "data_ms").value_or(0)),
                  .exposed = std::min(*step, last_number(run, "exposed_ms").value_or(0))};
  terms.compute = std::max(0.0, terms.step - terms.input - terms.exposed);
  return terms;
}

// One that computes a quarter longer than the middle one: the others wait for it when they
// exchange.
std::optional<size_t> slow_rank(std::span<const double> workers_ms) {
  constexpr double kSlow = 1.25;
  if (workers_ms.size() < 2) return std::nullopt;
  std::vector<double> sorted(workers_ms.begin(), workers_ms.end());
  std::sort(sorted.begin(), sorted.end());
  const auto slowest = std::max_element(workers_ms.begin(), workers_ms.end());
  if (*slowest < kSlow * sorted[(sorted.size() - 1) / 2]) return std::nullopt;
  return static_cast<size_t>(slowest - workers_ms.begin());
}

}  // namespace

std::optional<StepTerms> measured_step(const Run& run) {
  const std::optional<double> speed = last_number(run, "images_per_s");
  const std::optional<double> batch = number_of(run.settings, "batch");
  if (!speed || !batch || *speed <= 0) return last_step(run);
  StepTerms terms{.step = 1000 * *batch / *speed};
  const double train = last_number(run, "train_s").value_or(0);
  if (train > 0) {
    terms.input = terms.step * std::min(1.0, last_number(run, "wait_s").value_or(0) / train);
    terms.exposed = terms.step * std::min(1.0, last_number(run, "exposed_s").value_or(0) / train);
  }
  terms.compute = std::max(0.0, terms.step - terms.input - terms.exposed);
  return terms;
}

std::optional<StepTerms> predicted_step(const Json& predicted) {
  const std::optional<double> step = number_of(predicted, "step_ms");
  if (!step) return std::nullopt;
  StepTerms terms{.step = *step,
                  .input = number_of(predicted, "input_ms").value_or(0),
                  .exposed = number_of(predicted, "exposed_ms").value_or(0)};
  terms.compute = std::max(0.0, terms.step - terms.input - terms.exposed);
  return terms;
}

Json to_json(const StepTerms& terms) {
  return Json::object({{"step_ms", terms.step},
                       {"input_ms", terms.input},
                       {"exposed_ms", terms.exposed},
                       {"compute_ms", terms.compute}});
}

std::string wrong_term(const StepTerms& measured, const StepTerms& predicted, double others,
                       std::span<const double> workers_ms) {
  constexpr double kApart = 0.25;
  constexpr double kBusyOthers = 0.1;  // of the processors
  if (predicted.step <= 0 || std::abs(measured.step / predicted.step - 1) <= kApart) return {};
  const std::array<std::pair<double, const char*>, 3> apart = {{
      {std::abs(measured.compute - predicted.compute), "compute"},
      {std::abs(measured.input - predicted.input), "input"},
      {std::abs(measured.exposed - predicted.exposed), "exposed communication"},
  }};
  const auto most = std::max_element(apart.begin(), apart.end());
  const bool slower = measured.step > predicted.step;
  if (most == apart.begin() && slower && others > kBusyOthers) return "other load";
  if (most == apart.end() - 1 && slower) {
    if (const std::optional<size_t> rank = slow_rank(workers_ms)) {
      return fmt::format("slow rank {}", *rank);
    }
  }
  return most->second;
}

std::optional<double> seconds_left(const Run& run) {
  if (run.state != RunState::kRunning) return std::nullopt;
  const std::optional<double> epochs = number_of(run.settings, "epochs");
  const std::optional<double> epoch = last_number(run, "epoch");
  const std::optional<double> seconds = last_number(run, "seconds");
  if (!epochs || !epoch || !seconds || *epoch <= 0) return std::nullopt;
  return std::max(0.0, *epochs - *epoch) * *seconds / *epoch;
}

}  // namespace trainyard::ui

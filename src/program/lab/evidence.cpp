// What makes the results of a lab weak evidence.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "program/lab/lab_report.h"
#include "program/lab/run_lab.h"

namespace trainyard::lab {
namespace {

// Numbers at random, or shapes that are drawn.
bool names_synthetic_data(const Json& settings) {
  return std::any_of(settings.members().begin(), settings.members().end(), [](const auto& entry) {
    if (!entry.second.is_string()) return false;
    const std::string& text = entry.second.as_string();
    return text.starts_with("synthetic:") || text.starts_with("shapes:");
  });
}

// Commands whose results are the same on a busy machine.
constexpr std::string_view kUntimed[] = {
    "analyze", "check",   "data",    "detect",          "device",   "evaluate",  "export",  "jobs",
    "models",  "optimus", "predict", "receptive-field", "schedule", "staleness", "validate"};

}  // namespace

bool takes_times(const Step& step) {
  const std::string command = split(step.run, ' ')[0];
  const bool untimed =
      std::find(std::begin(kUntimed), std::end(kUntimed), command) != std::end(kUntimed);
  return !untimed || step.run.find("--this") != std::string::npos;
}

std::string weak_evidence(const Lab& lab, const Json& data) {
  const Json& settings = data.at("settings");
  std::vector<std::string> reasons;
  if (data.at("quick").as_bool() && !lab.quick.empty()) {
    reasons.emplace_back("it was run with `--quick`, at small sizes");
  }
  constexpr int64_t kFewSteps = 10;
  const Json* steps = settings.find("steps");
  // 0 steps are whole epochs.
  if (steps != nullptr && steps->is_number() && steps->as_int() > 0 &&
      steps->as_int() < kFewSteps) {
    reasons.push_back(fmt::format("times of epochs are extrapolated from {} step{}",
                                  steps->as_int(), steps->as_int() == 1 ? "" : "s"));
  }
  const Json* load = data.find("load_average");
  const double cores = data.at("machine").at("threads").as_number();
  constexpr double kBusy = 0.5;  // of the cores
  if (load != nullptr && load->as_number() > kBusy * cores &&
      std::any_of(lab.steps.begin(), lab.steps.end(), takes_times)) {
    reasons.push_back(
        fmt::format("the machine was busy when it began (load {:.1f} on {:.0f} core{})",
                    load->as_number(), cores, cores == 1 ? "" : "s"));
  }
  if (names_synthetic_data(settings)) reasons.emplace_back("the data are synthetic");
  if (reasons.empty()) return "";
  return "Weak evidence: " + join(reasons, "; ") + ".";
}

}  // namespace trainyard::lab

#include "train/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard::train {
namespace {

using Kind = Schedule::Kind;

struct ScheduleName {
  std::string_view name;
  Kind kind;
  std::vector<std::string> settings;  // besides those of the warm-up
};

// Which settings each schedule reads; any other is refused by its name.
const std::array<ScheduleName, 7>& rows() {
  static const std::array<ScheduleName, 7> kRows = {
      {{"constant", Kind::kConstant, {}},
       {"step", Kind::kStep, {"gamma"}},
       {"multistep", Kind::kMultiStep, {"gamma"}},
       {"cosine", Kind::kCosine, {"end"}},
       {"polynomial", Kind::kPolynomial, {"power", "end"}},
       {"onecycle", Kind::kOneCycle, {"rise", "start", "end"}},
       {"wsd", Kind::kWsd, {"decay", "end"}}}};
  return kRows;
}

const ScheduleName& find_row(const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduleName& row : rows()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw_error("no learning-rate schedule '{}'.{} Schedules: {}", name, did_you_mean(name, names),
              join(names, ", "));
}

// From 0: a negative period, power or rate makes no sense in any setting.
double setting_of(const std::string& text, std::string_view schedule) {
  const auto number = parse_number<double>(text);
  TY_REQUIRE(number && std::isfinite(*number) && *number >= 0,
             "schedule '{}': expected a number from 0, found '{}'", schedule, text);
  return *number;
}

void set(Schedule& schedule, const ScheduleName& row, const std::string& setting,
         std::string_view text) {
  const size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  std::vector<std::string> known = row.settings;
  // The rise of onecycle is its warm-up.
  if (row.kind != Kind::kOneCycle) known.insert(known.end(), {"warmup", "warmup_from"});
  TY_REQUIRE(std::find(known.begin(), known.end(), key) != known.end(),
             "schedule '{}': {} has no setting '{}'.{} Settings: {}", text, row.name, key,
             did_you_mean(key, known), join(known, ", "));
  TY_REQUIRE(equals != std::string::npos, "schedule '{}': expected {}=number", text, key);
  const double value = setting_of(setting.substr(equals + 1), text);
  if (key == "gamma") schedule.gamma = value;
  if (key == "power") schedule.power = value;
  if (key == "end") schedule.end = value;
  if (key == "start") schedule.start = value;
  if (key == "rise" || key == "decay") {
    TY_REQUIRE(value <= 1, "schedule '{}': {} is a share of the run, at most 1", text, key);
    (key == "rise" ? schedule.rise : schedule.decay) = value;
  }
  if (key == "warmup") schedule.warmup = value;
  if (key == "warmup_from") schedule.warmup_from = value;
}

// From `from` to `to` by half a cosine.
double along_cosine(double from, double to, double progress) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

// The share of the rate without the warm-up.
double share(const Schedule& schedule, double epoch, double epochs) {
  // A warm-up as long as the run leaves no length: the rate then stays at its top.
  const double length = epochs - schedule.warmup;
  const double progress =
      length > 0 ? std::clamp((epoch - schedule.warmup) / length, 0.0, 1.0) : 0.0;
  switch (schedule.kind) {
    case Kind::kConstant:
      return 1;
    case Kind::kStep:
      return std::pow(schedule.gamma, std::floor(epoch / schedule.period));
    case Kind::kMultiStep: {
      // A milestone counts as passed at its very epoch.
      const auto passed =
          std::upper_bound(schedule.milestones.begin(), schedule.milestones.end(), epoch) -
          schedule.milestones.begin();
      return std::pow(schedule.gamma, static_cast<double>(passed));
    }
    case Kind::kCosine:
      return along_cosine(1, schedule.end, progress);
    case Kind::kPolynomial:
      return schedule.end + (1 - schedule.end) * std::pow(1 - progress, schedule.power);
    case Kind::kOneCycle:
      if (progress < schedule.rise) {
        return along_cosine(schedule.start, 1, progress / schedule.rise);
      }
      return schedule.rise < 1
                 ? along_cosine(1, schedule.end, (progress - schedule.rise) / (1 - schedule.rise))
                 : 1.0;
    case Kind::kWsd: {
      // Of the whole run, warm-up included.
      const double left = std::max(0.0, epochs - epoch) / epochs;
      return left < schedule.decay ? schedule.end + (1 - schedule.end) * left / schedule.decay : 1;
    }
  }
  TY_CHECK(false, "unknown kind of schedule");
}

}  // namespace

Schedule parse_schedule(std::string_view text) {
  const std::vector<std::string> parts = split(text, ';');
  const size_t colon = parts[0].find(':');
  const ScheduleName& row = find_row(parts[0].substr(0, colon));
  Schedule schedule;
  schedule.kind = row.kind;
  std::vector<double> epochs;
  if (colon != std::string::npos) {
    for (const std::string& epoch : split(std::string_view(parts[0]).substr(colon + 1), ',')) {
      epochs.push_back(setting_of(epoch, text));
    }
  }
  if (row.kind == Kind::kStep) {
    TY_REQUIRE(epochs.size() == 1 && epochs[0] > 0,
               "schedule '{}': expected the epochs between falls, as in step:30", text);
    schedule.period = epochs[0];
  } else if (row.kind == Kind::kMultiStep) {
    TY_REQUIRE(!epochs.empty() && std::adjacent_find(epochs.begin(), epochs.end(),
                                                     std::greater_equal<>()) == epochs.end(),
               "schedule '{}': expected rising epochs, as in multistep:15,25", text);
    schedule.milestones = std::move(epochs);
  } else {
    TY_REQUIRE(colon == std::string::npos, "schedule '{}': {} takes no epochs", text, row.name);
  }
  for (size_t i = 1; i < parts.size(); ++i) set(schedule, row, parts[i], text);
  return schedule;
}

double learning_rate(const Schedule& schedule, double base_rate, double epoch, double epochs) {
  if (epoch >= schedule.warmup) return base_rate * share(schedule, epoch, epochs);
  // The rise ends where the schedule goes on, which may have fallen by then (milestones count from
  // the start of the run), so that the rate does not jump.
  const double top = share(schedule, schedule.warmup, epochs);
  const double risen = epoch / schedule.warmup;
  return base_rate * (schedule.warmup_from + (top - schedule.warmup_from) * risen);
}

double scale_with_batch(double base_rate, int64_t batch, int64_t base_batch) {
  TY_REQUIRE(batch > 0 && base_batch > 0,
             "a learning rate is scaled from one batch to another, found {} and {}", base_batch,
             batch);
  return base_rate * static_cast<double>(batch) / static_cast<double>(base_batch);
}

}  // namespace trainyard::train

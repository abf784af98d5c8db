#include "rl/agents/progress.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"

namespace trainyard::rl {
namespace {

// As many episodes as published training curves average over.
constexpr size_t kRecent = 100;
constexpr double kShowEvery = 2;  // seconds

}  // namespace

// NaN, which becomes null in a file, if nothing was added since the last time.
double RunningMean::take() {
  const double mean =
      count_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / static_cast<double>(count_);
  sum_ = 0;
  count_ = 0;
  return mean;
}

RunProgress::RunProgress(const RlConfig& config, const runs::RunDirectory* directory,
                         const RunHooks& hooks, int64_t first_step)
    : config_(config), hooks_(hooks), next_line_(first_step + config.log_every) {
  if (directory != nullptr) metrics_.emplace(directory->metrics(), first_step);
}

void RunProgress::add_episode(const Episode& episode) {
  ++episodes_;
  recent_.push_back(episode.reward);
  if (recent_.size() > kRecent) recent_.pop_front();
}

void RunProgress::add_update(const UpdateReport& report) {
  loss_.add(report.loss);
  value_.add(report.mean_value);
  error_.add(report.mean_error);
  age_.add(report.mean_age);
}

double RunProgress::recent_return() const {
  if (recent_.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(recent_.begin(), recent_.end(), 0.0) / static_cast<double>(recent_.size());
}

// Before the first episode has ended there is no return.
std::string RunProgress::return_text() const {
  return recent_.empty() ? "" : fmt::format("  return {:.1f}", recent_return());
}

// Called after every step of the run; writes a line and shows progress only now and then.
void RunProgress::step(int64_t steps, int64_t updates, double epsilon, const Json& more) {
  const double now = seconds();
  if (now - shown_ >= kShowEvery) {
    shown_ = now;
    hooks_.progress(fmt::format("{} of {} steps  {} episodes{}  {} updates  {}", with_commas(steps),
                                with_commas(config_.steps), with_commas(episodes_), return_text(),
                                with_commas(updates), seconds_text(now)));
  }
  if (steps < next_line_) return;
  // Several copies may pass more than one mark in a step; they get one line.
  while (next_line_ <= steps) next_line_ += config_.log_every;
  if (!metrics_) return;
  Json line = Json::object({{"step", steps},
                            {"seconds", now},
                            {"episodes", episodes_},
                            {"updates", updates},
                            {"return", recent_return()},
                            {"loss", loss_.take()},
                            {"q_value", value_.take()},
                            {"td_error", error_.take()},
                            {"replay_age", age_.take()},
                            {"epsilon", epsilon}});
  for (const auto& [key, value] : more.members()) line[key] = value;
  metrics_->append(line);
}

void RunProgress::add_evaluation(int64_t steps, const std::function<Evaluation()>& evaluate) {
  const double at = seconds();
  const Stopwatch pause;
  Evaluation evaluation = evaluate();
  // Evaluations are not part of the time to a return, as published wall-clock curves have it.
  paused_ += pause.seconds();
  hooks_.note(fmt::format("step {}: return {:.2f} +- {:.2f} over {} episodes", with_commas(steps),
                          evaluation.mean, evaluation.deviation, evaluation.returns.size()));
  if (metrics_) {
    metrics_->append(Json::object({{"step", steps},
                                   {"seconds", at},
                                   {"evaluation", evaluation.mean},
                                   {"evaluation_deviation", evaluation.deviation},
                                   {"evaluation_median", evaluation.median}}));
  }
  result_.evaluations.push_back({steps, at, std::move(evaluation)});
}

// What a checkpoint needs to go on; means under way are not part of it and start anew.
Json RunProgress::state() const {
  Json evaluations = Json::array();
  for (const EvaluationPoint& point : result_.evaluations) {
    evaluations.push_back(Json::object({{"step", point.step},
                                        {"seconds", point.seconds},
                                        {"returns", Json::array_of(point.result.returns)}}));
  }
  return Json::object({{"episodes", episodes_},
                       {"recent", Json::array_of(recent_)},
                       {"seconds", seconds()},
                       {"next_line", next_line_},
                       {"evaluations", std::move(evaluations)}});
}

void RunProgress::set_state(const Json& state) {
  episodes_ = state.at("episodes").as_int();
  before_ = state.at("seconds").as_number();
  next_line_ = state.at("next_line").as_int();
  for (const Json& value : state.at("recent").items()) recent_.push_back(value.as_number());
  for (const Json& point : state.at("evaluations").items()) {
    std::vector<double> returns;
    for (const Json& value : point.at("returns").items()) returns.push_back(value.as_number());
    result_.evaluations.push_back(
        {point.at("step").as_int(), point.at("seconds").as_number(), summarize(returns)});
  }
}

}  // namespace trainyard::rl

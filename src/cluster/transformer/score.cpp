#include "cluster/transformer/score.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cluster/transformer/memory.h"
#include "cluster/transformer/quantile.h"

namespace trainyard::transformer {
namespace {

using Grouped = std::map<std::string, std::vector<double>>;

double off(double predicted, double measured) {
  return std::abs(predicted / measured - 1);
}

// What one utilization for all rows would give: FLOPs over the peak, for one row.
double ideal_seconds(const PublishedRow& row) {
  const TokenFlops flops = token_flops(row.model, row.mapping.sequence);
  const double tokens = static_cast<double>(row.mapping.batch * row.mapping.sequence);
  const double passes = row.pass == Pass::kForward ? flops.forward() : flops.training();
  return tokens * passes /
         (row.machine.peak(row.mapping.number) * static_cast<double>(row.mapping.workers));
}

bool fits_device(const PublishedRow& row) {
  return row.pass == Pass::kForward ||
         memory_of(row.model, row.mapping).total() <= row.machine.memory_bytes;
}

double constant_error(const std::vector<const PublishedRow*>& rows) {
  std::vector<double> slower;
  for (const PublishedRow* row : rows) slower.push_back(row->step_seconds / ideal_seconds(*row));
  const double usual = quantile_of(slower, 0.5);
  std::vector<double> errors;
  for (const double one : slower) errors.push_back(off(usual, one));
  return mean_of(errors);
}

using StackOf = std::function<const FittedStack&(const PublishedRow&)>;

std::vector<Score> scores_of(std::span<const PublishedRow> rows, const StackOf& stack_of) {
  std::map<std::string, std::vector<const PublishedRow*>> groups;
  for (const PublishedRow& row : rows) groups[row.group].push_back(&row);
  std::vector<Score> scores;
  for (const auto& [group, members] : groups) {
    Score score;
    score.group = group;
    score.rows = static_cast<int64_t>(members.size());
    std::vector<double> errors;
    std::vector<double> inside;
    std::vector<double> fits;
    for (const PublishedRow* row : members) {
      const FittedStack& stack = stack_of(*row);
      const double seconds = predicted_seconds(*row, stack.factors);
      errors.push_back(off(seconds, row->step_seconds));
      const SpeedInterval& interval = stack.interval(row->machine.generation);
      inside.push_back(interval.has(seconds / row->step_seconds) ? 1 : 0);
      fits.push_back(fits_device(*row) ? 1 : 0);
    }
    score.error = mean_of(errors);
    score.median = quantile_of(errors, 0.5);
    score.inside = mean_of(inside);
    score.fits = mean_of(fits);
    score.constant = constant_error(members);
    scores.push_back(std::move(score));
  }
  return scores;
}

Grouped errors_of(const std::vector<LeftOut>& rows) {
  Grouped errors;
  for (const LeftOut& one : rows) {
    errors[one.row->group].push_back(off(one.seconds, one.row->step_seconds));
  }
  return errors;
}

std::optional<double> mean_in(const Grouped& errors, const std::string& group) {
  const auto found = errors.find(group);
  if (found == errors.end()) return std::nullopt;
  return mean_of(found->second);
}

void append(Grouped&& from, Grouped& to) {
  for (auto& [group, values] : from) {
    std::ranges::copy(values, std::back_inserter(to[group]));
  }
}

void add_left_out(const std::vector<FittedStack>& fitted, const std::vector<StackRows>& stacks,
                  std::vector<Score>& scores) {
  Grouped rounds;
  Grouped sizes;
  Grouped devices;
  Grouped generations;
  Grouped inside;
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].rows.empty()) continue;
    if (!stacks[i].rows.front()->round.empty()) {
      append(errors_of(leave_out(stacks[i].rows, round_key)), rounds);
    }
    append(errors_of(leave_out(stacks[i].rows, size_key)), sizes);
    append(errors_of(leave_out(stacks[i].rows, device_key)), devices);
    const std::vector<LeftOut> unseen = leave_out(stacks[i].rows, generation_key);
    append(errors_of(unseen), generations);
    for (const LeftOut& one : unseen) {
      inside[one.row->group].push_back(fitted[i].far.has(one.speed()) ? 1 : 0);
    }
  }
  for (Score& score : scores) {
    score.round_left_out = mean_in(rounds, score.group);
    score.size_left_out = mean_in(sizes, score.group);
    score.device_left_out = mean_in(devices, score.group);
    score.generation_left_out = mean_in(generations, score.group);
    score.generation_inside = mean_in(inside, score.group);
  }
}

}  // namespace

std::vector<Score> score_fits(std::span<const PublishedRow> rows, bool leaving) {
  const std::vector<FittedStack> fitted = fit_stacks(rows);
  const auto stack_of = [&fitted](const PublishedRow& row) -> const FittedStack& {
    return fitted[static_cast<size_t>(&row.stack_of() - fitted_stacks().data())];
  };
  std::vector<Score> scores = scores_of(rows, stack_of);
  if (leaving) add_left_out(fitted, rows_by_stack(rows), scores);
  return scores;
}

std::vector<Score> score_catalog(std::span<const PublishedRow> rows) {
  return scores_of(rows,
                   [](const PublishedRow& row) -> const FittedStack& { return row.stack_of(); });
}

std::vector<ScoredRow> scored_rows(std::span<const PublishedRow> rows) {
  std::vector<ScoredRow> out;
  for (const PublishedRow& row : rows) {
    ScoredRow one;
    one.row = &row;
    one.seconds = predicted_seconds(row, row.stack_of().factors);
    one.interval = row.stack_of().interval(row.machine.generation);
    one.inside = one.interval.has(one.seconds / row.step_seconds);
    out.push_back(one);
  }
  return out;
}

std::vector<MemoryScore> score_memory(std::span<const MemoryRow> rows) {
  std::map<std::string, std::vector<double>> groups;
  for (const MemoryRow& row : rows) {
    groups[row.group].push_back(memory_of(row.model, row.mapping).allocated() / row.bytes - 1);
  }
  std::vector<MemoryScore> scores;
  for (const auto& [group, errors] : groups) {
    MemoryScore score;
    score.group = group;
    score.rows = static_cast<int64_t>(errors.size());
    score.bias = mean_of(errors);
    score.lowest = std::ranges::min(errors);
    score.highest = std::ranges::max(errors);
    std::vector<double> sizes = errors;
    for (double& error : sizes) error = std::abs(error);
    score.error = mean_of(sizes);
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace trainyard::transformer

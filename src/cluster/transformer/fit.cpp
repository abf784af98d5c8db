#include "cluster/transformer/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace trainyard::transformer {
namespace {

// The error of a row that is as likely as a factor one spread away from the usual.
constexpr double kLikelyError = 0.08;
constexpr double kSmooth = 0.02;
constexpr double kFirstMove = 0.32;
constexpr double kLastMove = 0.01;
constexpr int kMostSweeps = 60;

using RowList = std::vector<const PublishedRow*>;

double misfit(std::span<const PublishedRow* const> rows, const Factors& factors,
              const Factors& usual) {
  double sum = 0;
  for (const PublishedRow* row : rows) {
    // Nearly the absolute error: a kink at 0 would stop a search that moves one factor at a time.
    const double off = std::log(predicted_seconds(*row, factors) / row->step_seconds);
    sum += std::sqrt(off * off + kSmooth * kSmooth) - kSmooth;
  }
  sum /= kLikelyError;
  for (size_t i = 0; i < kNumFactors; ++i) {
    const double far = std::log(factors[i] / usual[i]) / factor_infos()[i].spread;
    sum += 0.5 * far * far;
  }
  return sum;
}

// Moves one factor after the other as long as that helps, with smaller and smaller moves.
class Search {
 public:
  Search(std::span<const PublishedRow* const> rows, const Factors& usual)
      : rows_(rows), usual_(usual), best_(usual), least_(misfit(rows, usual, usual)) {
    moves_.fill(kFirstMove);
  }

  Factors run() {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool moving = false;
      for (size_t i = 0; i < kNumFactors; ++i) {
        if (moves_[i] < kLastMove) continue;
        moving = true;
        if (!try_both(i, moves_[i])) moves_[i] /= 2;
      }
      if (!moving) break;
    }
    return best_;
  }

 private:
  // Up or down, alone or with all products the other way, so that their sum stays.
  bool try_both(size_t factor, double by) {
    for (const double move : {by, -by}) {
      if (try_move(factor, move, 0) || (factor > kMatmul && try_move(factor, move, -move))) {
        return true;
      }
    }
    return false;
  }

  bool try_move(size_t factor, double by, double matmul_by) {
    Factors tried = best_;
    tried[factor] *= std::exp(by);
    tried[kMatmul] *= std::exp(matmul_by);
    const double found = misfit(rows_, tried, usual_);
    if (found >= least_ - 1e-9) return false;
    least_ = found;
    best_ = tried;
    return true;
  }

  std::span<const PublishedRow* const> rows_;
  Factors usual_;
  Factors best_;
  double least_;
  std::array<double, kNumFactors> moves_ = {};
};

struct StackRows {
  std::string name;
  RowList rows;
};

// The rows of each stack of the catalog.
std::vector<StackRows> by_stack(std::span<const PublishedRow> rows) {
  std::vector<StackRows> out;
  for (const FittedStack& stack : fitted_stacks()) {
    out.push_back({stack.name, {}});
    for (const PublishedRow& row : rows) {
      if (&stack_for(row.stack, row.model.experts > 0) == &stack) out.back().rows.push_back(&row);
    }
  }
  return out;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 1;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

// Collects absolute errors by group of source.
struct Errors {
  std::map<std::string, std::vector<double>> by_group;

  void add(const PublishedRow& row, const Factors& factors) {
    by_group[row.group].push_back(std::abs(relative_error(row, factors)));
  }
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Predicts the rows of each key from a fit to the others of the stack.
template <typename KeyOf>
void leave_out(const StackRows& stack, const KeyOf& key_of, Errors& errors) {
  std::set<std::string> keys;
  for (const PublishedRow* row : stack.rows) keys.insert(key_of(*row));
  for (const std::string& key : keys) {
    RowList others;
    for (const PublishedRow* row : stack.rows) {
      if (key_of(*row) != key) others.push_back(row);
    }
    // Nothing is known of a stack whose rows are all left out.
    if (others.empty()) continue;
    const Factors factors = fit_factors(others, usual_factors());
    for (const PublishedRow* row : stack.rows) {
      if (key_of(*row) == key) errors.add(*row, factors);
    }
  }
}

std::vector<Score> scores_of(const Errors& in_sample, const Errors& sizes, const Errors& devices,
                             const std::map<std::string, int64_t>& inside) {
  std::vector<Score> out;
  for (const auto& [group, errors] : in_sample.by_group) {
    Score score;
    score.group = group;
    score.rows = static_cast<int64_t>(errors.size());
    score.in_sample = mean_of(errors);
    score.median = quantile(errors, 0.5);
    const auto find = [&group](const Errors& from) {
      const auto found = from.by_group.find(group);
      return found == from.by_group.end() ? std::nullopt
                                          : std::optional<double>(mean_of(found->second));
    };
    score.size_left_out = find(sizes);
    score.device_left_out = find(devices);
    const auto within = inside.find(group);
    if (within != inside.end()) {
      score.inside = static_cast<double>(within->second) / static_cast<double>(score.rows);
    }
    out.push_back(std::move(score));
  }
  return out;
}

bool within(const PublishedRow& row, const FittedStack& stack) {
  const double speed = predicted_seconds(row, stack.factors) / row.step_seconds;
  return speed >= stack.low && speed <= stack.high;
}

}  // namespace

double predicted_seconds(const PublishedRow& row, const Factors& factors) {
  const StepModel model(row.model, row.machine, factors, row.mapping.sequence);
  return model.step(row.mapping, row.pass).total();
}

double relative_error(const PublishedRow& row, const Factors& factors) {
  return predicted_seconds(row, factors) / row.step_seconds - 1;
}

Factors fit_factors(std::span<const PublishedRow* const> rows, const Factors& usual) {
  return Search(rows, usual).run();
}

std::vector<FittedStack> fit_stacks(std::span<const PublishedRow> rows) {
  std::vector<FittedStack> out(fitted_stacks().begin(), fitted_stacks().end());
  const std::vector<StackRows> stacks = by_stack(rows);
  for (size_t i = 0; i < out.size(); ++i) {
    if (stacks[i].rows.empty()) continue;
    out[i].factors = fit_factors(stacks[i].rows, usual_factors());
    out[i].rows = static_cast<int64_t>(stacks[i].rows.size());
    std::vector<double> speeds;
    for (const PublishedRow* row : stacks[i].rows) {
      speeds.push_back(predicted_seconds(*row, out[i].factors) / row->step_seconds);
    }
    out[i].low = quantile(speeds, 0.1);
    out[i].high = quantile(speeds, 0.9);
  }
  return out;
}

std::vector<Score> score_fits(std::span<const PublishedRow> rows, bool leaving) {
  Errors in_sample;
  Errors sizes;
  Errors devices;
  std::map<std::string, int64_t> inside;
  const std::vector<FittedStack> fitted = fit_stacks(rows);
  const std::vector<StackRows> stacks = by_stack(rows);
  for (size_t i = 0; i < stacks.size(); ++i) {
    for (const PublishedRow* row : stacks[i].rows) {
      in_sample.add(*row, fitted[i].factors);
      if (within(*row, fitted[i])) ++inside[row->group];
    }
    if (!leaving) continue;
    leave_out(
        stacks[i], [](const PublishedRow& row) { return row.size_key(); }, sizes);
    leave_out(
        stacks[i], [](const PublishedRow& row) { return row.machine.generation; }, devices);
  }
  return scores_of(in_sample, sizes, devices, inside);
}

std::vector<Score> score_catalog(std::span<const PublishedRow> rows) {
  Errors errors;
  std::map<std::string, int64_t> inside;
  for (const PublishedRow& row : rows) {
    const FittedStack& stack = stack_for(row.stack, row.model.experts > 0);
    errors.add(row, stack.factors);
    if (within(row, stack)) ++inside[row.group];
  }
  return scores_of(errors, {}, {}, inside);
}

}  // namespace trainyard::transformer

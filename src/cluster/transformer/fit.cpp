#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "cluster/transformer/quantile.h"
#include "cluster/transformer/score.h"

namespace trainyard::transformer {
namespace {

// The error of a row that is as likely as a factor one spread away from the usual.
constexpr double kLikelyError = 0.08;
constexpr double kSmooth = 0.02;
constexpr double kFirstMove = 0.32;
constexpr double kLastMove = 0.01;
constexpr int kMostSweeps = 60;
// Rows of generations that were left out, below which they give a stack no interval of its own.
constexpr size_t kFewestUnseen = 8;

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

// 80 % of these and, as if drawn with them, of the next one. A few say little of the tails.
SpeedInterval interval_of(const std::vector<LeftOut>& rows) {
  if (rows.empty()) return {};
  std::vector<double> speeds;
  for (const LeftOut& row : rows) speeds.push_back(row.speed());
  const double count = static_cast<double>(speeds.size());
  const double high = 0.9 * (count + 1) / count;
  return {std::min(quantile_of(speeds, 1 - high), 1.0), std::max(quantile_of(speeds, high), 1.0)};
}

std::vector<std::string> generations_of(std::span<const PublishedRow* const> rows) {
  std::set<std::string> names;
  for (const PublishedRow* row : rows) names.insert(row->machine.generation);
  return {names.begin(), names.end()};
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

std::string size_key(const PublishedRow& row) {
  return fmt::format("{}x{}", row.model.layers, row.model.hidden);
}
std::string round_key(const PublishedRow& row) {
  return row.round;
}
std::string device_key(const PublishedRow& row) {
  return row.machine.id;
}
std::string generation_key(const PublishedRow& row) {
  return row.machine.generation;
}

std::vector<StackRows> rows_by_stack(std::span<const PublishedRow> rows) {
  std::vector<StackRows> out;
  for (const FittedStack& stack : fitted_stacks()) {
    out.push_back({stack.name, {}});
    for (const PublishedRow& row : rows) {
      if (&row.stack_of() == &stack) out.back().rows.push_back(&row);
    }
  }
  return out;
}

std::vector<LeftOut> leave_out(std::span<const PublishedRow* const> rows, KeyOf key_of) {
  std::set<std::string> keys;
  for (const PublishedRow* row : rows) keys.insert(key_of(*row));
  std::vector<LeftOut> out;
  for (const std::string& key : keys) {
    RowList others;
    for (const PublishedRow* row : rows) {
      if (key_of(*row) != key) others.push_back(row);
    }
    if (others.empty()) continue;
    const Factors factors = fit_factors(others, usual_factors());
    for (const PublishedRow* row : rows) {
      if (key_of(*row) == key) out.push_back({row, predicted_seconds(*row, factors)});
    }
  }
  return out;
}

std::vector<FittedStack> fit_stacks(std::span<const PublishedRow> rows) {
  std::vector<FittedStack> out(fitted_stacks().begin(), fitted_stacks().end());
  const std::vector<StackRows> stacks = rows_by_stack(rows);
  std::vector<LeftOut> all_unseen;
  std::vector<SpeedInterval> own_far(out.size(), {.low = 1, .high = 1});
  for (size_t i = 0; i < out.size(); ++i) {
    if (stacks[i].rows.empty()) continue;
    out[i].factors = fit_factors(stacks[i].rows, usual_factors());
    out[i].rows = static_cast<int64_t>(stacks[i].rows.size());
    out[i].generations = generations_of(stacks[i].rows);
    // Results of one network alone say how far those of other rounds are off.
    const bool rounds = !stacks[i].rows.front()->round.empty();
    out[i].known = interval_of(leave_out(stacks[i].rows, rounds ? round_key : size_key));
    const std::vector<LeftOut> unseen = leave_out(stacks[i].rows, generation_key);
    if (unseen.size() >= kFewestUnseen) own_far[i] = interval_of(unseen);
    if (!rounds) std::ranges::copy(unseen, std::back_inserter(all_unseen));
  }
  const SpeedInterval far = interval_of(all_unseen);
  for (size_t i = 0; i < out.size(); ++i) {
    // No narrower than on devices that are known, nor than other stacks are on those that are not.
    const SpeedInterval& own = own_far[i];
    out[i].far = {std::min({far.low, out[i].known.low, own.low}),
                  std::max({far.high, out[i].known.high, own.high})};
  }
  return out;
}

}  // namespace trainyard::transformer

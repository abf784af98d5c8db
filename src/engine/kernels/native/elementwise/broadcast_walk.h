// Operands that are stretched to the shape of a result, row by row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/kernels/parallel/parallel.h"
#include "tensor/shape.h"

namespace trainyard::kernels::native {

inline constexpr size_t kMostOperands = 3;

// In the innermost loop an operand moves along with the result, or stays where it is.
class BroadcastWalk {
 public:
  using Offsets = std::array<int64_t, kMostOperands>;

  // Row-major tensors that broadcast to `y`.
  BroadcastWalk(const Shape& y, std::span<const Shape* const> operands) {
    for (int64_t d = 0; d < y.rank(); ++d) {
      Loop loop{.count = y[d], .steps = {}};
      for (size_t i = 0; i < operands.size(); ++i) loop.steps[i] = step_of(*operands[i], y, d);
      if (loop.count != 1 || loops_.empty()) add(loop);
    }
    if (loops_.empty()) loops_.push_back({});
    row_ = loops_.back().count;
    for (size_t i = 0; i < kMostOperands; ++i) moves_[i] = loops_.back().steps[i] != 0;
    loops_.pop_back();
    for (const Loop& loop : loops_) rows_ *= loop.count;
  }

  bool moves(size_t operand) const { return moves_[operand]; }

  // Calls f(offsets of the operands, offset in y, count) for parts of rows, by all threads.
  template <typename F>
  void for_each(const F& f) const {
    const int64_t cuts = std::max<int64_t>(1, row_ / kRun);
    parallel_for(rows_ * cuts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / cuts;
        const int64_t first = row_ * (i % cuts) / cuts;
        Offsets at = offsets_of(row);
        for (size_t k = 0; k < kMostOperands; ++k) at[k] += moves_[k] ? first : 0;
        f(at, row * row_ + first, row_ * (i % cuts + 1) / cuts - first);
      }
    });
  }

 private:
  static constexpr int64_t kRun = 4096;

  struct Loop {
    int64_t count = 1;
    Offsets steps{};
  };

  static int64_t step_of(const Shape& x, const Shape& y, int64_t d) {
    const int64_t own = d - (y.rank() - x.rank());
    if (own < 0 || x[own] == 1) return 0;
    return x.num_elements(own + 1, x.rank());
  }

  // Neighboring dimensions along which all operands go on alike are one.
  void add(const Loop& loop) {
    if (!loops_.empty()) {
      Loop& outer = loops_.back();
      bool one = outer.count == 1;
      if (!one) {
        one = true;
        for (size_t i = 0; i < kMostOperands; ++i) {
          one = one && outer.steps[i] == loop.steps[i] * loop.count;
        }
      }
      if (one) {
        outer = {.count = outer.count * loop.count, .steps = loop.steps};
        return;
      }
    }
    loops_.push_back(loop);
  }

  Offsets offsets_of(int64_t row) const {
    Offsets at{};
    for (size_t d = loops_.size(); d-- > 0;) {
      const int64_t index = row % loops_[d].count;
      row /= loops_[d].count;
      for (size_t i = 0; i < kMostOperands; ++i) at[i] += index * loops_[d].steps[i];
    }
    return at;
  }

  std::vector<Loop> loops_;  // but the innermost
  std::array<bool, kMostOperands> moves_{};
  int64_t rows_ = 1;
  int64_t row_ = 1;
};

}  // namespace trainyard::kernels::native

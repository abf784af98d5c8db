// One step of an LSTM, a GRU or an RNN for a vector of units at a time: the sums of all gates of
// these units stay in registers until the new state is stored. Included by one file for each width
// of vectors; everything is local to that file, since it is compiled for its processor.
#pragma once

#include "engine/kernels/native/recurrent/recurrent.h"
#include "engine/kernels/native/recurrent/recurrent_later.h"
#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

// sums[row][gate] = first(row, gate) + rows[row] (`depth` numbers) times the packed block
// [depth][gate][units]. W: vectors, and how many rows of them fit the registers. What comes first
// is asked for after the product: before, it would take registers from its sums.
template <typename W, int kRows, int kGates, typename First>
[[gnu::always_inline]] inline void multiply_block(const float* const* rows, int64_t depth,
                                                  const float* block, const First& first,
                                                  typename W::Vector (&sums)[kRows][kGates]) {
  using V = typename W::Vector;
  // Few sums wait for each other; several sets of them do not.
  constexpr int kSumsOfStep = kRows * kGates;
  constexpr int kSets = kSumsOfStep >= 8 ? 1 : (kSumsOfStep >= 4 ? 2 : (kSumsOfStep == 3 ? 4 : 8));
  V sets[kSets][kRows][kGates];
  const auto all = [](const auto& f) TY_INLINE {
    repeat<kRows>([&](auto r) TY_INLINE { repeat<kGates>([&](auto g) TY_INLINE { f(r, g); }); });
  };
  repeat<kSets>(
      [&](auto s) TY_INLINE { all([&](auto r, auto g) TY_INLINE { sets[s][r][g] = W::zero(); }); });
  const auto add_step = [&](auto s, int64_t k) TY_INLINE {
    V weights[kGates];
    repeat<kGates>([&](auto g) TY_INLINE { weights[g] = W::load(block + g * W::kUnits); });
    repeat<kRows>([&](auto r) TY_INLINE {
      const V a = W::spread(rows[r][k]);
      repeat<kGates>([&](auto g)
                         TY_INLINE { sets[s][r][g] = times_plus(a, weights[g], sets[s][r][g]); });
    });
    block += kGates * W::kUnits;
  };
  int64_t k = 0;
  for (; k + kSets <= depth; k += kSets)
    repeat<kSets>([&](auto s) TY_INLINE { add_step(s, k + s); });
  for (; k < depth; ++k) add_step(std::integral_constant<int, 0>{}, k);
  all([&](auto r, auto g) TY_INLINE {
    V sum = first(r, g);
    repeat<kSets>([&](auto s) TY_INLINE { sum = plus(sum, sets[s][r][g]); });
    sums[r][g] = sum;
  });
}

// The new state from the sums of the gates. `state` is the old one of these units; `cell` that of
// an LSTM, replaced; `from_input` the part of a GRU's candidate that the reset gate leaves alone.
template <typename W, CellKind kKind>
[[gnu::always_inline]] inline typename W::Vector new_state(
    const typename W::Vector (&sums)[gates_of(kKind)], typename W::Vector state, float* cell,
    typename W::Vector from_input) {
  using V = typename W::Vector;
  if constexpr (kKind == CellKind::kRnn) {
    return tanh_vector(sums[0]);
  } else if constexpr (kKind == CellKind::kGru) {
    const V update = sigmoid_vector(sums[0]);
    const V reset = sigmoid_vector(sums[1]);
    const V candidate = tanh_vector(times_plus(reset, sums[2], from_input));
    return times_plus(update, minus(state, candidate), candidate);
  } else {
    const V input = sigmoid_vector(sums[0]);
    const V output = sigmoid_vector(sums[1]);
    const V forget = sigmoid_vector(sums[2]);
    const V candidate = tanh_vector(sums[3]);
    const V c = times_plus(input, candidate, times(forget, W::load(cell)));
    W::store(cell, c);
    return times(output, tanh_vector(c));
  }
}

// The work of one thread.
template <typename W, CellKind kKind>
class RecurrentSteps {
 public:
  explicit RecurrentSteps(const RecurrentWork& work)
      : w_(work),
        shape_(*work.shape),
        backwards_(work.direction == 1 || shape_.reversed),
        blocks_((shape_.hidden + W::kUnits - 1) / W::kUnits),
        width_(blocks_ * W::kUnits) {}

  void run() {
    if constexpr (kAhead > 0) {
      if (shape_.batch == 1 && w_.chunk >= 2 * kAhead) return run_ahead();
    }
    float* projected = w_.scratch + 3 * shape_.batch * width_;
    int64_t meetings = 0;
    for (int64_t first = 0; first < shape_.sequence; first += w_.chunk) {
      const int64_t left = shape_.sequence - first;
      const int64_t steps = left < w_.chunk ? left : w_.chunk;
      // Block by block: the weights of one stay in cache for all rows.
      for (int64_t block = w_.blocks.begin; block < w_.blocks.end; ++block) {
        in_groups(steps * shape_.batch, [&](auto rows, int64_t row) TY_INLINE {
          project<rows>(block, first, row, projected);
        });
      }
      for (int64_t i = 0; i < steps; ++i) {
        const float* own = projected + i * shape_.batch * width_ * kGates;
        for (int64_t n = 0; n < w_.blocks.size(); ++n) {
          const int64_t block = block_of(first + i, n);
          in_groups(shape_.batch, [&](auto rows, int64_t row)
                                      TY_INLINE { step_rows<rows>(block, first + i, row, own); });
        }
        w_.meeting->arrive(meetings++, w_.own_parts);
      }
    }
  }

 private:
  using V = typename W::Vector;
  static constexpr int kGates = gates_of(kKind);
  static constexpr int kMostRows = W::most_rows(kGates);
  static constexpr int kAhead = W::rows_ahead(kGates);

  // There and back: a step begins with the weights that the one before used last, which are still
  // in the core's own cache when not all of them fit it.
  int64_t block_of(int64_t step, int64_t n) const {
    return step % 2 != 0 ? w_.blocks.end - 1 - n : w_.blocks.begin + n;
  }

  // The steps of one row of inputs. While they read the weights of states, the inputs of the next
  // kAhead steps are multiplied, a block of weights in kAhead pieces.
  void run_ahead() {
    float* projected = w_.scratch + 3 * width_;
    const auto place = [&](int64_t step) {
      return projected + step % (2 * kAhead) * width_ * kGates;
    };
    const int64_t count = w_.blocks.size();
    project_steps(0, projected);
    for (int64_t step = 0; step < shape_.sequence; ++step) {
      const int64_t within = step % kAhead;
      const int64_t next = step - within + kAhead;
      const bool whole = next + kAhead <= shape_.sequence;
      for (int64_t n = 0; n < count; ++n) {
        const int64_t block = block_of(step, n);
        if (whole) {
          step_ahead(block, step, place(step), next, within * count + n, place(next));
        } else {
          step_rows<1>(block, step, 0, place(step));
        }
      }
      if (within == kAhead - 1 && !whole) project_steps(next, place(next));
      w_.meeting->arrive(step, w_.own_parts);
    }
  }

  // Of kAhead steps, or those that are left.
  void project_steps(int64_t first, float* projected) const {
    const int64_t left = shape_.sequence - first;
    for (int64_t block = w_.blocks.begin; block < w_.blocks.end; ++block) {
      in_groups(left < kAhead ? left : kAhead, [&](auto rows, int64_t row) TY_INLINE {
        project<rows>(block, first, row, projected);
      });
    }
  }

  // One step of a block, and piece `piece` of the products of the inputs of kAhead steps from
  // `next` on: kAhead pieces are a block of weights.
  void step_ahead(int64_t block, int64_t step, const float* projected, int64_t next, int64_t piece,
                  float* projected_next) const {
    const int64_t other = w_.blocks.begin + piece / kAhead;
    const int64_t begin = shape_.input * (piece % kAhead) / kAhead;
    const int64_t end = shape_.input * (piece % kAhead + 1) / kAhead;
    const float* bias = w_.biases + other * (kGates + 1) * W::kUnits;
    float* to = projected_next + other * kGates * W::kUnits;
    V ahead[kAhead][kGates];
    const auto all = [&](const auto& f) TY_INLINE {
      repeat<kAhead>([&](auto r) TY_INLINE { repeat<kGates>([&](auto g) TY_INLINE { f(r, g); }); });
    };
    all([&](auto r, auto g) TY_INLINE {
      ahead[r][g] =
          W::load(begin == 0 ? bias + g * W::kUnits : to + r * width_ * kGates + g * W::kUnits);
    });
    V sums[kGates];
    repeat<kGates>([&](auto g) TY_INLINE { sums[g] = W::zero(); });
    multiply_with_ahead<W, kAhead, kGates>(
        state_of(step, 0), shape_.hidden,
        w_.state_weights + block * shape_.hidden * kGates * W::kUnits,
        {.inputs = w_.operands->x + time_of(next) * shape_.input + begin,
         .stride = backwards_ ? -shape_.input : shape_.input,
         .depth = end - begin,
         .block = w_.input_weights + (other * shape_.input + begin) * kGates * W::kUnits},
        sums, ahead);
    all([&](auto r, auto g)
            TY_INLINE { W::store(to + r * width_ * kGates + g * W::kUnits, ahead[r][g]); });
    repeat<kGates>([&](auto g)
                       TY_INLINE { sums[g] = plus(sums[g], first_sum(block, 0, g, projected)); });
    finish_row(block, step, 0, projected, sums);
  }

  // Calls f(rows, first row) for `count` rows, as many at a time as registers hold.
  template <typename F>
  [[gnu::always_inline]] static void in_groups(int64_t count, const F& f) {
    int64_t row = 0;
    const auto take = [&](auto rows) TY_INLINE {
      for (; row + rows <= count; row += rows) f(rows, row);
    };
    take(std::integral_constant<int, kMostRows>{});
    if constexpr (kMostRows > 4) take(std::integral_constant<int, 4>{});
    if constexpr (kMostRows > 2) take(std::integral_constant<int, 2>{});
    take(std::integral_constant<int, 1>{});
  }

  template <int kRows>
  void project(int64_t block, int64_t first_step, int64_t first_row, float* projected) const {
    const float* rows[kRows];
    for (int r = 0; r < kRows; ++r) {
      const int64_t b = (first_row + r) % shape_.batch;
      const int64_t t = time_of(first_step + (first_row + r) / shape_.batch);
      const int64_t at = shape_.batch_first ? b * shape_.sequence + t : t * shape_.batch + b;
      rows[r] = w_.operands->x + at * shape_.input;
    }
    const float* bias = w_.biases + block * (kGates + 1) * W::kUnits;
    V sums[kRows][kGates];
    multiply_block<W, kRows, kGates>(
        rows, shape_.input, w_.input_weights + block * shape_.input * kGates * W::kUnits,
        [&](auto /*r*/, auto g) TY_INLINE { return W::load(bias + g * W::kUnits); }, sums);
    repeat<kRows>([&](auto r) TY_INLINE {
      float* to = projected + ((first_row + r) * blocks_ + block) * kGates * W::kUnits;
      repeat<kGates>([&](auto g) TY_INLINE { W::store(to + g * W::kUnits, sums[r][g]); });
    });
  }

  float* state_of(int64_t step, int64_t row) const {
    return w_.scratch + (step % 2 * shape_.batch + row) * width_;
  }
  const float* projected_of(const float* projected, int64_t block, int64_t row) const {
    return projected + (row * blocks_ + block) * kGates * W::kUnits;
  }

  // What is added to the products of states: those of inputs, but the bias alone for a GRU's
  // candidate.
  template <typename Gate>
  [[gnu::always_inline]] V first_sum(int64_t block, int64_t row, Gate gate,
                                     const float* projected) const {
    if constexpr (kKind == CellKind::kGru && gate == kGates - 1) {
      return W::load(w_.biases + (block * (kGates + 1) + kGates) * W::kUnits);
    }
    return W::load(projected_of(projected, block, row) + gate * W::kUnits);
  }

  template <int kRows>
  void step_rows(int64_t block, int64_t step, int64_t first_row, const float* projected) const {
    const float* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = state_of(step, first_row + r);
    V sums[kRows][kGates];
    multiply_block<W, kRows, kGates>(
        rows, shape_.hidden, w_.state_weights + block * shape_.hidden * kGates * W::kUnits,
        [&](auto r, auto g) TY_INLINE { return first_sum(block, first_row + r, g, projected); },
        sums);
    repeat<kRows>([&](auto r)
                      TY_INLINE { finish_row(block, step, first_row + r, projected, sums[r]); });
  }

  // Replaces the state of a row's units.
  [[gnu::always_inline]] void finish_row(int64_t block, int64_t step, int64_t row,
                                         const float* projected, const V (&sums)[kGates]) const {
    const int64_t unit = block * W::kUnits;
    float* cells = w_.scratch + (2 * shape_.batch + row) * width_;
    const V of_candidate = W::load(projected_of(projected, block, row) + (kGates - 1) * W::kUnits);
    const V h =
        new_state<W, kKind>(sums, W::load(state_of(step, row) + unit), cells + unit, of_candidate);
    W::store(state_of(step + 1, row) + unit, h);
    if (w_.operands->y != nullptr) store_result(row, step, unit, h);
  }

  [[gnu::always_inline]] void store_result(int64_t b, int64_t step, int64_t unit, V h) const {
    const int64_t t = time_of(step);
    const int64_t at = shape_.batch_first
                           ? (b * shape_.sequence + t) * shape_.directions + w_.direction
                           : (t * shape_.directions + w_.direction) * shape_.batch + b;
    W::store_some(w_.operands->y + at * shape_.hidden + unit, h, shape_.hidden - unit);
  }
  int64_t time_of(int64_t step) const { return backwards_ ? shape_.sequence - 1 - step : step; }

  const RecurrentWork& w_;
  const RecurrentShape shape_;
  bool backwards_;
  int64_t blocks_;
  int64_t width_;
};

template <typename W, CellKind kKind>
void run_recurrent(const RecurrentWork& work) {
  RecurrentSteps<W, kKind>(work).run();
}

template <typename W>
RecurrentFunction recurrent_function(CellKind kind) {
  if (kind == CellKind::kLstm) return run_recurrent<W, CellKind::kLstm>;
  return kind == CellKind::kGru ? run_recurrent<W, CellKind::kGru>
                                : run_recurrent<W, CellKind::kRnn>;
}

}  // namespace
}  // namespace trainyard::kernels::native

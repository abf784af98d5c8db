// The product of a state with a block of weights, which waits for the weights to come from the
// caches, and in the same loop a part of the products of inputs, which keep the multipliers busy
// with the few weights they need. Included by recurrent_cell.h alone.
#pragma once

#include "engine/kernels/native/repeat.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

// `kRows` inputs of later steps, `stride` floats apart, `depth` numbers of each, times a packed
// block [depth][gate][units].
struct LaterInputs {
  const float* inputs;
  int64_t stride;
  int64_t depth;
  const float* block;
};

// sums[gate] += state (`depth` numbers) times the packed block; sums_ahead[row][gate] += the
// products of `ahead`.
template <typename W, int kRows, int kGates>
[[gnu::always_inline]] inline void multiply_with_ahead(
    const float* state, int64_t depth, const float* block, LaterInputs ahead,
    typename W::Vector (&sums)[kGates], typename W::Vector (&sums_ahead)[kRows][kGates]) {
  using V = typename W::Vector;
  constexpr int64_t kStep = kGates * W::kUnits;
  const auto add_state = [&](auto r) TY_INLINE {
    const V a = W::spread(state[r]);
    repeat<kGates>([&](auto g) TY_INLINE {
      sums[g] = times_plus(a, W::load(block + r * kStep + g * W::kUnits), sums[g]);
    });
  };
  V weights[kGates];
  const auto add_ahead = [&](auto r) TY_INLINE {
    const V x = W::spread(ahead.inputs[r * ahead.stride]);
    repeat<kGates>(
        [&](auto g) TY_INLINE { sums_ahead[r][g] = times_plus(x, weights[g], sums_ahead[r][g]); });
  };
  const auto load_ahead = [&] {
    repeat<kGates>([&](auto g) TY_INLINE { weights[g] = W::load(ahead.block + g * W::kUnits); });
  };
  const auto next_ahead = [&] {
    ++ahead.inputs;
    ahead.block += kStep;
  };
  int64_t k = 0;
  int64_t done = 0;
  // For layers with as many inputs as units both products end together, `kRows` steps later.
  for (; done < ahead.depth && k + kRows <= depth; ++done, k += kRows) {
    load_ahead();
    repeat<kRows>([&](auto r) TY_INLINE {
      add_state(r);
      add_ahead(r);
    });
    next_ahead();
    state += kRows;
    block += kRows * kStep;
  }
  for (; k < depth; ++k, ++state, block += kStep) add_state(std::integral_constant<int, 0>{});
  for (; done < ahead.depth; ++done, next_ahead()) {
    load_ahead();
    repeat<kRows>(add_ahead);
  }
}

}  // namespace
}  // namespace trainyard::kernels::native

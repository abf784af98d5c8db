#include "engine/kernels/native/recurrent/recurrent.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "engine/kernels/native/cpu.h"

namespace trainyard::kernels::native {
namespace {

// Rows of inputs that are multiplied at a time: their sums stay in cache until the steps use them.
constexpr int64_t kChunkRows = 96;
// Multiply-adds of one step below which a second thread costs more than it brings.
constexpr int64_t kWorthSharing = 100'000;
// Bytes of one direction's weights of states that a core's own cache keeps from step to step.
constexpr int64_t kOwnCache = 768 * 1024;
// Runs without meetings after one in which threads waited for a quarter of their time.
constexpr int kRunsApart = 4;
// With more rows multiplying takes longer than reading weights.
constexpr int64_t kFewRows = 4;

// Rows of gates x units become [block][depth][gate][units], padded with zeros.
PackedBuffer pack_gates(const float* weights, const RecurrentShape& shape, int64_t depth,
                        int64_t units, int64_t blocks) {
  const int64_t gates = gates_of(shape.kind);
  PackedBuffer packed(blocks * depth * gates * units);
  for (int64_t g = 0; g < gates; ++g) {
    for (int64_t unit = 0; unit < shape.hidden; ++unit) {
      const float* row = weights + (g * shape.hidden + unit) * depth;
      float* to = packed.data() + unit / units * depth * gates * units + g * units + unit % units;
      for (int64_t k = 0; k < depth; ++k) to[k * gates * units] = row[k];
    }
  }
  return packed;
}

// The biases of inputs and states together, but for a GRU's candidate.
PackedBuffer pack_biases(const float* bias, const RecurrentShape& shape, int64_t units,
                         int64_t blocks) {
  const int64_t gates = gates_of(shape.kind);
  PackedBuffer packed(blocks * (gates + 1) * units);
  for (int64_t g = 0; bias != nullptr && g < gates; ++g) {
    const bool candidate = shape.kind == CellKind::kGru && g == gates - 1;
    for (int64_t unit = 0; unit < shape.hidden; ++unit) {
      const float of_input = bias[g * shape.hidden + unit];
      const float of_state = bias[(gates + g) * shape.hidden + unit];
      float* to = packed.data() + unit / units * (gates + 1) * units + unit % units;
      to[g * units] = candidate ? of_input : of_input + of_state;
      if (candidate) to[gates * units] = of_state;
    }
  }
  return packed;
}

}  // namespace

RecurrentLayer::RecurrentLayer(const RecurrentShape& shape, const float* w, const float* r,
                               const float* bias, int threads)
    : shape_(shape),
      threads_(threads),
      units_(cpu_has_avx512() ? 16 : 8),
      blocks_((shape.hidden + units_ - 1) / units_),
      chunk_(std::clamp<int64_t>(kChunkRows / shape.batch, 1, shape.sequence)),
      one_by_one_(shape.batch < kFewRows &&
                  gates_of(shape.kind) * shape.hidden * shape.hidden * int64_t{sizeof(float)} >
                      kOwnCache),
      function_(cpu_has_avx512() ? wide_recurrent(shape.kind) : narrow_recurrent(shape.kind)) {
  TY_REQUIRE(cpu_has_avx2_fma(), "the processor lacks AVX2 or FMA");
  const int64_t rows = gates_of(shape.kind) * shape.hidden;
  for (int64_t d = 0; d < shape.directions; ++d) {
    input_weights_.push_back(
        pack_gates(w + d * rows * shape.input, shape, shape.input, units_, blocks_));
    state_weights_.push_back(
        pack_gates(r + d * rows * shape.hidden, shape, shape.hidden, units_, blocks_));
    biases_.push_back(
        pack_biases(bias == nullptr ? nullptr : bias + 2 * d * rows, shape, units_, blocks_));
  }
}

int64_t RecurrentLayer::parts_per_direction() const {
  const int64_t gates = gates_of(shape_.kind);
  const int64_t work = shape_.batch * gates * shape_.hidden * (shape_.hidden + shape_.input);
  if (work < kWorthSharing) return 1;
  return std::clamp<int64_t>(threads_ / (one_by_one_ ? 1 : shape_.directions), 1, blocks_);
}

// Per direction: sums of a chunk of inputs, two states, a cell.
int64_t RecurrentLayer::scratch_bytes() const {
  const int64_t sums = chunk_ * shape_.batch * width() * gates_of(shape_.kind);
  const int64_t states = 3 * shape_.batch * width();
  return shape_.directions * (sums + states) * static_cast<int64_t>(sizeof(float));
}

// Batch by direction, or direction by batch.
int64_t RecurrentLayer::place(int64_t direction, int64_t b) const {
  return (shape_.batch_first ? b * shape_.directions + direction : direction * shape_.batch + b) *
         shape_.hidden;
}

void RecurrentLayer::set_states(const RecurrentOperands& operands, float* scratch) const {
  const int64_t per_direction = scratch_bytes() / shape_.directions / int64_t{sizeof(float)};
  for (int64_t d = 0; d < shape_.directions; ++d) {
    float* states = scratch + d * per_direction;
    std::fill_n(states, 3 * shape_.batch * width(), 0.0F);
    for (int64_t b = 0; b < shape_.batch; ++b) {
      float* cell = states + (2 * shape_.batch + b) * width();
      if (operands.first_hidden != nullptr) {
        std::copy_n(operands.first_hidden + place(d, b), shape_.hidden, states + b * width());
      }
      if (operands.first_cell != nullptr) {
        std::copy_n(operands.first_cell + place(d, b), shape_.hidden, cell);
      }
    }
  }
}

void RecurrentLayer::get_states(const RecurrentOperands& operands, const float* scratch) const {
  const int64_t per_direction = scratch_bytes() / shape_.directions / int64_t{sizeof(float)};
  for (int64_t d = 0; d < shape_.directions; ++d) {
    const float* states =
        scratch + d * per_direction + shape_.sequence % 2 * shape_.batch * width();
    const float* cells = scratch + d * per_direction + 2 * shape_.batch * width();
    for (int64_t b = 0; b < shape_.batch; ++b) {
      if (operands.last_hidden != nullptr) {
        std::copy_n(states + b * width(), shape_.hidden, operands.last_hidden + place(d, b));
      }
      if (operands.last_cell != nullptr) {
        std::copy_n(cells + b * width(), shape_.hidden, operands.last_cell + place(d, b));
      }
    }
  }
}

void RecurrentLayer::run(const RecurrentOperands& operands, void* scratch) const {
  auto* memory = static_cast<float*>(scratch);
  set_states(operands, memory);
  const int64_t per_direction = scratch_bytes() / shape_.directions / int64_t{sizeof(float)};
  const bool apart = runs_apart_.load(std::memory_order_relaxed) > 0;
  if (apart) runs_apart_.fetch_sub(1, std::memory_order_relaxed);
  const int64_t parts = apart ? 1 : parts_per_direction();
  SpinBarrier meetings[2] = {SpinBarrier(parts), SpinBarrier(parts)};
  const auto run_parts = [&](int64_t d, int64_t from, int64_t to) {
    const auto direction = static_cast<size_t>(d);
    function_({.shape = &shape_,
               .operands = &operands,
               .input_weights = input_weights_[direction].data(),
               .state_weights = state_weights_[direction].data(),
               .biases = biases_[direction].data(),
               .chunk = chunk_,
               .direction = d,
               .blocks = {blocks_ * from / parts, blocks_ * to / parts},
               .own_parts = to - from,
               .meeting = &meetings[d],
               .scratch = memory + d * per_direction});
  };
  const uint64_t began = ticks();
  if (one_by_one_ && !apart) {
    parallel_for(parts, [&](int64_t begin, int64_t end) {
      for (int64_t d = 0; d < shape_.directions; ++d) run_parts(d, begin, end);
    });
  } else {
    parallel_for(shape_.directions * parts, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin / parts; d * parts < end; ++d) {
        run_parts(d, std::max(begin, d * parts) - d * parts,
                  std::min(end, (d + 1) * parts) - d * parts);
      }
    });
  }
  const uint64_t waited = meetings[0].waited() + meetings[1].waited();
  if (waited > (ticks() - began) * static_cast<uint64_t>(parts) / 4) {
    runs_apart_.store(kRunsApart, std::memory_order_relaxed);
  }
  get_states(operands, memory);
}

}  // namespace trainyard::kernels::native

#include "kernels/native/recurrent/recurrent.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/native/cpu.h"
#include "kernels/native/parallel.h"
#include "kernels/native/recurrent/meeting_point.h"

namespace trainyard::kernels::native {
namespace {

// Rows of inputs that are multiplied at a time: their sums stay in cache until the steps use them.
constexpr int64_t kChunkRows = 96;
// Multiply-adds of one step below which a second thread costs more than it brings.
constexpr int64_t kWorthSharing = 100'000;

// Rows of gates x units become [block][depth][gate][8], padded with zeros.
PackedBuffer pack_gates(const float* weights, int64_t gates, int64_t hidden, int64_t depth,
                        int64_t blocks) {
  PackedBuffer packed(blocks * depth * gates * kUnits);
  for (int64_t g = 0; g < gates; ++g) {
    for (int64_t unit = 0; unit < hidden; ++unit) {
      const float* row = weights + (g * hidden + unit) * depth;
      float* to =
          packed.data() + unit / kUnits * depth * gates * kUnits + g * kUnits + unit % kUnits;
      for (int64_t k = 0; k < depth; ++k) to[k * gates * kUnits] = row[k];
    }
  }
  return packed;
}

// The biases of inputs and states together, but for a GRU's candidate.
PackedBuffer pack_biases(const float* bias, const RecurrentShape& shape) {
  const int64_t gates = gates_of(shape.kind);
  PackedBuffer packed(shape.blocks() * (gates + 1) * kUnits);
  for (int64_t g = 0; bias != nullptr && g < gates; ++g) {
    const bool candidate = shape.kind == CellKind::kGru && g == gates - 1;
    for (int64_t unit = 0; unit < shape.hidden; ++unit) {
      const float of_input = bias[g * shape.hidden + unit];
      const float of_state = bias[(gates + g) * shape.hidden + unit];
      float* to = packed.data() + unit / kUnits * (gates + 1) * kUnits + unit % kUnits;
      to[g * kUnits] = candidate ? of_input : of_input + of_state;
      if (candidate) to[gates * kUnits] = of_state;
    }
  }
  return packed;
}

int64_t padded(const RecurrentShape& shape) {
  return shape.blocks() * kUnits;
}

}  // namespace

// What one thread does: some blocks of one direction.
struct RecurrentLayer::Part {
  int64_t direction = 0;
  Range blocks;
  int64_t own_parts = 1;
  MeetingPoint* meeting = nullptr;
  int64_t meetings = 0;  // so far
};

RecurrentLayer::RecurrentLayer(const RecurrentShape& shape, const float* w, const float* r,
                               const float* bias, int threads)
    : shape_(shape), threads_(threads), chunk_(std::max<int64_t>(1, kChunkRows / shape.batch)) {
  TY_REQUIRE(cpu_has_avx2_fma(), "the processor lacks AVX2 or FMA");
  chunk_ = std::min(chunk_, shape.sequence);
  const int64_t gates = gates_of(shape.kind);
  const int64_t rows = gates * shape.hidden;
  for (int64_t d = 0; d < shape.directions; ++d) {
    input_weights_.push_back(
        pack_gates(w + d * rows * shape.input, gates, shape.hidden, shape.input, shape.blocks()));
    state_weights_.push_back(
        pack_gates(r + d * rows * shape.hidden, gates, shape.hidden, shape.hidden, shape.blocks()));
    biases_.push_back(pack_biases(bias == nullptr ? nullptr : bias + 2 * d * rows, shape));
  }
}

int64_t RecurrentLayer::parts_per_direction() const {
  const int64_t work =
      shape_.batch * gates_of(shape_.kind) * shape_.hidden * (shape_.hidden + shape_.input);
  if (work < kWorthSharing) return 1;
  return std::clamp<int64_t>(threads_ / shape_.directions, 1, shape_.blocks());
}

// Per direction: sums of a chunk of inputs, two states, a cell.
int64_t RecurrentLayer::scratch_bytes() const {
  const int64_t sums = chunk_ * shape_.batch * padded(shape_) * gates_of(shape_.kind);
  const int64_t states = 3 * shape_.batch * padded(shape_);
  return shape_.directions * (sums + states) * static_cast<int64_t>(sizeof(float));
}

template <CellKind kKind, int kRows>
void RecurrentLayer::project(const RecurrentOperands& operands, const Part& part,
                             int64_t first_step, int64_t first_row, float* projected) const {
  constexpr int kGates = gates_of(kKind);
  const bool backwards = part.direction == 1 || shape_.reversed;
  const float* rows[kRows];
  for (int r = 0; r < kRows; ++r) {
    const int64_t step = first_step + (first_row + r) / shape_.batch;
    const int64_t b = (first_row + r) % shape_.batch;
    const int64_t t = backwards ? shape_.sequence - 1 - step : step;
    const int64_t at = shape_.batch_first ? b * shape_.sequence + t : t * shape_.batch + b;
    rows[r] = operands.x + at * shape_.input;
  }
  const auto direction = static_cast<size_t>(part.direction);
  for (int64_t block = part.blocks.begin; block < part.blocks.end; ++block) {
    const float* bias = biases_[direction].data() + block * (kGates + 1) * kUnits;
    __m256 sums[kRows][kGates];
    for (int r = 0; r < kRows; ++r) {
      for (int g = 0; g < kGates; ++g) sums[r][g] = _mm256_load_ps(bias + g * kUnits);
    }
    multiply_block<kRows, kGates>(
        rows, shape_.input,
        input_weights_[direction].data() + block * shape_.input * kGates * kUnits, sums);
    for (int r = 0; r < kRows; ++r) {
      float* to = projected + ((first_row + r) * shape_.blocks() + block) * kGates * kUnits;
      for (int g = 0; g < kGates; ++g) _mm256_store_ps(to + g * kUnits, sums[r][g]);
    }
  }
}

template <CellKind kKind, int kRows>
void RecurrentLayer::step_rows(const RecurrentOperands& operands, const Part& part, int64_t step,
                               int64_t first_row, const float* projected, float* states) const {
  constexpr int kGates = gates_of(kKind);
  const auto direction = static_cast<size_t>(part.direction);
  const int64_t width = padded(shape_);
  const float* old_states = states + step % 2 * shape_.batch * width;
  float* new_states = states + (step + 1) % 2 * shape_.batch * width;
  float* cells = states + 2 * shape_.batch * width;
  const bool backwards = part.direction == 1 || shape_.reversed;
  const int64_t t = backwards ? shape_.sequence - 1 - step : step;
  const float* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = old_states + (first_row + r) * width;
  for (int64_t block = part.blocks.begin; block < part.blocks.end; ++block) {
    const float* bias = biases_[direction].data() + block * (kGates + 1) * kUnits;
    const int64_t unit = block * kUnits;
    __m256 sums[kRows][kGates];
    __m256 from_input[kRows];
    for (int r = 0; r < kRows; ++r) {
      const float* own = projected + ((first_row + r) * shape_.blocks() + block) * kGates * kUnits;
      for (int g = 0; g < kGates; ++g) sums[r][g] = _mm256_load_ps(own + g * kUnits);
      from_input[r] = sums[r][kGates - 1];
      if (kKind == CellKind::kGru) sums[r][kGates - 1] = _mm256_load_ps(bias + kGates * kUnits);
    }
    multiply_block<kRows, kGates>(
        rows, shape_.hidden,
        state_weights_[direction].data() + block * shape_.hidden * kGates * kUnits, sums);
    for (int r = 0; r < kRows; ++r) {
      const int64_t b = first_row + r;
      const __m256 h = new_state<kKind>(sums[r], _mm256_load_ps(rows[r] + unit),
                                        cells + b * width + unit, from_input[r]);
      _mm256_store_ps(new_states + b * width + unit, h);
      if (operands.y == nullptr) continue;
      const int64_t at = shape_.batch_first
                             ? (b * shape_.sequence + t) * shape_.directions + part.direction
                             : (t * shape_.directions + part.direction) * shape_.batch + b;
      float* y = operands.y + at * shape_.hidden + unit;
      if (unit + kUnits <= shape_.hidden) {
        _mm256_storeu_ps(y, h);
      } else {
        std::memcpy(y, new_states + b * width + unit,
                    static_cast<size_t>(shape_.hidden - unit) * sizeof(float));
      }
    }
  }
}

// Calls f<rows>(first row) for `count` rows, as many at a time as registers hold.
template <int kMost, typename F>
void in_groups(int64_t count, const F& f) {
  int64_t row = 0;
  for (; row + kMost <= count; row += kMost) f.template operator()<kMost>(row);
  for (; row + 2 <= count && kMost > 2; row += 2) f.template operator()<2>(row);
  for (; row < count; ++row) f.template operator()<1>(row);
}

// Block by block: the weights of one stay in cache for all rows.
template <typename P, typename F>
void for_blocks(const P& part, const F& f) {
  for (int64_t block = part.blocks.begin; block < part.blocks.end; ++block) {
    P one = part;
    one.blocks = {block, block + 1};
    f(one);
  }
}

template <CellKind kKind>
void RecurrentLayer::run_part(const RecurrentOperands& operands, const Part& given,
                              float* scratch) const {
  Part part = given;
  const int64_t width = padded(shape_);
  float* states = scratch;
  float* projected = scratch + 3 * shape_.batch * width;
  for (int64_t first = 0; first < shape_.sequence; first += chunk_) {
    const int64_t steps = std::min(chunk_, shape_.sequence - first);
    for_blocks(part, [&](const Part& one) {
      in_groups<rows_of(kKind)>(steps * shape_.batch, [&]<int kRows>(int64_t row) {
        project<kKind, kRows>(operands, one, first, row, projected);
      });
    });
    for (int64_t i = 0; i < steps; ++i) {
      const float* own = projected + i * shape_.batch * shape_.blocks() * gates_of(kKind) * kUnits;
      for_blocks(part, [&](const Part& one) {
        in_groups<rows_of(kKind)>(shape_.batch, [&]<int kRows>(int64_t row) {
          step_rows<kKind, kRows>(operands, one, first + i, row, own, states);
        });
      });
      part.meeting->arrive(part.meetings++, part.own_parts);
    }
  }
}

void RecurrentLayer::run(const RecurrentOperands& operands, void* scratch) const {
  const int64_t width = padded(shape_);
  const int64_t per_direction = scratch_bytes() / shape_.directions / int64_t{sizeof(float)};
  auto* memory = static_cast<float*>(scratch);
  // States and outputs lie batch by direction, or direction by batch.
  const auto place = [&](int64_t d, int64_t b) {
    return (shape_.batch_first ? b * shape_.directions + d : d * shape_.batch + b) * shape_.hidden;
  };
  const auto row_bytes = static_cast<size_t>(shape_.hidden) * sizeof(float);
  for (int64_t d = 0; d < shape_.directions; ++d) {
    float* states = memory + d * per_direction;
    std::memset(states, 0, static_cast<size_t>(3 * shape_.batch * width) * sizeof(float));
    for (int64_t b = 0; b < shape_.batch; ++b) {
      float* cell = states + (2 * shape_.batch + b) * width;
      if (operands.first_hidden != nullptr) {
        std::memcpy(states + b * width, operands.first_hidden + place(d, b), row_bytes);
      }
      if (operands.first_cell != nullptr) {
        std::memcpy(cell, operands.first_cell + place(d, b), row_bytes);
      }
    }
  }
  const int64_t parts = parts_per_direction();
  MeetingPoint meetings[2] = {MeetingPoint(parts), MeetingPoint(parts)};
  parallel_for(shape_.directions * parts, [&](int64_t begin, int64_t end) {
    for (int64_t d = begin / parts; d * parts < end; ++d) {
      const int64_t from = std::max(begin, d * parts) - d * parts;
      const int64_t to = std::min(end, (d + 1) * parts) - d * parts;
      const Range blocks{shape_.blocks() * from / parts, shape_.blocks() * to / parts};
      const Part part{d, blocks, to - from, &meetings[d], 0};
      float* own = memory + d * per_direction;
      if (shape_.kind == CellKind::kLstm) run_part<CellKind::kLstm>(operands, part, own);
      if (shape_.kind == CellKind::kGru) run_part<CellKind::kGru>(operands, part, own);
      if (shape_.kind == CellKind::kRnn) run_part<CellKind::kRnn>(operands, part, own);
    }
  });
  for (int64_t d = 0; d < shape_.directions; ++d) {
    const float* states = memory + d * per_direction + shape_.sequence % 2 * shape_.batch * width;
    const float* cells = memory + d * per_direction + 2 * shape_.batch * width;
    for (int64_t b = 0; b < shape_.batch; ++b) {
      if (operands.last_hidden != nullptr) {
        std::memcpy(operands.last_hidden + place(d, b), states + b * width, row_bytes);
      }
      if (operands.last_cell != nullptr) {
        std::memcpy(operands.last_cell + place(d, b), cells + b * width, row_bytes);
      }
    }
  }
}

}  // namespace trainyard::kernels::native

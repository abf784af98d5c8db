// A recurrent layer with weights packed once.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/recurrent/spin_barrier.h"

namespace trainyard::kernels::native {

enum class CellKind : uint8_t { kRnn, kGru, kLstm };

constexpr int gates_of(CellKind kind) {
  return kind == CellKind::kLstm ? 4 : (kind == CellKind::kGru ? 3 : 1);
}

struct RecurrentShape {
  CellKind kind = CellKind::kLstm;
  int64_t directions = 1;
  int64_t sequence = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  bool batch_first = false;
  bool reversed = false;  // the only direction reads from the end
};

// Null where there is none. Layouts are ONNX's.
struct RecurrentOperands {
  const float* x = nullptr;
  const float* first_hidden = nullptr;
  const float* first_cell = nullptr;
  float* y = nullptr;
  float* last_hidden = nullptr;
  float* last_cell = nullptr;
};

// What one thread does: some blocks of one direction.
struct RecurrentWork {
  const RecurrentShape* shape = nullptr;
  const RecurrentOperands* operands = nullptr;
  const float* input_weights = nullptr;  // [block][depth][gate][units]
  const float* state_weights = nullptr;
  const float* biases = nullptr;  // [block][gate + 1][units]: the last of a GRU's candidate alone
  int64_t chunk = 1;              // steps whose inputs are multiplied ahead
  int64_t direction = 0;
  Range blocks;
  int64_t own_parts = 1;
  SpinBarrier* meeting = nullptr;
  float* scratch = nullptr;  // of the direction: two states, a cell, sums of a chunk of inputs
};
using RecurrentFunction = void (*)(const RecurrentWork&);

// In vectors of eight units, and of sixteen: for that ask cpu_has_avx512() first.
RecurrentFunction narrow_recurrent(CellKind kind);
RecurrentFunction wide_recurrent(CellKind kind);

class RecurrentLayer {
 public:
  // `w`, `r` and `bias` (null: none) as ONNX has them, for all directions. Error if the processor
  // lacks AVX2 and FMA.
  RecurrentLayer(const RecurrentShape& shape, const float* w, const float* r, const float* bias,
                 int threads);

  int64_t scratch_bytes() const;
  // Does not allocate or throw. scratch is aligned to 64 bytes.
  void run(const RecurrentOperands& operands, void* scratch) const;

 private:
  void set_states(const RecurrentOperands& operands, float* scratch) const;
  void get_states(const RecurrentOperands& operands, const float* scratch) const;
  // Where the states of a batch element begin among those of all directions.
  int64_t place(int64_t direction, int64_t b) const;
  int64_t parts_per_direction() const;
  int64_t width() const { return blocks_ * units_; }

  RecurrentShape shape_;
  int threads_;
  int64_t units_;  // of a block: one vector
  int64_t blocks_;
  int64_t chunk_;
  // All threads work on one direction, then on the other: each keeps a part of the weights in its
  // own cache. Otherwise directions have threads of their own and never meet.
  bool one_by_one_;
  // Threads that meet in every step lose a time slice whenever another process takes one of their
  // cores. For that many runs each direction then has one thread, which changes no bit.
  mutable std::atomic<int> runs_apart_{0};
  RecurrentFunction function_;
  // Per direction.
  std::vector<PackedBuffer> input_weights_;
  std::vector<PackedBuffer> state_weights_;
  std::vector<PackedBuffer> biases_;
};

}  // namespace trainyard::kernels::native

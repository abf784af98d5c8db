// A recurrent layer with weights packed once.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/native/gemm/packed_buffer.h"
#include "kernels/native/recurrent/recurrent_cell.h"

namespace trainyard::kernels::native {

struct RecurrentShape {
  CellKind kind = CellKind::kLstm;
  int64_t directions = 1;
  int64_t sequence = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  bool batch_first = false;
  bool reversed = false;  // the only direction reads from the end

  int64_t blocks() const { return (hidden + kUnits - 1) / kUnits; }
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
  struct Part;
  template <CellKind kKind>
  void run_part(const RecurrentOperands& operands, const Part& part, float* scratch) const;
  template <CellKind kKind, int kRows>
  void project(const RecurrentOperands& operands, const Part& part, int64_t first_step,
               int64_t first_row, float* projected) const;
  template <CellKind kKind, int kRows>
  void step_rows(const RecurrentOperands& operands, const Part& part, int64_t step,
                 int64_t first_row, const float* projected, float* scratch) const;
  int64_t parts_per_direction() const;

  RecurrentShape shape_;
  int threads_;
  int64_t chunk_;  // steps whose inputs are multiplied ahead
  // Per direction [block][depth][gate][8].
  std::vector<PackedBuffer> input_weights_;
  std::vector<PackedBuffer> state_weights_;
  std::vector<PackedBuffer> biases_;  // [block][gate + 1][8]: the last of a GRU's candidate alone
};

}  // namespace trainyard::kernels::native

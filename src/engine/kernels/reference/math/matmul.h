// Matrix products over broadcast batches: the loops of MatMul and its integer relatives.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/shape.h"

namespace trainyard::kernels::reference {

// The sizes of numpy.matmul(a, b); vectors are one-row and one-column matrices.
class MatMulSizes {
 public:
  MatMulSizes(const Shape& a, const Shape& b);

  // Sums read_a(i, row) * read_b(j, column) and calls emit(k, row, column, sum), where i, j, k
  // index A, B and Y. `row` and `column` also count the batches of A and B, so that they index
  // whatever is given per row of A or per column of B.
  template <typename Acc, typename ReadA, typename ReadB, typename Emit>
  void multiply(ReadA&& read_a, ReadB&& read_b, Emit&& emit) const {
    for (size_t batch = 0; batch < a_batches_.size(); ++batch) {
      const int64_t a = a_batches_[batch];
      const int64_t b = b_batches_[batch];
      for (int64_t row = 0; row < m_; ++row) {
        for (int64_t column = 0; column < n_; ++column) {
          Acc sum{};
          for (int64_t i = 0; i < k_; ++i) {
            sum += read_a((a * m_ + row) * k_ + i, a * m_ + row) *
                   read_b((b * k_ + i) * n_ + column, b * n_ + column);
          }
          emit((static_cast<int64_t>(batch) * m_ + row) * n_ + column, a * m_ + row,
               b * n_ + column, sum);
        }
      }
    }
  }

 private:
  int64_t m_;
  int64_t k_;
  int64_t n_;
  // Which matrix of A and of B makes each matrix of Y.
  std::vector<int64_t> a_batches_;
  std::vector<int64_t> b_batches_;
};

}  // namespace trainyard::kernels::reference

// z = f(alpha a b + beta c + sum): a is m x k, b k x n, each with strides of its own, so that either may be transposed;
// c is stretched by its strides, and sum lies as z does. Groups of 16 x 16 work-items share tiles of a and b; the third
// axis of the launch runs over a batch.
#define TILE 16

KERNEL matmul(IN(a), IN(b), IN(c), IN(sum), OUT(z), int64 m, int64 n, int64 k, int64 a_row, int64 a_column, int64 a_batch,
              int64 b_row, int64 b_column, int64 b_batch, int64 c_row, int64 c_column, int64 c_batch, float alpha,
              float beta, int64 code, float code_alpha, float code_beta) {
  LOCAL float a_tile[TILE][TILE];
  LOCAL float b_tile[TILE][TILE];
  READ(a);
  READ(b);
  WRITE(z);
  const int64 x = ITEM(0);
  const int64 y = ITEM(1);
  const int64 column = GROUP(0) * TILE + x;
  const int64 row = GROUP(1) * TILE + y;
  const int64 batch = GROUP(2);
  float total = 0.0f;
  for (int64 begin = 0; begin < k; begin += TILE) {
    const int64 a_k = begin + x;
    const int64 b_k = begin + y;
    a_tile[y][x] = row < m && a_k < k ? a[batch * a_batch + row * a_row + a_k * a_column] : 0.0f;
    b_tile[y][x] = column < n && b_k < k ? b[batch * b_batch + b_k * b_row + column * b_column] : 0.0f;
    BARRIER;
    for (int i = 0; i < TILE; ++i) total += a_tile[y][i] * b_tile[i][x];
    BARRIER;
  }
  if (row < m && column < n) {
    const int64 at = (batch * m + row) * n + column;
    float value = alpha * total;
    if (c_buffer != 0) value += beta * c_buffer[c_at + batch * c_batch + row * c_row + column * c_column];
    if (sum_buffer != 0) value += sum_buffer[sum_at + at];
    z[at] = scalar_of(code, value, code_alpha, code_beta);
  }
}

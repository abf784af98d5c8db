// One number after another.
KERNEL elementwise_unary(IN(x), OUT(z), int64 n, int64 code, float alpha, float beta) {
  READ(x);
  WRITE(z);
  EACH(i, n) z[i] = scalar_of(code, x[i], alpha, beta);
}

INLINE float combined(int64 code, float a, float b) {
  switch (code) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return fmax(a, b);
    default: return fmin(a, b);
  }
}

// Operands of up to four dimensions, the last three of the result d1, d2 and d3; a stride is 0 where an operand is
// stretched.
KERNEL elementwise_binary(IN(a), IN(b), OUT(z), int64 n, int64 code, int64 d1, int64 d2, int64 d3, int64 a0, int64 a1,
                          int64 a2, int64 a3, int64 b0, int64 b1, int64 b2, int64 b3) {
  READ(a);
  READ(b);
  WRITE(z);
  EACH(i, n) {
    const int64 i3 = i % d3;
    const int64 i2 = i / d3 % d2;
    const int64 i1 = i / (d3 * d2) % d1;
    const int64 i0 = i / (d3 * d2 * d1);
    const float from_a = a[i0 * a0 + i1 * a1 + i2 * a2 + i3 * a3];
    const float from_b = b[i0 * b0 + i1 * b1 + i2 * b2 + i3 * b3];
    z[i] = combined(code, from_a, from_b);
  }
}

// Numbers that only change their place.

// Rows of x become parts of longer rows of z (a concatenation).
KERNEL move_rows(IN(x), OUT(z), int64 n, int64 width, int64 z_width, int64 z_begin) {
  READ(x);
  WRITE(z);
  EACH(i, n) z[i / width * z_width + z_begin + i % width] = x[i];
}

// z[i0, i1, i2, i3] is x at begin + i * step in each of four dimensions, or `fill` where that is outside 0 to size - 1;
// the last three dimensions of z are d1, d2 and d3. Slices, pads and transpositions.
KERNEL move_strided(IN(x), OUT(z), int64 n, int64 d1, int64 d2, int64 d3, int64 begin0, int64 begin1, int64 begin2,
                    int64 begin3, int64 step0, int64 step1, int64 step2, int64 step3, int64 size0, int64 size1,
                    int64 size2, int64 size3, int64 stride0, int64 stride1, int64 stride2, int64 stride3, float fill) {
  READ(x);
  WRITE(z);
  EACH(i, n) {
    const int64 i3 = begin3 + i % d3 * step3;
    const int64 i2 = begin2 + i / d3 % d2 * step2;
    const int64 i1 = begin1 + i / (d3 * d2) % d1 * step1;
    const int64 i0 = begin0 + i / (d3 * d2 * d1) * step0;
    const int inside = i0 >= 0 && i0 < size0 && i1 >= 0 && i1 < size1 && i2 >= 0 && i2 < size2 && i3 >= 0 && i3 < size3;
    z[i] = inside ? x[i0 * stride0 + i1 * stride1 + i2 * stride2 + i3 * stride3] : fill;
  }
}

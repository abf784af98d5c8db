// One group of 64 work-items for each row of `count` neighbors: each takes every 64th, then halves of the group are
// added until one is left. kind 0 is the sum, 1 the mean, 2 the largest, 3 the smallest.
#define WIDTH 64

INLINE float reduced(int64 kind, float a, float b) { return kind < 2 ? a + b : kind == 2 ? fmax(a, b) : fmin(a, b); }

KERNEL reduce_rows(IN(x), OUT(z), int64 rows, int64 count, int64 kind) {
  LOCAL float parts[WIDTH];
  READ(x);
  WRITE(z);
  const int64 item = ITEM(0);
  for (int64 row = GROUP(0); row < rows; row += GROUPS(0)) {
    float part = kind < 2 ? 0.0f : kind == 2 ? -LARGEST : LARGEST;
    for (int64 i = item; i < count; i += WIDTH) part = reduced(kind, part, x[row * count + i]);
    parts[item] = part;
    BARRIER;
    for (int64 reach = WIDTH / 2; reach > 0; reach /= 2) {
      if (item < reach) parts[item] = reduced(kind, parts[item], parts[item + reach]);
      BARRIER;
    }
    if (item == 0) z[row] = kind == 1 ? parts[0] / (float)count : parts[0];
    BARRIER;
  }
}

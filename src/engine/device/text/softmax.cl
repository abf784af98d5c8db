// One group of 64 work-items for each line of `count` numbers that lie `stride` apart; lines begin at neighboring
// places of blocks of count x stride.
#define WIDTH 64

KERNEL softmax_lines(IN(x), OUT(z), int64 lines, int64 count, int64 stride, int64 logarithm) {
  LOCAL float parts[WIDTH];
  READ(x);
  WRITE(z);
  const int64 item = ITEM(0);
  for (int64 line = GROUP(0); line < lines; line += GROUPS(0)) {
    const int64 begin = line / stride * count * stride + line % stride;
    float largest = -LARGEST;
    for (int64 i = item; i < count; i += WIDTH) largest = fmax(largest, x[begin + i * stride]);
    parts[item] = largest;
    BARRIER;
    for (int64 reach = WIDTH / 2; reach > 0; reach /= 2) {
      if (item < reach) parts[item] = fmax(parts[item], parts[item + reach]);
      BARRIER;
    }
    largest = parts[0];
    BARRIER;
    float total = 0.0f;
    for (int64 i = item; i < count; i += WIDTH) total += exp(x[begin + i * stride] - largest);
    parts[item] = total;
    BARRIER;
    for (int64 reach = WIDTH / 2; reach > 0; reach /= 2) {
      if (item < reach) parts[item] += parts[item + reach];
      BARRIER;
    }
    total = parts[0];
    BARRIER;
    for (int64 i = item; i < count; i += WIDTH) {
      const float above = x[begin + i * stride] - largest;
      z[begin + i * stride] = logarithm ? above - log(total) : exp(above) / total;
    }
  }
}

// A convolution as it is defined: work-items of axis 0 are positions of the result, each for four of its channels (axis
// 1, within a group of the convolution), of one image (axis 2). So four multiplications share each number of x.
#define CHANNELS 4

KERNEL conv_direct(IN(x), IN(w), IN(bias), IN(sum), OUT(z), int64 channels, int64 height, int64 width, int64 results,
                   int64 out_height, int64 out_width, int64 groups, int64 kernel_y, int64 kernel_x, int64 stride_y,
                   int64 stride_x, int64 pad_y, int64 pad_x, int64 dilation_y, int64 dilation_x, int64 code, float alpha,
                   float beta) {
  READ(x);
  READ(w);
  WRITE(z);
  const int64 positions = out_height * out_width;
  const int64 position = INDEX(0);
  const int64 group_results = results / groups;
  const int64 group_channels = channels / groups;
  const int64 blocks = (group_results + CHANNELS - 1) / CHANNELS;
  const int64 group = GROUP(1) / blocks;
  const int64 first = GROUP(1) % blocks * CHANNELS;
  const int64 image = GROUP(2);
  if (position < positions) {
    const int64 top = position / out_width * stride_y - pad_y;
    const int64 left = position % out_width * stride_x - pad_x;
    const int64 w_size = group_channels * kernel_y * kernel_x;
    // Beyond the last channel the last is computed again and not stored.
    int64 w_at[CHANNELS];
    float total[CHANNELS];
    for (int j = 0; j < CHANNELS; ++j) {
      const int64 channel = first + j < group_results ? first + j : group_results - 1;
      w_at[j] = (group * group_results + channel) * w_size;
      total[j] = 0.0f;
    }
    for (int64 c = 0; c < group_channels; ++c) {
      const int64 plane = ((image * channels) + group * group_channels + c) * height * width;
      for (int64 ky = 0; ky < kernel_y; ++ky) {
        const int64 row = top + ky * dilation_y;
        for (int64 kx = 0; kx < kernel_x; ++kx) {
          const int64 column = left + kx * dilation_x;
          const int inside = row >= 0 && row < height && column >= 0 && column < width;
          const float number = inside ? x[plane + row * width + column] : 0.0f;
          const int64 tap = (c * kernel_y + ky) * kernel_x + kx;
          for (int j = 0; j < CHANNELS; ++j) total[j] += number * w[w_at[j] + tap];
        }
      }
    }
    for (int j = 0; j < CHANNELS && first + j < group_results; ++j) {
      const int64 channel = group * group_results + first + j;
      const int64 at = (image * results + channel) * positions + position;
      float value = total[j];
      if (bias_buffer != 0) value += bias_buffer[bias_at + channel];
      if (sum_buffer != 0) value += sum_buffer[sum_at + at];
      z[at] = scalar_of(code, value, alpha, beta);
    }
  }
}

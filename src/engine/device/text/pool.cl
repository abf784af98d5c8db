// Windows over planes of height x width; n counts all results. What lies outside a plane is no part of a maximum, and of
// a mean only if count_padding (but not what lies beyond the padding at the end, pad_y_end and pad_x_end).
#define POOL_ARGUMENTS                                                                                         \
  IN(x), OUT(z), int64 n, int64 height, int64 width, int64 out_height, int64 out_width, int64 kernel_y,        \
      int64 kernel_x, int64 stride_y, int64 stride_x, int64 pad_y, int64 pad_x, int64 dilation_y, int64 dilation_x

KERNEL pool_max(POOL_ARGUMENTS) {
  READ(x);
  WRITE(z);
  EACH(i, n) {
    const int64 plane = i / (out_height * out_width) * height * width;
    const int64 top = i / out_width % out_height * stride_y - pad_y;
    const int64 left = i % out_width * stride_x - pad_x;
    float largest = -LARGEST;
    for (int64 ky = 0; ky < kernel_y; ++ky) {
      const int64 row = top + ky * dilation_y;
      for (int64 kx = 0; kx < kernel_x; ++kx) {
        const int64 column = left + kx * dilation_x;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        largest = fmax(largest, x[plane + row * width + column]);
      }
    }
    z[i] = largest;
  }
}

KERNEL pool_mean(POOL_ARGUMENTS, int64 pad_y_end, int64 pad_x_end, int64 count_padding) {
  READ(x);
  WRITE(z);
  EACH(i, n) {
    const int64 plane = i / (out_height * out_width) * height * width;
    const int64 top = i / out_width % out_height * stride_y - pad_y;
    const int64 left = i % out_width * stride_x - pad_x;
    float total = 0.0f;
    int64 count = 0;
    for (int64 ky = 0; ky < kernel_y; ++ky) {
      const int64 row = top + ky * dilation_y;
      for (int64 kx = 0; kx < kernel_x; ++kx) {
        const int64 column = left + kx * dilation_x;
        if (row >= 0 && row < height && column >= 0 && column < width) {
          total += x[plane + row * width + column];
          count += 1;
        } else if (count_padding && row < height + pad_y_end && column < width + pad_x_end) {
          count += 1;
        }
      }
    }
    z[i] = total / (float)count;
  }
}

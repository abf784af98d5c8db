// Batch normalization with given statistics; `inner` numbers of a channel lie together.
KERNEL norm_batch(IN(x), IN(scale), IN(bias), IN(mean), IN(variance), OUT(z), int64 n, int64 channels, int64 inner,
                  float epsilon) {
  READ(x);
  READ(scale);
  READ(bias);
  READ(mean);
  READ(variance);
  WRITE(z);
  EACH(i, n) {
    const int64 c = i / inner % channels;
    z[i] = (x[i] - mean[c]) * (scale[c] / sqrt(variance[c] + epsilon)) + bias[c];
  }
}

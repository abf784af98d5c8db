// The five operations of BabelStream, all with the same arguments: inputs x and y, result z, scale s, n elements.
#define VECTOR_KERNEL(name) KERNEL name(IN(x), IN(y), OUT(z), float s, int64 n)

VECTOR_KERNEL(vector_copy) {
  READ(x);
  WRITE(z);
  EACH(i, n) z[i] = x[i];
}

VECTOR_KERNEL(vector_scale) {
  READ(x);
  WRITE(z);
  EACH(i, n) z[i] = s * x[i];
}

VECTOR_KERNEL(vector_add) {
  READ(x);
  READ(y);
  WRITE(z);
  EACH(i, n) z[i] = x[i] + y[i];
}

VECTOR_KERNEL(vector_triad) {
  READ(x);
  READ(y);
  WRITE(z);
  EACH(i, n) z[i] = x[i] + s * y[i];
}

// One sum for each work-item, which the host adds. It carries what rounding loses: one work-item may add
// 100 million terms.
VECTOR_KERNEL(vector_dot) {
  READ(x);
  READ(y);
  WRITE(z);
  float sum = 0.0f;
  float lost = 0.0f;
  EACH(i, n) {
    const float term = x[i] * y[i] - lost;
    const float next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  z[INDEX(0)] = sum;
}

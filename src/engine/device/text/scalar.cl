// Functions of one number, by code: those that stand alone as operators and those that other kernels apply to their
// results. The codes are positions in the table of kernels/device/scalar_codes.cpp.
INLINE float scalar_of(int64 code, float x, float alpha, float beta) {
  switch (code) {
    case 1: return fmax(x, 0.0f);
    case 2: return tanh(x);
    case 3: return 1.0f / (1.0f + exp(-x));
    case 4: return fmin(fmax(x, alpha), beta);
    case 5: return x < 0.0f ? alpha * x : x;
    case 6: return fmax(0.0f, fmin(1.0f, alpha * x + beta));
    case 7: return x * fmax(0.0f, fmin(1.0f, x / 6.0f + 0.5f));
    case 8: return x < 0.0f ? alpha * (exp(x) - 1.0f) : x;
    case 9: return exp(x);
    case 10: return log(x);
    case 11: return sqrt(x);
    case 12: return -x;
    case 13: return fabs(x);
    case 14: return 1.0f / x;
    case 15: return x > 20.0f ? x : log(1.0f + exp(x));
    case 16: return floor(x);
    case 17: return ceil(x);
    default: return x;
  }
}

// Discrete Fourier transforms of any length: Stockham's order with small factors, and Bluestein's
// convolution for lengths with a large prime factor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace trainyard::kernels::native {

// Real and imaginary parts, each an array of its own.
struct ComplexSpan {
  float* real = nullptr;
  float* imaginary = nullptr;
};

class Fourier {
 public:
  explicit Fourier(int64_t points);

  // Floats of scratch memory that a run needs.
  int64_t work_floats() const;
  // x[j] becomes the sum of x[k] exp(-2 pi i j k / points), or exp(+...) if `inverse`, not scaled.
  void run(ComplexSpan x, bool inverse, float* work) const;

 private:
  struct Stage {
    int64_t radix = 2;
    int64_t rest = 1;    // points of what is left, over the radix
    int64_t stride = 1;  // product of the radices before
    int64_t twiddles = 0;
  };

  void plan_stages();
  void plan_convolution();
  void run_stages(ComplexSpan x, float* work) const;
  void run_convolution(ComplexSpan x, float* work) const;

  int64_t points_;
  std::vector<Stage> stages_;
  // By stage, rest and output of a butterfly: exp(-2 pi i j k / (rest radix)).
  std::vector<float> cosines_;
  std::vector<float> sines_;
  // Bluestein: transforms of a power of two; exp(-pi i k^2 / points), and the transform of its
  // conjugate.
  std::unique_ptr<Fourier> padded_;
  std::vector<float> chirp_[2];
  std::vector<float> filter_[2];
};

}  // namespace trainyard::kernels::native

#include "engine/kernels/native/signal/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kRadices[] = {4, 2, 3, 5, 7, 11, 13};

double angle_of(int64_t numerator, int64_t denominator) {
  return 2 * std::numbers::pi * static_cast<double>(numerator % denominator) /
         static_cast<double>(denominator);
}

// exp(-2 pi i k / radix)
template <int kRadix>
struct Roots {
  Roots() {
    for (int k = 0; k < kRadix; ++k) {
      cosine[k] = static_cast<float>(std::cos(angle_of(k, kRadix)));
      sine[k] = static_cast<float>(-std::sin(angle_of(k, kRadix)));
    }
  }
  float cosine[kRadix];
  float sine[kRadix];
};

// The transform of kRadix numbers in place.
template <int kRadix>
[[gnu::always_inline]] inline void butterfly(float* a, float* b, const Roots<kRadix>& roots) {
  if constexpr (kRadix == 2) {
    const float real = a[0] - a[1];
    const float imaginary = b[0] - b[1];
    a[0] += a[1];
    b[0] += b[1];
    a[1] = real;
    b[1] = imaginary;
  } else if constexpr (kRadix == 4) {
    const float a02 = a[0] + a[2], b02 = b[0] + b[2], a13 = a[1] + a[3], b13 = b[1] + b[3];
    const float a20 = a[0] - a[2], b20 = b[0] - b[2], a31 = a[1] - a[3], b31 = b[1] - b[3];
    a[0] = a02 + a13;
    b[0] = b02 + b13;
    a[2] = a02 - a13;
    b[2] = b02 - b13;
    a[1] = a20 + b31;
    b[1] = b20 - a31;
    a[3] = a20 - b31;
    b[3] = b20 + a31;
  } else {
    float real[kRadix];
    float imaginary[kRadix];
    for (int k = 0; k < kRadix; ++k) {
      real[k] = a[0];
      imaginary[k] = b[0];
      for (int t = 1; t < kRadix; ++t) {
        const int root = t * k % kRadix;
        real[k] += a[t] * roots.cosine[root] - b[t] * roots.sine[root];
        imaginary[k] += a[t] * roots.sine[root] + b[t] * roots.cosine[root];
      }
    }
    std::copy_n(real, kRadix, a);
    std::copy_n(imaginary, kRadix, b);
  }
}

struct StageJob {
  ComplexSpan x;
  ComplexSpan y;
  int64_t rest;
  int64_t stride;
  const float* cosines;
  const float* sines;
};

template <int kRadix>
void run_stage(const StageJob& job) {
  static const Roots<kRadix> kRoots;
  for (int64_t j = 0; j < job.rest; ++j) {
    const float* cosine = job.cosines + j * kRadix;
    const float* sine = job.sines + j * kRadix;
    const int64_t from = job.stride * j;
    const int64_t to = job.stride * j * kRadix;
    for (int64_t q = 0; q < job.stride; ++q) {
      float a[kRadix];
      float b[kRadix];
      for (int t = 0; t < kRadix; ++t) {
        a[t] = job.x.real[from + q + job.stride * job.rest * t];
        b[t] = job.x.imaginary[from + q + job.stride * job.rest * t];
      }
      butterfly<kRadix>(a, b, kRoots);
      for (int k = 0; k < kRadix; ++k) {
        job.y.real[to + q + job.stride * k] = a[k] * cosine[k] - b[k] * sine[k];
        job.y.imaginary[to + q + job.stride * k] = a[k] * sine[k] + b[k] * cosine[k];
      }
    }
  }
}

void run_radix(int64_t radix, const StageJob& job) {
  switch (radix) {
    case 2:
      return run_stage<2>(job);
    case 3:
      return run_stage<3>(job);
    case 4:
      return run_stage<4>(job);
    case 5:
      return run_stage<5>(job);
    case 7:
      return run_stage<7>(job);
    case 11:
      return run_stage<11>(job);
    default:
      return run_stage<13>(job);
  }
}

}  // namespace

Fourier::Fourier(int64_t points) : points_(points) {
  plan_stages();
  if (stages_.empty() && points > 1) plan_convolution();
}

// Leaves no stages if a factor is too large.
void Fourier::plan_stages() {
  int64_t left = points_;
  int64_t stride = 1;
  for (const int64_t radix : kRadices) {
    while (left % radix == 0) {
      left /= radix;
      stages_.push_back({radix, left, stride, static_cast<int64_t>(cosines_.size())});
      for (int64_t j = 0; j < left; ++j) {
        for (int64_t k = 0; k < radix; ++k) {
          const double angle = angle_of(j * k, left * radix);
          cosines_.push_back(static_cast<float>(std::cos(angle)));
          sines_.push_back(static_cast<float>(-std::sin(angle)));
        }
      }
      stride *= radix;
    }
  }
  if (left > 1) stages_.clear();
}

void Fourier::plan_convolution() {
  int64_t size = 1;
  while (size < 2 * points_ - 1) size *= 2;
  padded_ = std::make_unique<Fourier>(size);
  for (std::vector<float>& part : filter_) part.assign(static_cast<size_t>(size), 0.0F);
  for (int64_t k = 0; k < points_; ++k) {
    // k^2 grows beyond what angles take; the chirp repeats with 2 points.
    const double angle = angle_of(k * k, 2 * points_);
    chirp_[0].push_back(static_cast<float>(std::cos(angle)));
    chirp_[1].push_back(static_cast<float>(-std::sin(angle)));
    for (const int64_t at : {k, (size - k) % size}) {
      filter_[0][static_cast<size_t>(at)] = chirp_[0].back();
      filter_[1][static_cast<size_t>(at)] = -chirp_[1].back();
    }
  }
  std::vector<float> work(static_cast<size_t>(padded_->work_floats()));
  padded_->run({filter_[0].data(), filter_[1].data()}, /*inverse=*/false, work.data());
}

int64_t Fourier::work_floats() const {
  if (padded_ == nullptr) return 2 * points_;
  return 2 * padded_->points_ + padded_->work_floats();
}

void Fourier::run(ComplexSpan x, bool inverse, float* work) const {
  // The other direction exchanges real and imaginary parts, before and after.
  if (inverse) std::swap(x.real, x.imaginary);
  if (padded_ != nullptr) {
    run_convolution(x, work);
  } else {
    run_stages(x, work);
  }
}

void Fourier::run_stages(ComplexSpan x, float* work) const {
  ComplexSpan from = x;
  ComplexSpan to{work, work + points_};
  for (const Stage& stage : stages_) {
    run_radix(stage.radix, {from, to, stage.rest, stage.stride, cosines_.data() + stage.twiddles,
                            sines_.data() + stage.twiddles});
    std::swap(from, to);
  }
  if (from.real == x.real) return;
  std::copy_n(from.real, points_, x.real);
  std::copy_n(from.imaginary, points_, x.imaginary);
}

void Fourier::run_convolution(ComplexSpan x, float* work) const {
  const int64_t size = padded_->points_;
  const ComplexSpan y{work, work + size};
  work += 2 * size;
  std::fill_n(y.real, 2 * size, 0.0F);
  const auto times = [](float a, float b, const std::vector<float>(&factor)[2], int64_t i,
                        float* real, float* imaginary) {
    const float c = factor[0][static_cast<size_t>(i)];
    const float s = factor[1][static_cast<size_t>(i)];
    *real = a * c - b * s;
    *imaginary = a * s + b * c;
  };
  for (int64_t i = 0; i < points_; ++i) {
    times(x.real[i], x.imaginary[i], chirp_, i, y.real + i, y.imaginary + i);
  }
  padded_->run(y, /*inverse=*/false, work);
  for (int64_t i = 0; i < size; ++i) {
    times(y.real[i], y.imaginary[i], filter_, i, y.real + i, y.imaginary + i);
  }
  padded_->run(y, /*inverse=*/true, work);
  const float scale = 1.0F / static_cast<float>(size);
  for (int64_t i = 0; i < points_; ++i) {
    times(y.real[i] * scale, y.imaginary[i] * scale, chirp_, i, x.real + i, x.imaginary + i);
  }
}

}  // namespace trainyard::kernels::native

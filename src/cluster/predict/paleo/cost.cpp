#include "cluster/predict/paleo/cost.h"

#include <algorithm>
#include <cmath>

namespace trainyard::predict::paleo {
namespace {

// Formulas and constants are those of PALEO's own code (Qi, Sparks and Talwalkar, ICLR 2017),
// including what looks odd, because results are compared with it.
constexpr double kComplexBytes = 8;
constexpr int64_t kFftTile = 32;

double real(int64_t value) {
  return static_cast<double>(value);
}

// FLOPs of one complex-to-real 2-D transform of `size` points, padded to a power of two.
double transform_flops(double size, bool one_dimensional) {
  const double side = std::exp2(std::ceil(std::log(std::sqrt(size)) / std::log(2.0)));
  const double flops = 10 * side * side * std::log2(side);
  return one_dimensional ? flops / 2 : flops;
}

}  // namespace

// Milliseconds. Nothing takes no time, anything else a clock tick at least.
double Pricer::compute_ms(double flops) const {
  if (flops == 0) return 0;
  return std::max(tick_ms(), flops / 1e9 / machine_.peak_gflops * 1e3 / percent_);
}

// A term of 0 bytes still costs a tick, as in PALEO.
double Pricer::memory_ms(double bytes) const {
  return std::max(tick_ms(), bytes / kGibi / machine_.memory_gbps * 1e3 / percent_);
}

Times Pricer::price(const Work& work) const {
  Times times{compute_ms(work.flops), 0};
  for (const double bytes : work.bytes) times.memory_ms += memory_ms(bytes);
  return times;
}

// Transforms of inputs, filters and outputs, and the products between them; tiling cuts images into
// 32 x 32.
Times Pricer::fft(const ConvShape& view, bool tiling) const {
  const bool one_d = view.kh == 1 || view.kw == 1;
  const int64_t a = std::max(view.h + 2 * view.ph, view.kh);
  const int64_t b = std::max(view.w + 2 * view.pw, view.kw);
  const double size = real(tiling ? kFftTile * kFftTile : a * b);
  const double side = real(tiling ? kFftTile : std::max(a, b));
  const double tiles =
      tiling ? std::ceil(real(view.h) / kFftTile) * std::ceil(real(view.w) / kFftTile) : 1;
  const double inputs = real(view.n * view.cin);
  const double filters = real(view.cin * view.cout);
  const double outputs = real(view.n * view.cout);
  const double back = transform_flops(size, one_d);
  const double there = back / 2;  // real input
  const double filter_points = one_d ? side : size;

  Times times;
  times.compute_ms = tiles * compute_ms(inputs * there) + compute_ms(filters * there) +
                     tiles * compute_ms(4 * inputs * real(view.cout) * size) +
                     tiles * compute_ms(outputs * back);
  times.memory_ms = tiles * memory_ms(kFloatBytes * inputs * size) +
                    2 * tiles * memory_ms(kComplexBytes * inputs * size) +
                    (tiles + 1) * memory_ms(kComplexBytes * outputs * size) +
                    memory_ms(kFloatBytes * outputs * real(view.oh * view.ow)) +
                    memory_ms(kFloatBytes * filters * size) +
                    (1 + tiles) * memory_ms(kComplexBytes * filters * filter_points);
  return times;
}

Times Pricer::conv(const ConvShape& view, Algorithm algorithm, Variant variant) const {
  switch (algorithm) {
    case Algorithm::kFft:
      return fft(view, /*tiling=*/false);
    case Algorithm::kFftTiling:
      return fft(view, /*tiling=*/true);
    case Algorithm::kWinograd:
      return {};
    case Algorithm::kGemm:
    case Algorithm::kGemmWorkspace:
      break;
  }
  Work work = gemm_work(view, variant);
  // Only PALEO's later version charges for writing and reading the unrolled input.
  if (algorithm == Algorithm::kGemmWorkspace && variant == Variant::kHead) {
    work.bytes.push_back(2 * kFloatBytes * real(view.n * view.oh * view.ow) *
                         real(view.kh * view.kw * view.cin));
  }
  return price(work);
}

Work gemm_work(const ConvShape& view, Variant variant) {
  const double filled = 1 - view.holes_filter;
  const double filter =
      real(view.kh * view.kw) * real(view.cin) * real(view.cout) / real(view.groups);
  const bool padded = variant == Variant::kHead;
  const int64_t h = view.h + (padded ? 2 * view.ph : 0);
  const int64_t w = view.w + (padded ? 2 * view.pw : 0);
  Work work;
  work.flops = 2 * filter * real(view.oh * view.ow) * real(view.n) * filled;
  if (padded && view.holes_input > 0) {
    work.flops += 2 * real(view.n * view.h * view.w) * real(view.cin) * (1 - view.holes_input);
  }
  work.bytes = {kFloatBytes * real(view.n * h * w) * real(view.cin), kFloatBytes * filter * filled,
                kFloatBytes * real(view.n * view.oh * view.ow) * real(view.cout)};
  return work;
}

Work linear_work(int64_t rows, int64_t in, int64_t out) {
  return {2 * real(rows) * real(in) * real(out),
          {kFloatBytes * real(rows) * real(in), kFloatBytes * real(in) * real(out),
           kFloatBytes * real(rows) * real(out)}};
}

Work pool_work(int64_t window, int64_t in_elements, int64_t out_elements) {
  return {2 * real(window) * real(out_elements),
          {kFloatBytes * real(in_elements), kFloatBytes * real(out_elements)}};
}

Work dropout_work(int64_t elements) {
  return {real(elements), {kFloatBytes * real(elements), kFloatBytes * real(elements)}};
}

// One read of the gradient, one of the weights, one write.
Times update_times(const Machine& machine, double weight_bytes) {
  const Pricer pricer(machine, 1.0);
  return {pricer.compute_ms(2 * weight_bytes / kFloatBytes), 3 * pricer.memory_ms(weight_bytes)};
}

}  // namespace trainyard::predict::paleo

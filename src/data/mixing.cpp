#include "data/mixing.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace trainyard::data {
namespace {

// Beta(alpha, alpha) by Jöhnk's method.
double draw_share(const RandomStream& random, double alpha) {
  constexpr uint64_t kFirst = 16;        // behind the other draws of the stream
  constexpr uint64_t kMostDraws = 4096;  // a sum of 1 or less is found long before
  for (uint64_t i = kFirst; i < kMostDraws; i += 2) {
    const double x = std::pow(random.uniform(i), 1 / alpha);
    const double y = std::pow(random.uniform(i + 1), 1 / alpha);
    if (x + y <= 1 && x + y > 0) return x / (x + y);
  }
  return 0.5;
}

}  // namespace

Blend draw_blend(const Mixing& mixing, const Draw& draw, int64_t samples,
                 const PictureShape& shape) {
  uint64_t key = mix_bits(draw.seed + hash_text("mixing"));
  for (const int64_t part : {draw.epoch, draw.sample, draw.copy}) {
    key = mix_bits(key + static_cast<uint64_t>(part));
  }
  const RandomStream random(key);
  Blend blend{.partner = static_cast<int64_t>(random.below(0, static_cast<uint64_t>(samples)))};
  const bool cuts = mixing.cutmix > 0 && (mixing.mixup == 0 || random.uniform(1) < 0.5);
  blend.own = draw_share(random, cuts ? mixing.cutmix : mixing.mixup);
  if (!cuts) return blend;
  // A rectangle of the picture's ratio anywhere, cut off at the border; the share is what is left.
  const double side = std::sqrt(1 - blend.own);
  const auto span = [&](uint64_t index, int64_t whole, int64_t& begin, int64_t& end) {
    const int64_t length = std::llround(side * static_cast<double>(whole));
    const auto middle = static_cast<int64_t>(random.below(index, static_cast<uint64_t>(whole)));
    begin = std::max<int64_t>(0, middle - length / 2);
    end = std::min(whole, middle - length / 2 + length);
  };
  span(2, shape.height, blend.top, blend.bottom);
  span(3, shape.width, blend.left, blend.right);
  const int64_t area =
      blend.is_pasted() ? (blend.bottom - blend.top) * (blend.right - blend.left) : 0;
  blend.own = 1 - static_cast<double>(area) / static_cast<double>(shape.plane());
  return blend;
}

void blend_images(const Blend& blend, const PictureShape& shape, const float* partner,
                  float* image) {
  if (blend.is_pasted()) {
    for (int64_t c = 0; c < shape.channels; ++c) {
      for (int64_t y = blend.top; y < blend.bottom; ++y) {
        const int64_t row = c * shape.plane() + y * shape.width;
        std::copy(partner + row + blend.left, partner + row + blend.right,
                  image + row + blend.left);
      }
    }
    return;
  }
  const auto own = static_cast<float>(blend.own);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    image[i] = own * image[i] + (1 - own) * partner[i];
  }
}

}  // namespace trainyard::data

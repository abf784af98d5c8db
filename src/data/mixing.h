// Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019): a training image is mixed with that of
// another sample, and its class becomes a probability for each class.
#pragma once

#include <cstdint>

#include "data/augment.h"
#include "data/pixels.h"

namespace trainyard::data {

// Alphas of the Beta distributions that shares are drawn from; 0: not done. With both, a coin
// decides for each image.
struct Mixing {
  double mixup = 0;
  double cutmix = 0;

  bool is_on() const { return mixup > 0 || cutmix > 0; }
};

// The largest alpha: what is rejected on the way to a Beta number grows with it.
inline constexpr double kMostMixing = 4;

struct Blend {
  int64_t partner = 0;  // the sample that is mixed in
  double own = 1;       // the share that is left of the sample itself
  // CutMix: the part that is the partner's; mixup: nothing.
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;

  bool is_pasted() const { return bottom > top && right > left; }
};

// Depends on the draw alone, not on the batch: the partner is any of the `samples` of the set.
Blend draw_blend(const Mixing& mixing, const Draw& draw, int64_t samples,
                 const PictureShape& shape);

// Mixes the partner's floats into the sample's.
void blend_images(const Blend& blend, const PictureShape& shape, const float* partner,
                  float* image);

}  // namespace trainyard::data

// Regions of interest as data brings them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace trainyard::kernels::reference {

// Throws Error unless image `batch` exists and the corners are numbers a feature map could have.
template <typename T>
void require_region(std::string_view op, int64_t region, int64_t batch, int64_t images,
                    const T* corners) {
  constexpr double kLargest = 1e9;
  TY_REQUIRE(0 <= batch && batch < images, "{}: region {} is of image {}, but there are {} images",
             op, region, batch, images);
  for (int i = 0; i < 4; ++i) {
    const auto corner = static_cast<double>(corners[i]);
    TY_REQUIRE(std::abs(corner) < kLargest, "{}: region {} has a corner at {}", op, region, corner);
  }
}

}  // namespace trainyard::kernels::reference

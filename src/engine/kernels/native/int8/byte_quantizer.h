// Floats to bytes with one scale. Images of bytes lie channels last.
#pragma once

#include <cstdint>

#include "engine/kernels/native/flat.h"
#include "ops/quantize/quantized.h"

namespace trainyard::kernels::native {

// Pixels with their channels, as bytes lie; one pixel per element for everything but images.
struct ByteImage {
  int64_t images = 1;
  int64_t pixels = 1;
  int64_t channels = 1;
};
ByteImage byte_image(const Shape& shape);

class ByteQuantizer {
 public:
  // The layout is one that takes() says yes to, or row-major.
  ByteQuantizer(const Shape& shape, const Layout& layout);
  static bool takes(const Shape& shape, const Layout& layout);

  void run(const float* x, float scale, int64_t zero, uint8_t* y) const;

 private:
  ByteImage image_;
  Planes x_;
};

}  // namespace trainyard::kernels::native

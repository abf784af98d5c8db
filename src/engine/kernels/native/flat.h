// Tensors as kernels without an interest in positions see them: images one after the other, each a
// run of channel planes without gaps.
#pragma once

#include <cstdint>

#include "engine/kernels/native/cpu.h"
#include "tensor/layout.h"

namespace trainyard::kernels::native {

struct Planes {
  int64_t images = 1;
  int64_t planes = 1;        // channels, or blocks of channels
  int64_t block = 1;         // channels per plane, interleaved
  int64_t positions = 1;     // per plane
  int64_t image_stride = 0;  // elements

  int64_t plane_elements() const { return positions * block; }
  int64_t image_elements() const { return planes * plane_elements(); }
};

// Row-major, or channel-blocked with any stride between images.
inline Planes planes_of(const Shape& shape, const Layout& layout) {
  Planes planes;
  if (shape.rank() < 2) {
    planes.positions = shape.num_elements();
    planes.image_stride = planes.positions;
    return planes;
  }
  planes.images = shape[0];
  planes.block = layout.block_of(1);
  planes.planes = (shape[1] + planes.block - 1) / planes.block;
  planes.positions = shape.num_elements(2, shape.rank());
  planes.image_stride = layout.outer_strides(shape)[0];
  return planes;
}

// Is it a layout that planes_of() describes?
inline bool has_planes(const Shape& shape, const Layout& layout) {
  if (layout.is_row_major()) return true;
  if (shape.rank() < 3 || layout.blocks().size() != 1 || layout.block_of(1) == 1) return false;
  std::vector<int64_t> strides = Layout::channel_blocks(shape, layout.block_of(1)).strides();
  strides[0] = layout.strides()[0];
  return strides == layout.strides();
}

// The blocks of an image that may be taken as it is, or those of this processor: a multiple of
// kVector.
inline int64_t block_like(const Shape& shape, const Layout& offered) {
  const int64_t block = offered.block_of(1);
  return has_planes(shape, offered) && block > 1 && block % kVector == 0 ? block : channel_block();
}

}  // namespace trainyard::kernels::native

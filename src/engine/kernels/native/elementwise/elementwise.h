// Operands of one shape that are worked on element by element, in one layout.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "engine/kernels/native/flat.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {

// The layout for all of them: blocks of channels if one has them, else row-major. `fit` says
// whether padding stays zero.
inline Layout common_layout(const Shape& shape, std::span<const Layout> offered, bool fit) {
  int64_t block = 1;
  for (const Layout& layout : offered) {
    if (!layout.is_row_major() && has_planes(shape, layout)) {
      block = std::max(block, layout.block_of(1));
    }
  }
  if (block == 1 || (!fit && shape[1] % block != 0)) return {};
  return Layout::channel_blocks(shape, block);
}

// Cuts such operands into runs without gaps and shares them among the threads.
class ElementRuns {
 public:
  // All layouts place elements alike but for the stride between images.
  ElementRuns(const Shape& shape, std::span<const Layout> layouts) {
    for (const Layout& layout : layouts) {
      const Planes planes = planes_of(shape, layout);
      images_ = planes.images;
      elements_ = planes.image_elements();
      strides_.push_back(planes.image_stride);
    }
    // Images without gaps between them are one run.
    if (std::all_of(strides_.begin(), strides_.end(),
                    [&](int64_t stride) { return stride == elements_; })) {
      elements_ *= images_;
      images_ = 1;
    }
  }

  // Calls f(image, first, count): `count` elements from `first` of an image on.
  template <typename F>
  void for_each(const F& f) const {
    const int64_t cuts = (elements_ + kRun - 1) / kRun;
    parallel_for(images_ * cuts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % cuts * kRun;
        f(i / cuts, first, std::min(kRun, elements_ - first));
      }
    });
  }

  // Where `first` of an image lies in an operand.
  int64_t offset(size_t operand, int64_t image, int64_t first) const {
    return image * strides_[operand] + first;
  }

 private:
  static constexpr int64_t kRun = 8192;
  int64_t images_ = 1;
  int64_t elements_ = 0;
  std::vector<int64_t> strides_;
};

}  // namespace trainyard::kernels::native

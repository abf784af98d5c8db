#include "tensor/layout_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace trainyard {
namespace {

// Where the indices of one axis lie, in elements; an element's place is the sum over the axes.
struct AxisPlaces {
  std::vector<int64_t> from;  // of the indices that exist
  std::vector<int64_t> to;    // padding included
};

AxisPlaces places_along(const Shape& shape, int64_t axis, const Layout& from, const Layout& to) {
  AxisPlaces places;
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  const int64_t block = to.block_of(axis);
  const int64_t padded = (shape[axis] + block - 1) / block * block;
  for (int64_t i = 0; i < padded; ++i) {
    index[static_cast<size_t>(axis)] = i;
    if (i < shape[axis]) places.from.push_back(from.offset(shape, index));
    places.to.push_back(to.offset(shape, index));
  }
  return places;
}

class LayoutCopier {
 public:
  LayoutCopier(const TensorType& type, const Layout& from, const Layout& to)
      : element_(dtype_size(type.dtype)) {
    for (int64_t axis = 0; axis < type.shape.rank(); ++axis) {
      axes_.push_back(places_along(type.shape, axis, from, to));
    }
  }

  // `from` is null inside padding.
  void run(size_t axis, const std::byte* from, std::byte* to) const {
    if (axis == axes_.size()) {
      if (from != nullptr) {
        std::memcpy(to, from, static_cast<size_t>(element_));
      } else {
        std::memset(to, 0, static_cast<size_t>(element_));
      }
      return;
    }
    const AxisPlaces& places = axes_[axis];
    for (size_t i = 0; i < places.to.size(); ++i) {
      const bool exists = from != nullptr && i < places.from.size();
      run(axis + 1, exists ? from + places.from[i] * element_ : nullptr,
          to + places.to[i] * element_);
    }
  }

 private:
  int64_t element_;
  std::vector<AxisPlaces> axes_;
};

}  // namespace

void copy_between_layouts(const TensorType& type, const void* from, const Layout& from_layout,
                          void* to, const Layout& to_layout) {
  if (type.shape.num_elements() == 0) return;
  if (from_layout.is_row_major() && to_layout.is_row_major()) {
    std::memcpy(to, from, static_cast<size_t>(type.num_bytes()));
    return;
  }
  LayoutCopier(type, from_layout, to_layout)
      .run(0, static_cast<const std::byte*>(from), static_cast<std::byte*>(to));
}

}  // namespace trainyard

// How the elements of a tensor lie in memory: row-major, permuted, or blocked as vector kernels
// want them (nChw8c), possibly as a part of a larger buffer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace trainyard {

// `size` consecutive indices of `axis` lie together; the last block of an axis may be padded.
struct InnerBlock {
  int64_t axis = 0;
  int64_t size = 1;
  bool operator==(const InnerBlock&) const = default;
};

// A default layout is dense row-major in the host's memory, on_device() the same in a device's.
// Otherwise strides() has one entry per axis (elements between neighbors, or between neighboring
// blocks of a blocked axis), and blocks() lists the inner blocks from outer to inner, dense within.
class Layout {
 public:
  Layout() = default;
  Layout(std::vector<int64_t> strides, std::vector<InnerBlock> blocks)
      : strides_(std::move(strides)), blocks_(std::move(blocks)) {}

  // Dense, axes in memory order `order` (outermost first), then the blocks.
  static Layout dense(const Shape& shape, std::span<const int64_t> order,
                      std::vector<InnerBlock> blocks);
  // N C spatial… with channels in blocks of `block`: nChw8c for a 4-d shape and block 8.
  static Layout channel_blocks(const Shape& shape, int64_t block);

  static Layout on_device();

  bool is_row_major() const { return strides_.empty(); }
  // Not in memory that the host may touch.
  bool is_on_device() const { return on_device_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  const std::vector<InnerBlock>& blocks() const { return blocks_; }
  // Product of the block sizes of an axis; 1 if it is not blocked.
  int64_t block_of(int64_t axis) const;
  // The strides of either kind of layout.
  std::vector<int64_t> outer_strides(const Shape& shape) const;

  // Elements from the first to one past the last, padding included.
  int64_t span_elements(const Shape& shape) const;
  int64_t span_bytes(const TensorType& type) const {
    return span_elements(type.shape) * dtype_size(type.dtype);
  }
  // In the host's memory without gaps, those of an index of axis 0 before those of the next?
  bool is_sample_by_sample(const Shape& shape) const;
  // Where an element lies.
  int64_t offset(const Shape& shape, std::span<const int64_t> index) const;

  // "row-major", "on the device", "abcd:B8" (axes by descending stride, then blocks), for people
  // and tests.
  std::string to_string(const Shape& shape) const;

  bool operator==(const Layout&) const = default;

 private:
  std::vector<int64_t> strides_;
  std::vector<InnerBlock> blocks_;
  bool on_device_ = false;
};

// Do both lie in the same memory, and put every element (and the same padding) of a tensor of this
// shape at the same place?
bool same_placement(const Layout& a, const Layout& b, const Shape& shape);

}  // namespace trainyard

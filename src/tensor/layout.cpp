#include "tensor/layout.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace trainyard {
namespace {

// One loop over memory: `size` steps of `stride` elements along `axis`.
struct Run {
  int64_t axis;
  int64_t size;
  int64_t stride;
  bool operator==(const Run&) const = default;
};

int64_t blocks_along(const Layout& layout, const Shape& shape, int64_t axis) {
  const int64_t block = layout.block_of(axis);
  return (shape[axis] + block - 1) / block;
}

// The loops of a layout, innermost first, without those of one step, neighbors of one axis merged.
std::vector<Run> canonical_runs(const Layout& layout, const Shape& shape) {
  std::vector<Run> runs;
  int64_t stride = 1;
  for (auto block = layout.blocks().rbegin(); block != layout.blocks().rend(); ++block) {
    runs.push_back({block->axis, block->size, stride});
    stride *= block->size;
  }
  const std::vector<int64_t> strides = layout.outer_strides(shape);
  std::vector<Run> outer;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    outer.push_back({axis, blocks_along(layout, shape, axis), strides[static_cast<size_t>(axis)]});
  }
  // Ties only occur among axes of one step, which are dropped below; the axis keeps the order
  // defined.
  std::sort(outer.begin(), outer.end(), [](const Run& a, const Run& b) {
    return a.stride != b.stride ? a.stride < b.stride : a.axis > b.axis;
  });
  runs.insert(runs.end(), outer.begin(), outer.end());
  std::vector<Run> merged;
  for (const Run& run : runs) {
    if (run.size == 1) continue;
    if (!merged.empty() && merged.back().axis == run.axis &&
        merged.back().stride * merged.back().size == run.stride) {
      merged.back().size *= run.size;
    } else {
      merged.push_back(run);
    }
  }
  return merged;
}

}  // namespace

// `order` from the outermost axis to the innermost.
Layout Layout::dense(const Shape& shape, std::span<const int64_t> order,
                     std::vector<InnerBlock> blocks) {
  TY_CHECK(static_cast<int64_t>(order.size()) == shape.rank(), "{} axes for shape {}", order.size(),
           shape.to_string());
  Layout layout(std::vector<int64_t>(order.size(), 0), std::move(blocks));
  int64_t stride = 1;
  for (const InnerBlock& block : layout.blocks_) stride *= block.size;
  for (size_t i = order.size(); i-- > 0;) {
    layout.strides_[static_cast<size_t>(order[i])] = stride;
    // An empty axis must not make all outer strides zero.
    stride *= std::max<int64_t>(1, blocks_along(layout, shape, order[i]));
  }
  return layout;
}

Layout Layout::channel_blocks(const Shape& shape, int64_t block) {
  std::vector<int64_t> order(static_cast<size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  return dense(shape, order, {{1, block}});
}

Layout Layout::on_device() {
  Layout layout;
  layout.on_device_ = true;
  return layout;
}

int64_t Layout::block_of(int64_t axis) const {
  int64_t size = 1;
  for (const InnerBlock& block : blocks_) {
    if (block.axis == axis) size *= block.size;
  }
  return size;
}

// Row-major layouts have no strides of their own: those of the shape hold.
std::vector<int64_t> Layout::outer_strides(const Shape& shape) const {
  return is_row_major() ? shape.strides() : strides_;
}

// From the first element to behind the last, padding of blocks and gaps included.
int64_t Layout::span_elements(const Shape& shape) const {
  if (is_row_major()) return shape.num_elements();
  int64_t last = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0) return 0;
    last += (blocks_along(*this, shape, axis) - 1) * strides_[static_cast<size_t>(axis)];
  }
  int64_t inner = 1;
  for (const InnerBlock& block : blocks_) inner *= block.size;
  return last + inner;
}

bool Layout::is_sample_by_sample(const Shape& shape) const {
  // Each element has a place of its own, so as many places as elements means no gaps.
  const int64_t elements = shape.num_elements();
  if (is_on_device() || span_elements(shape) != elements) return false;
  if (shape.rank() == 0 || shape[0] <= 1) return true;
  return block_of(0) == 1 && outer_strides(shape)[0] * shape[0] == elements;
}

int64_t Layout::offset(const Shape& shape, std::span<const int64_t> index) const {
  const std::vector<int64_t> strides = outer_strides(shape);
  std::vector<int64_t> rest(index.begin(), index.end());
  int64_t offset = 0;
  int64_t stride = 1;
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    int64_t& i = rest[static_cast<size_t>(block->axis)];
    offset += i % block->size * stride;
    i /= block->size;
    stride *= block->size;
  }
  for (size_t axis = 0; axis < rest.size(); ++axis) offset += rest[axis] * strides[axis];
  return offset;
}

// oneDNN's notation: aBcd8b is channels in blocks of eight.
std::string Layout::to_string(const Shape& shape) const {
  if (on_device_) return "on the device";
  if (is_row_major()) return "row-major";
  std::vector<int64_t> order(strides_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides_[static_cast<size_t>(a)] > strides_[static_cast<size_t>(b)];
  });
  std::string text;
  for (const int64_t axis : order) {
    const bool blocked = block_of(axis) > 1;
    text += static_cast<char>((blocked ? 'A' : 'a') + axis);
  }
  for (const InnerBlock& block : blocks_) {
    text += fmt::format("{}{}", block.size, static_cast<char>('a' + block.axis));
  }
  if (!same_placement(*this, dense(shape, order, blocks_), shape)) text += " (part)";
  return text;
}

// Different descriptions of the same places: an axis of one element has any stride.
bool same_placement(const Layout& a, const Layout& b, const Shape& shape) {
  if (a == b) return true;
  if (a.is_on_device() != b.is_on_device()) return false;
  return canonical_runs(a, shape) == canonical_runs(b, shape);
}

}  // namespace trainyard

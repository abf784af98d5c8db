// Unique: the different elements, or slices along an axis, where each was first, which one each
// element is, and how often each occurs.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kUniqueAttributes[] = {{"axis", AttrKind::kInt}, {"sorted", AttrKind::kInt}};

struct Found {
  std::vector<int64_t> first;    // by number of the different slice, in order of the output
  std::vector<int64_t> inverse;  // by slice of x
  std::vector<int64_t> counts;
};

// Slices of x along an axis; without one, elements.
struct Slices {
  int64_t outer = 1, count = 0, inner = 1;

  Slices(const Shape& x, std::optional<int64_t> axis) {
    count = axis ? x[*axis] : x.num_elements();
    if (!axis) return;
    outer = x.num_elements(0, *axis);
    inner = x.num_elements(*axis + 1, x.rank());
  }
  int64_t at(int64_t slice, int64_t i) const {
    return (i / inner * count + slice) * inner + i % inner;
  }
};

Found find_unique(const TensorView& x, std::optional<int64_t> axis, bool sorted) {
  const Slices slices(*x.shape, axis);
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < slices.outer * slices.inner; ++i) {
      const double left = element_as_double(x, slices.at(a, i));
      const double right = element_as_double(x, slices.at(b, i));
      if (left != right) return left < right ? -1 : 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(slices.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  Found found;
  found.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      found.first.push_back(order[i]);
      found.counts.push_back(0);
    }
    found.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(found.first.size()) - 1;
    ++found.counts.back();
  }
  if (sorted) return found;
  // In the order of their first appearance.
  std::vector<int64_t> rank(found.first.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::sort(rank.begin(), rank.end(), [&](int64_t a, int64_t b) {
    return found.first[static_cast<size_t>(a)] < found.first[static_cast<size_t>(b)];
  });
  Found by_place = found;
  std::vector<int64_t> number(rank.size());
  for (size_t i = 0; i < rank.size(); ++i) {
    by_place.first[i] = found.first[static_cast<size_t>(rank[i])];
    by_place.counts[i] = found.counts[static_cast<size_t>(rank[i])];
    number[static_cast<size_t>(rank[i])] = static_cast<int64_t>(i);
  }
  for (int64_t& n : by_place.inverse) n = number[static_cast<size_t>(n)];
  return by_place;
}

std::optional<int64_t> axis_of_unique(const NodeView& node) {
  if (!node.has_attr("axis")) return std::nullopt;
  return normalize_axis(node.attr_int("axis", 0), node.input_shape(0).rank(), node.op());
}

std::vector<TensorType> infer_unique(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const auto axis = axis_of_unique(node);
  int64_t count = Shape::kUnknown;
  if (const Tensor* known = node.input_constant(0)) {
    const Found found = find_unique(known->view(), axis, true);
    count = static_cast<int64_t>(found.first.size());
  }
  TensorType y{x.dtype, Shape{count}};
  if (axis) {
    y.shape = x.shape;
    y.shape[*axis] = count;
  }
  const int64_t slices = axis ? x.shape[*axis] : x.shape.num_elements();
  return {y, {DType::kI64, {count}}, {DType::kI64, {slices}}, {DType::kI64, {count}}};
}

Routine routine_unique(const NodeView& node) {
  return
      [axis = axis_of_unique(node), sorted = node.attr_int("sorted", 1) != 0](Views in, Views out) {
        const Found found = find_unique(in[0], axis, sorted);
        const Slices from(*in[0].shape, axis);
        const int64_t size = dtype_size(in[0].dtype);
        const auto count = static_cast<int64_t>(found.first.size());
        for (int64_t i = 0; i < from.outer * from.inner; ++i) {
          for (int64_t k = 0; k < count; ++k) {
            const int64_t to = (i / from.inner * count + k) * from.inner + i % from.inner;
            const auto* element = in[0].as<const std::byte>() +
                                  from.at(found.first[static_cast<size_t>(k)], i) * size;
            std::copy_n(element, size, out[0].as<std::byte>() + to * size);
          }
        }
        const std::vector<int64_t>* lists[] = {&found.first, &found.inverse, &found.counts};
        for (size_t i = 0; i < 3 && i + 1 < out.size(); ++i) {
          if (out[i + 1].data == nullptr) continue;
          std::copy(lists[i]->begin(), lists[i]->end(), out[i + 1].as<int64_t>());
        }
      };
}

}  // namespace

// Outputs: the different ones, first places, which one each is, counts.
extern const OpDef kUnique = {.name = "Unique",
                              .kind = OpKind::kDataMovement,
                              .outputs = {1, 4},
                              .attributes = kUniqueAttributes,
                              .infer = infer_unique,
                              .routine = routine_unique,
                              .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops

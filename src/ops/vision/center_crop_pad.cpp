// CenterCropPad: the middle of a tensor in another size, cut or surrounded by zeros.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kCenterAttributes[] = {{"axes", AttrKind::kInts}};

std::vector<int64_t> axes_of_center(const NodeView& node) {
  const int64_t rank = node.input_shape(0).rank();
  std::vector<int64_t> axes = node.attr_ints("axes", {});
  for (int64_t& axis : axes) axis = normalize_axis(axis, rank, node.op());
  for (int64_t i = 0; i < rank && !node.has_attr("axes"); ++i) axes.push_back(i);
  return axes;
}

std::vector<TensorType> infer_center(const NodeView& node) {
  TensorType y = node.input_type(0);
  const std::vector<int64_t> axes = axes_of_center(node);
  const auto sizes = node.input_ints(1);
  const int64_t given = node.input_shape(1).num_elements();
  TY_REQUIRE(same_dim(given, static_cast<int64_t>(axes.size())), "{} sizes for {} axes", given,
             axes.size());
  TY_REQUIRE(is_integer(node.input_type(1).dtype), "sizes are {}, expected integers",
             dtype_name(node.input_type(1).dtype));
  for (size_t i = 0; i < axes.size(); ++i) {
    TY_REQUIRE(!sizes || (*sizes)[i] >= 0, "a size of {}", (*sizes)[i]);
    y.shape[axes[i]] = sizes ? (*sizes)[i] : Shape::kUnknown;
  }
  return {y};
}

Routine routine_center(const NodeView&) {
  return [](Views in, Views out) {
    const Shape& x = *in[0].shape;
    const Shape& y = *out[0].shape;
    const int64_t size = dtype_size(in[0].dtype);
    std::memset(out[0].data, 0, static_cast<size_t>(y.num_elements() * size));
    // What both have in common; of an odd rest the smaller half is at the beginning.
    Shape common = x;
    int64_t from = 0;
    int64_t to = 0;
    for (int64_t d = 0; d < x.rank(); ++d) {
      const auto at = static_cast<size_t>(d);
      common[d] = std::min(x[d], y[d]);
      from += (x[d] - common[d]) / 2 * x.strides()[at];
      to += (y[d] - common[d]) / 2 * y.strides()[at];
    }
    copy_strided(common.dims(), size, in[0].as<std::byte>() + from * size, x.strides(),
                 out[0].as<std::byte>() + to * size, y.strides());
  };
}

}  // namespace

// Inputs: x, sizes.
extern const OpDef kCenterCropPad = {.name = "CenterCropPad",
                                     .kind = OpKind::kDataMovement,
                                     .inputs = {2, 2},
                                     .attributes = kCenterAttributes,
                                     .infer = infer_center,
                                     .routine = routine_center};

}  // namespace trainyard::ops

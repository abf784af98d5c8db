// DepthToSpace spreads channels over blocks of pixels; SpaceToDepth gathers them again.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kDepthAttributes[] = {{"blocksize", AttrKind::kInt, true},
                                         {"mode", AttrKind::kText}};
constexpr AttrSpec kSpaceAttributes[] = {{"blocksize", AttrKind::kInt, true}};

int64_t block_of(const NodeView& node) {
  const int64_t block = node.attr_int("blocksize", 0);
  const Shape& x = node.input_shape(0);
  constexpr int64_t kLargest = int64_t{1} << 31U;  // whose square is a number
  TY_REQUIRE(0 < block && block < kLargest, "blocksize is {}, expected 1 or more", block);
  TY_REQUIRE(x.rank() == 4, "shape {} is not N, C, H, W", x.to_string());
  return block;
}

std::vector<TensorType> infer_depth_to_space(const NodeView& node) {
  TensorType y = node.input_type(0);
  const int64_t block = block_of(node);
  const std::string mode = node.attr_text("mode", "DCR");
  TY_REQUIRE(mode == "DCR" || mode == "CRD", "mode '{}' is not one of DCR, CRD", mode);
  if (!y.shape.is_static()) return {{y.dtype, Shape(std::vector<int64_t>(4, Shape::kUnknown))}};
  TY_REQUIRE(y.shape[1] % (block * block) == 0, "{} channels do not make blocks of {}x{}",
             y.shape[1], block, block);
  y.shape[1] /= block * block;
  y.shape[2] = dim_product(y.shape[2], block);
  y.shape[3] = dim_product(y.shape[3], block);
  return {y};
}

std::vector<TensorType> infer_space_to_depth(const NodeView& node) {
  TensorType y = node.input_type(0);
  const int64_t block = block_of(node);
  if (!y.shape.is_static()) return {{y.dtype, Shape(std::vector<int64_t>(4, Shape::kUnknown))}};
  TY_REQUIRE(y.shape[2] % block == 0 && y.shape[3] % block == 0,
             "pixels of shape {} do not make blocks of {}x{}", y.shape.to_string(), block, block);
  y.shape[1] = dim_product(y.shape[1], block * block);
  y.shape[2] /= block;
  y.shape[3] /= block;
  return {y};
}

// Both are one copy of rank 6 between (n, c, block row, block column, h, w) on the deep side and
// (n, c, h, block row, w, block column) on the wide side.
struct Strides {
  std::vector<int64_t> dims, deep, wide;
};

Strides block_strides(const Shape& deep, const Shape& wide, int64_t block, bool channel_first) {
  const int64_t n = wide[0];
  const int64_t c = wide[1];
  const int64_t h = deep[2];
  const int64_t w = deep[3];
  const int64_t channel = channel_first ? block * block * h * w : h * w;
  const int64_t cell = channel_first ? h * w : c * h * w;
  const int64_t row = w * block;
  return {.dims = {n, c, block, block, h, w},
          .deep = {deep.num_elements(1, 4), channel, block * cell, cell, w, 1},
          .wide = {wide.num_elements(1, 4), h * block * row, row, 1, block * row, block}};
}

Routine routine_depth_to_space(const NodeView& node) {
  return [block = block_of(node), channel_first = node.attr_text("mode", "DCR") == "CRD"](
             Views inputs, Views outputs) {
    const Strides s = block_strides(*inputs[0].shape, *outputs[0].shape, block, channel_first);
    copy_strided(s.dims, dtype_size(inputs[0].dtype), inputs[0].data, s.deep, outputs[0].data,
                 s.wide);
  };
}

Routine routine_space_to_depth(const NodeView& node) {
  return [block = block_of(node)](Views inputs, Views outputs) {
    const Strides s =
        block_strides(*outputs[0].shape, *inputs[0].shape, block, /*channel_first=*/false);
    copy_strided(s.dims, dtype_size(inputs[0].dtype), inputs[0].data, s.wide, outputs[0].data,
                 s.deep);
  };
}

// Blocks of pixels go back to where they came from: (n, c, h, row, w, column) to (n, c, row,
// column, h, w) or, channels last among the parts, (n, row, column, c, h, w).
std::vector<ValueId> gradient_depth_to_space(GradContext& grad) {
  const Shape x = grad.x_shape(0);
  const Shape y = grad.node().output_shape(0);
  const int64_t block = block_of(grad.node());
  const bool channel_first = grad.node().attr_text("mode", "DCR") == "CRD";
  const ValueId parts = grad.reshape(grad.dy(), Shape{y[0], y[1], x[2], block, x[3], block});
  const std::vector<int64_t> order = channel_first ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                                                   : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  return {grad.reshape(grad.add("Transpose", {parts}, {{"perm", order}}), x)};
}

std::vector<ValueId> gradient_space_to_depth(GradContext& grad) {
  return {grad.add("DepthToSpace", {grad.dy()}, grad.attributes())};
}

}  // namespace

extern const OpDef kDepthToSpace = {.name = "DepthToSpace",
                                    .kind = OpKind::kDataMovement,
                                    .attributes = kDepthAttributes,
                                    .infer = infer_depth_to_space,
                                    .routine = routine_depth_to_space,
                                    .gradient = gradient_depth_to_space,
                                    .movement = always_moved,
                                    .int8 = Int8Form::kMove};
extern const OpDef kSpaceToDepth = {.name = "SpaceToDepth",
                                    .kind = OpKind::kDataMovement,
                                    .attributes = kSpaceAttributes,
                                    .infer = infer_space_to_depth,
                                    .routine = routine_space_to_depth,
                                    .gradient = gradient_space_to_depth,
                                    .movement = always_moved,
                                    .int8 = Int8Form::kMove};

}  // namespace trainyard::ops

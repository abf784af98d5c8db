// RoiAlign and MaxRoiPool: regions of feature maps, each resampled to the same small size.
#include "base/checked.h"
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAlignAttributes[] = {{"coordinate_transformation_mode", AttrKind::kText},
                                         {"mode", AttrKind::kText},
                                         {"output_height", AttrKind::kInt},
                                         {"output_width", AttrKind::kInt},
                                         {"sampling_ratio", AttrKind::kInt},
                                         {"spatial_scale", AttrKind::kFloat}};
constexpr AttrSpec kPoolAttributes[] = {{"pooled_shape", AttrKind::kInts, true},
                                        {"spatial_scale", AttrKind::kFloat}};

// {regions, C, height, width}, after checking X (N x C x H x W) and the regions.
Shape pooled(const NodeView& node, int64_t numbers_per_region, int64_t height, int64_t width) {
  const Shape& x = node.input_shape(0);
  const Shape& regions = node.input_shape(1);
  TY_REQUIRE(x.rank() == 4, "input has shape {}, expected N x C x H x W", x.to_string());
  TY_REQUIRE(regions.rank() == 2 && regions[1] == numbers_per_region,
             "regions have shape {}, expected regions x {}", regions.to_string(),
             numbers_per_region);
  TY_REQUIRE(node.input_type(1).dtype == node.input_type(0).dtype, "regions are {}, expected {}",
             dtype_name(node.input_type(1).dtype), dtype_name(node.input_type(0).dtype));
  TY_REQUIRE(height >= 1 && width >= 1, "an output of {} x {} is not possible", height, width);
  const float scale = node.attr_float("spatial_scale", 1.0F);
  constexpr float kLargestScale = 1e6F;
  TY_REQUIRE(scale > 0 && scale <= kLargestScale,
             "spatial_scale is {}, expected more than 0, up to {}", scale, kLargestScale);
  return {regions[0], x[1], height, width};
}

std::vector<TensorType> infer_align(const NodeView& node) {
  const Shape y =
      pooled(node, 4, node.attr_int("output_height", 1), node.attr_int("output_width", 1));
  TY_REQUIRE(node.input_type(2) == (TensorType{DType::kI64, {y[0]}}),
             "batch indices are {}, expected {}", node.input_type(2).to_string(),
             TensorType{DType::kI64, {y[0]}}.to_string());
  const std::string mode = node.attr_text("mode", "avg");
  TY_REQUIRE(mode == "avg" || mode == "max", "mode '{}' is not one of avg, max", mode);
  const std::string corners = node.attr_text("coordinate_transformation_mode", "half_pixel");
  TY_REQUIRE(corners == "half_pixel" || corners == "output_half_pixel",
             "coordinate_transformation_mode '{}' is not one of half_pixel, output_half_pixel",
             corners);
  constexpr int64_t kMostSamples = 256;  // in each direction of a bin
  const int64_t ratio = node.attr_int("sampling_ratio", 0);
  TY_REQUIRE(0 <= ratio && ratio <= kMostSamples, "sampling_ratio is {}, expected 0 to {}", ratio,
             kMostSamples);
  return {{node.input_type(0).dtype, y}};
}

std::vector<TensorType> infer_roi_pool(const NodeView& node) {
  const std::vector<int64_t> size = node.attr_ints("pooled_shape", {});
  TY_REQUIRE(size.size() == 2, "pooled_shape has {} entries, expected height and width",
             size.size());
  return {{node.input_type(0).dtype, pooled(node, 5, size[0], size[1])}};
}

// Four MACs per sample; where the region decides their number, as many samples as there are input
// elements per channel and region are counted.
Cost cost_align(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const Shape& y = node.output_shape(0);
  const int64_t ratio = node.attr_int("sampling_ratio", 0);
  const int64_t samples = ratio > 0 ? checked_product({y.num_elements(), ratio, ratio})
                                    : checked_product({y[0], y[1], x[2], x[3]});
  Cost cost = traffic(node);
  cost.macs = checked_product({4, samples});
  cost.flops = 2 * cost.macs;
  return cost;
}

// At most one comparison per input element of a channel, for each region.
Cost cost_roi_pool(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const Shape& y = node.output_shape(0);
  Cost cost = traffic(node);
  cost.flops = checked_product({y[0], y[1], x[2], x[3]});
  return cost;
}

}  // namespace

extern const OpDef kRoiAlign = {.name = "RoiAlign",
                                .kind = OpKind::kPooling,
                                .inputs = {3, 3},
                                .attributes = kAlignAttributes,
                                .infer = infer_align,
                                .cost = cost_align};
extern const OpDef kMaxRoiPool = {.name = "MaxRoiPool",
                                  .kind = OpKind::kPooling,
                                  .inputs = {2, 2},
                                  .attributes = kPoolAttributes,
                                  .infer = infer_roi_pool,
                                  .cost = cost_roi_pool};

}  // namespace trainyard::ops

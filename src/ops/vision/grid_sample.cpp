// GridSample: reads an image (N x C x H x W) at the places a grid (N x H' x W' x 2) points to, in
// coordinates from -1 to 1.
#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kGridSampleAttributes[] = {{"align_corners", AttrKind::kInt},
                                              {"mode", AttrKind::kText},
                                              {"padding_mode", AttrKind::kText}};

std::vector<TensorType> infer_grid_sample(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const Shape& grid = node.input_shape(1);
  TY_REQUIRE(x.shape.rank() == 4, "input has shape {}, expected N x C x H x W",
             x.shape.to_string());
  TY_REQUIRE(grid.rank() == 4 && grid[0] == x.shape[0] && grid[3] == 2,
             "the grid has shape {}, expected {} x height x width x 2", grid.to_string(),
             x.shape[0]);
  const std::string mode = node.attr_text("mode", "bilinear");
  TY_REQUIRE(mode == "bilinear" || mode == "nearest" || mode == "bicubic",
             "mode '{}' is not one of bilinear, nearest, bicubic", mode);
  const std::string padding = node.attr_text("padding_mode", "zeros");
  TY_REQUIRE(padding == "zeros" || padding == "border" || padding == "reflection",
             "padding_mode '{}' is not one of zeros, border, reflection", padding);
  return {{x.dtype, {x.shape[0], x.shape[1], grid[1], grid[2]}}};
}

// One MAC per output element and neighbour, 4 or 16 of them; nearest is a copy.
Cost cost_grid_sample(const NodeView& node) {
  const std::string mode = node.attr_text("mode", "bilinear");
  Cost cost = traffic(node);
  if (mode == "nearest") return cost;
  cost.macs = node.output_shape(0).num_elements() * (mode == "bilinear" ? 4 : 16);
  cost.flops = 2 * cost.macs;
  return cost;
}

}  // namespace

extern const OpDef kGridSample = {.name = "GridSample",
                                  .kind = OpKind::kDataMovement,
                                  .inputs = {2, 2},
                                  .attributes = kGridSampleAttributes,
                                  .infer = infer_grid_sample,
                                  .cost = cost_grid_sample};

}  // namespace trainyard::ops

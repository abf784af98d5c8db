// GridSample: reads an image (N x C x H x W) at the places a grid (N x H' x W' x 2) points to, in
// coordinates from -1 to 1; volumes likewise, with one dimension more.
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
  const int64_t rank = x.shape.rank();
  TY_REQUIRE(rank == 4 || rank == 5, "input has shape {}, expected N x C x H x W or a volume",
             x.shape.to_string());
  TY_REQUIRE(grid.rank() == rank && grid[0] == x.shape[0] && grid[rank - 1] == rank - 2,
             "the grid has shape {}, expected {} x {}height x width x {}", grid.to_string(),
             x.shape[0], rank == 5 ? "depth x " : "", rank - 2);
  const std::string mode = node.attr_text("mode", "bilinear");
  TY_REQUIRE(mode == "bilinear" || mode == "nearest" || mode == "bicubic",
             "mode '{}' is not one of bilinear, nearest, bicubic", mode);
  const std::string padding = node.attr_text("padding_mode", "zeros");
  TY_REQUIRE(padding == "zeros" || padding == "border" || padding == "reflection",
             "padding_mode '{}' is not one of zeros, border, reflection", padding);
  Shape y = x.shape;
  for (int64_t i = 2; i < rank; ++i) y[i] = grid[i - 1];
  return {{x.dtype, y}};
}

// One MAC per output element and neighbor, 2 or 4 of them in each direction; nearest is a copy.
Cost cost_grid_sample(const NodeView& node) {
  const std::string mode = node.attr_text("mode", "bilinear");
  Cost cost = traffic(node);
  if (mode == "nearest") return cost;
  cost.macs = node.output_shape(0).num_elements();
  for (int64_t i = 2; i < node.input_shape(0).rank(); ++i) cost.macs *= mode == "bilinear" ? 2 : 4;
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

// RotaryEmbedding: turns pairs of a head's columns by an angle that grows with the row (Su et al.
// 2021). Cosines and sines come in tables, by position or by batch element and row.
#include "ops/nn/rotary_embedding.h"

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kRotaryAttributes[] = {{"interleaved", AttrKind::kInt},
                                          {"num_heads", AttrKind::kInt},
                                          {"rotary_embedding_dim", AttrKind::kInt}};

// One for each row, or the first of each batch element or of all.
void require_positions(const NodeView& node, const RotaryShape& r) {
  TY_REQUIRE(is_integer(node.input_type(3).dtype), "positions are {}, expected integers",
             dtype_name(node.input_type(3).dtype));
  const int64_t count = node.input_shape(3).num_elements();
  TY_REQUIRE(
      count == 1 || same_dim(count, r.batch) || same_dim(count, dim_product(r.batch, r.rows)),
      "positions have shape {}, expected one for each of {} x {} rows, or one for each of "
      "the first",
      node.input_shape(3).to_string(), r.batch, r.rows);
}

std::vector<TensorType> infer_rotary(const NodeView& node) {
  const RotaryShape r = rotary_shape(node);
  const int64_t rank = node.has_input(3) ? 2 : 3;
  for (size_t i = 1; i < 3; ++i) {
    const Shape& table = node.input_shape(i);
    TY_REQUIRE(table.rank() == rank && table[rank - 1] == r.turned / 2,
               "input {} has shape {}, expected {} dimensions of which the last is {}", i,
               table.to_string(), rank, r.turned / 2);
    const int64_t rows = node.input_shape(1)[0];
    if (rank == 2) require_dims("tables are", table, {rows, r.turned / 2});
    if (rank == 3) require_dims("tables are", table, {r.batch, r.rows, r.turned / 2});
  }
  for (size_t i = 0; i < 3; ++i) {
    TY_REQUIRE(is_float(node.input_type(i).dtype), "input {} is {}, expected floats", i,
               dtype_name(node.input_type(i).dtype));
  }
  if (node.has_input(3)) require_positions(node, r);
  return {node.input_type(0)};
}

// Four products and two sums for a pair.
Cost cost_rotary(const NodeView& node) {
  return elementwise_cost(node, 3);
}

// dy turned back: by the same cosines and the sines with their sign changed.
std::vector<ValueId> gradient_rotary(GradContext& grad) {
  std::vector<ValueId> inputs = {grad.dy(), grad.x(1), grad.add("Neg", {grad.x(2)})};
  if (grad.node().has_input(3)) inputs.push_back(grad.x(3));
  std::vector<ValueId> dx(grad.node().num_inputs(), kNoValue);
  dx[0] = grad.add("RotaryEmbedding", std::move(inputs), grad.attributes());
  return dx;
}

}  // namespace

RotaryShape rotary_shape(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  TY_REQUIRE(x.rank() == 3 || x.rank() == 4,
             "input has shape {}, expected three or four dimensions", x.to_string());
  RotaryShape r;
  r.batch = x[0];
  if (x.rank() == 4) {
    r.heads = x[1];
    r.rows = x[2];
    r.depth = x[3];
    r.strides = {r.heads * r.rows * r.depth, r.rows * r.depth, r.depth};
  } else {
    r.heads = node.attr_int("num_heads", 0);
    TY_REQUIRE(x.rank() == 3 && r.heads > 0 && x[2] % r.heads == 0,
               "input of shape {} cannot be cut into {} heads", x.to_string(), r.heads);
    r.rows = x[1];
    r.depth = x[2] / r.heads;
    r.strides = {r.rows * x[2], r.depth, x[2]};
  }
  const int64_t given = node.attr_int("rotary_embedding_dim", 0);
  r.turned = given > 0 ? given : r.depth;
  TY_REQUIRE(r.turned % 2 == 0 && 0 <= r.turned && r.turned <= r.depth,
             "rotary_embedding_dim is {}, expected an even number up to {}", r.turned, r.depth);
  r.interleaved = node.attr_int("interleaved", 0) != 0;
  return r;
}

// Inputs: x, cosines, sines, positions.
extern const OpDef kRotaryEmbedding = {.name = "RotaryEmbedding",
                                       .kind = OpKind::kElementwise,
                                       .inputs = {3, 4},
                                       .attributes = kRotaryAttributes,
                                       .infer = infer_rotary,
                                       .cost = cost_rotary,
                                       .gradient = gradient_rotary};

}  // namespace trainyard::ops

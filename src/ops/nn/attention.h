// The sizes of an Attention node, shared by inference and kernels.
#pragma once

#include <cstdint>

#include "ir/node_view.h"

namespace trainyard::ops {

// Where element (batch, head, row, column) of an operand lies: the columns of a row are dense.
struct HeadStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;

  int64_t at(int64_t b, int64_t h, int64_t r) const { return b * batch + h * head + r * row; }
};

// Operands are batch x heads x rows x columns, or batch x rows x (heads x columns).
struct AttentionShape {
  int64_t batch = 0;
  int64_t query_heads = 0;
  int64_t heads = 0;    // of keys and values; query_heads is a multiple of it
  int64_t queries = 0;  // rows
  int64_t keys = 0;     // rows that come with this call
  int64_t past = 0;     // rows kept from calls before
  int64_t depth = 0;    // columns of queries and keys
  int64_t value_depth = 0;
  HeadStrides q, k, v, y;
  double scale = 1;
  double softcap = 0;  // 0: none
  bool causal = false;

  int64_t total() const { return past + keys; }
};

// Throws Error for operands that do not fit; dimensions may be unknown.
AttentionShape attention_shape(const NodeView& node);
// Of a node whose first three inputs are queries, keys and values, whatever the others are.
AttentionShape attention_heads(const NodeView& node);
// Throws Error for a mask that cannot be stretched over the scores.
void require_attention_mask(const Shape& mask, const AttentionShape& a);

// The mask's strides over batch, head, query and key; 0 where it is stretched. `length` is how many
// keys it speaks of; those beyond are masked.
struct MaskStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
  int64_t length = 0;
};
MaskStrides mask_strides(const Shape& mask);

}  // namespace trainyard::ops

// What kernels of Attention have in common: which nodes they take, and keys and values of this call
// joined to those of calls before.
#pragma once

#include <string_view>

#include "engine/kernels/api/kernel.h"
#include "ops/nn/attention.h"

namespace trainyard::kernels::native {

inline constexpr size_t kAttentionMask = 3;

// f32, no lengths, no softcap, scores not wanted, a mask (if any) of all keys.
std::string_view refuses_attention(const NodeView& node);

// Rows of keys or of values, where a kernel reads them.
struct AttentionRows {
  const float* data = nullptr;
  ops::HeadStrides strides;
};

class AttentionOperands {
 public:
  explicit AttentionOperands(const NodeView& node);

  const ops::AttentionShape& shape() const { return a_; }
  // Floats of scratch that join() needs, a multiple of 16: for rows that no output holds.
  int64_t scratch_floats() const;
  // Copies what has to be copied: with a past, or where outputs ask for the rows of all calls.
  struct Joined {
    AttentionRows keys;
    AttentionRows values;
  };
  Joined join(const KernelArgs& args, float* scratch) const;

 private:
  AttentionRows join_rows(const KernelArgs& args, size_t operand, const ops::HeadStrides& strides,
                          int64_t columns, float* scratch) const;

  ops::AttentionShape a_;
  bool keeps_[2] = {false, false};  // are keys, values of all calls an output
};

}  // namespace trainyard::kernels::native

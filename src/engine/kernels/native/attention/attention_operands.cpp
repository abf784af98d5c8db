#include "engine/kernels/native/attention/attention_operands.h"

#include <algorithm>

#include "engine/kernels/api/refusals.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

constexpr size_t kKeys = 1;
constexpr size_t kValues = 2;
constexpr size_t kToPast = 3;  // from keys to past keys among the inputs

int64_t floats_of(const ops::AttentionShape& a, int64_t columns) {
  constexpr int64_t kAligned = 16;
  return (a.batch * a.heads * a.total() * columns + kAligned - 1) / kAligned * kAligned;
}

}  // namespace

std::string_view refuses_attention(const NodeView& node) {
  for (const size_t i : {0, 1, 2, 4, 5}) {
    if (node.has_input(i) && node.input_type(i).dtype != DType::kF32) return kOnlyF32;
  }
  if (node.output_shape(0).num_elements() == 0) return "an operand is empty";
  if (node.has_input(6)) return "lengths are not implemented";
  if (node.has_output(3)) return "scores as an output are not implemented";
  const ops::AttentionShape a = ops::attention_shape(node);
  if (a.softcap != 0) return "softcap is not implemented";
  if (a.total() == 0 || a.depth == 0) return "an operand is empty";
  if (!node.has_input(kAttentionMask)) return "";
  const DType mask = node.input_type(kAttentionMask).dtype;
  if (mask != DType::kF32 && mask != DType::kBool) return "only f32 and bool masks are implemented";
  const Shape& shape = node.input_shape(kAttentionMask);
  return shape.dim(-1) == a.total() ? "" : "a mask of other length is not implemented";
}

AttentionOperands::AttentionOperands(const NodeView& node)
    : a_(ops::attention_shape(node)), keeps_{node.has_output(kKeys), node.has_output(kValues)} {}

int64_t AttentionOperands::scratch_floats() const {
  if (a_.past == 0) return 0;
  return (keeps_[0] ? 0 : floats_of(a_, a_.depth)) +
         (keeps_[1] ? 0 : floats_of(a_, a_.value_depth));
}

AttentionOperands::Joined AttentionOperands::join(const KernelArgs& args, float* scratch) const {
  return {join_rows(args, kKeys, a_.k, a_.depth, scratch),
          join_rows(args, kValues, a_.v, a_.value_depth,
                    scratch + (keeps_[0] ? 0 : floats_of(a_, a_.depth)))};
}

AttentionRows AttentionOperands::join_rows(const KernelArgs& args, size_t operand,
                                           const ops::HeadStrides& strides, int64_t columns,
                                           float* scratch) const {
  const auto* now = args.inputs[operand].as<const float>();
  const bool keeps = keeps_[operand - kKeys];
  if (a_.past == 0 && !keeps) return {now, strides};
  const float* past = a_.past == 0 ? nullptr : args.inputs[operand + kToPast].as<const float>();
  float* all = keeps ? args.outputs[operand].as<float>() : scratch;
  parallel_for(a_.batch * a_.heads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* to = all + i * a_.total() * columns;
      if (past != nullptr) to = std::copy_n(past + i * a_.past * columns, a_.past * columns, to);
      const float* from = now + strides.at(i / a_.heads, i % a_.heads, 0);
      for (int64_t row = 0; row < a_.keys; ++row) {
        to = std::copy_n(from + row * strides.row, columns, to);
      }
    }
  });
  const int64_t head = a_.total() * columns;
  return {all, {a_.heads * head, head, columns}};
}

}  // namespace trainyard::kernels::native

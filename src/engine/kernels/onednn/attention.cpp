// Attention by the library's matrix product, head by head: operands are read where they lie, so
// that heads side by side in a row need no transposing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "engine/kernels/native/attention/attention_operands.h"
#include "engine/kernels/native/norm/softmax_rows.h"
#include "engine/kernels/onednn/dnnl.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::onednn {
namespace {

using native::kAttentionMask;
// Rows of queries in one piece of work: their scores stay in cache.
constexpr int64_t kMostRows = 64;

std::string_view refuses_attention_by_heads(const NodeView& node) {
  if (!native::softmax_rows_possible()) return "the processor lacks AVX2 or FMA";
  return native::refuses_attention(node);
}

class AttentionByHeads final : public Kernel {
 public:
  explicit AttentionByHeads(const NodeView& node)
      : operands_(node),
        a_(operands_.shape()),
        threads_(threads()),
        rows_(std::min(a_.queries, kMostRows)) {
    if (node.has_input(kAttentionMask)) mask_ = ops::mask_strides(node.input_shape(kAttentionMask));
  }

  void run(const KernelArgs& args) const override {
    const int64_t blocks = (a_.queries + rows_ - 1) / rows_;
    const int64_t pieces = a_.batch * a_.query_heads * blocks;
    auto* scratch = reinterpret_cast<float*>(args.scratch.data());
    const native::AttentionOperands::Joined joined = operands_.join(args, scratch);
    scratch += operands_.scratch_floats();
    // Pieces are dealt out in turns, as those of a causal mask grow.
    const int64_t workers = std::min<int64_t>(threads_, pieces);
    parallel_for(workers, [&](int64_t begin, int64_t end) {
      for (int64_t worker = begin; worker < end; ++worker) {
        float* scores = scratch + worker * rows_ * a_.total();
        for (int64_t i = worker; i < pieces; i += workers) {
          run_piece(args, joined, i / blocks, i % blocks * rows_, scores);
        }
      }
    });
  }
  int64_t scratch_bytes() const override {
    return (operands_.scratch_floats() + threads_ * rows_ * a_.total()) *
           static_cast<int64_t>(sizeof(float));
  }
  std::string detail() const override { return "gemm by heads"; }

 private:
  void run_piece(const KernelArgs& args, const native::AttentionOperands::Joined& joined,
                 int64_t batch_head, int64_t first, float* scores) const {
    const int64_t b = batch_head / a_.query_heads;
    const int64_t h = batch_head % a_.query_heads;
    const int64_t kv = h / (a_.query_heads / a_.heads);
    const int64_t rows = std::min(rows_, a_.queries - first);
    // Keys that none of these queries may see are left out.
    const int64_t keys = a_.causal ? std::min(a_.total(), a_.past + first + rows) : a_.total();
    dnnl_sgemm('N', 'T', rows, keys, a_.depth, static_cast<float>(a_.scale),
               args.inputs[0].as<float>() + a_.q.at(b, h, first), a_.q.row,
               joined.keys.data + joined.keys.strides.at(b, kv, 0), joined.keys.strides.row, 0.0F,
               scores, keys);
    for (int64_t i = 0; i < rows; ++i) {
      float* row = scores + i * keys;
      add_mask(args, b, h, first + i, row, keys);
      const int64_t visible = a_.causal ? std::min(keys, a_.past + first + i + 1) : keys;
      native::softmax_row(row, visible);
      std::fill(row + visible, row + keys, 0.0F);
    }
    dnnl_sgemm('N', 'N', rows, a_.value_depth, keys, 1.0F, scores, keys,
               joined.values.data + joined.values.strides.at(b, kv, 0), joined.values.strides.row,
               0.0F, args.outputs[0].as<float>() + a_.y.at(b, h, first), a_.y.row);
  }

  void add_mask(const KernelArgs& args, int64_t b, int64_t h, int64_t i, float* row,
                int64_t keys) const {
    if (mask_.length == 0) return;
    const TensorView& mask = args.inputs[kAttentionMask];
    const int64_t at = b * mask_.batch + h * mask_.head + i * mask_.row;
    if (mask.dtype == DType::kBool) {
      const bool* seen = mask.as<bool>() + at;
      constexpr float kHidden = -std::numeric_limits<float>::infinity();
      for (int64_t j = 0; j < keys; ++j) row[j] = seen[j] ? row[j] : kHidden;
      return;
    }
    const float* added = mask.as<float>() + at;
    for (int64_t j = 0; j < keys; ++j) row[j] += added[j];
  }

  native::AttentionOperands operands_;
  const ops::AttentionShape& a_;
  ops::MaskStrides mask_;
  int threads_;
  int64_t rows_;
};

std::unique_ptr<Kernel> create_attention(const NodeView& node) {
  return std::make_unique<AttentionByHeads>(node);
}

}  // namespace

extern const KernelDef kAttention = {.op = "Attention",
                                     .library = "onednn",
                                     .refuses = refuses_attention_by_heads,
                                     .create = create_attention};

}  // namespace trainyard::kernels::onednn

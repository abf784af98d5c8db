// Attention by the library's matrix product, head by head: operands are read where they lie, so
// that heads side by side in a row need no transposing.
#include "ops/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/native/norm/softmax_rows.h"
#include "kernels/onednn/dnnl.h"
#include "kernels/parallel/parallel.h"

namespace trainyard::kernels::onednn {
namespace {

constexpr size_t kMaskInput = 3;
// Rows of queries in one piece of work: their scores stay in cache.
constexpr int64_t kMostRows = 64;

std::string_view refuses_attention(const NodeView& node) {
  for (size_t i = 0; i < 3; ++i) {
    if (node.input_type(i).dtype != DType::kF32) return "only f32 is implemented";
  }
  if (!native::softmax_rows_possible()) return "the processor lacks AVX2 or FMA";
  if (node.output_shape(0).num_elements() == 0) return "an operand is empty";
  if (node.has_input(4)) return "keys of calls before are not implemented";
  if (node.has_input(6)) return "lengths are not implemented";
  for (size_t i = 1; i < 4; ++i) {
    if (node.has_output(i)) return "only the first output is implemented";
  }
  const ops::AttentionShape a = ops::attention_shape(node);
  if (a.softcap != 0) return "softcap is not implemented";
  if (a.keys == 0) return "an operand is empty";
  if (!node.has_input(kMaskInput)) return "";
  const DType mask = node.input_type(kMaskInput).dtype;
  if (mask != DType::kF32 && mask != DType::kBool) return "only f32 and bool masks are implemented";
  const Shape& shape = node.input_shape(kMaskInput);
  return shape[shape.rank() - 1] == a.keys ? "" : "a mask of other length is not implemented";
}

class AttentionByHeads final : public Kernel {
 public:
  explicit AttentionByHeads(const NodeView& node)
      : a_(ops::attention_shape(node)),
        threads_(threads()),
        rows_(std::min(a_.queries, kMostRows)) {
    if (node.has_input(kMaskInput)) mask_ = ops::mask_strides(node.input_shape(kMaskInput));
  }

  void run(const KernelArgs& args) const override {
    const int64_t blocks = (a_.queries + rows_ - 1) / rows_;
    const int64_t pieces = a_.batch * a_.query_heads * blocks;
    auto* scratch = reinterpret_cast<float*>(args.scratch.data());
    // Pieces are dealt out in turns, as those of a causal mask grow.
    const int64_t workers = std::min<int64_t>(threads_, pieces);
    parallel_for(workers, [&](int64_t begin, int64_t end) {
      for (int64_t worker = begin; worker < end; ++worker) {
        float* scores = scratch + worker * rows_ * a_.keys;
        for (int64_t i = worker; i < pieces; i += workers) {
          run_piece(args, i / blocks, i % blocks * rows_, scores);
        }
      }
    });
  }
  int64_t scratch_bytes() const override {
    return threads_ * rows_ * a_.keys * static_cast<int64_t>(sizeof(float));
  }
  std::string detail() const override { return "gemm by heads"; }

 private:
  void run_piece(const KernelArgs& args, int64_t batch_head, int64_t first, float* scores) const {
    const int64_t b = batch_head / a_.query_heads;
    const int64_t h = batch_head % a_.query_heads;
    const int64_t kv = h / (a_.query_heads / a_.heads);
    const int64_t rows = std::min(rows_, a_.queries - first);
    // Keys that none of these queries may see are left out.
    const int64_t keys = a_.causal ? std::min(a_.keys, first + rows) : a_.keys;
    dnnl_sgemm('N', 'T', rows, keys, a_.depth, static_cast<float>(a_.scale),
               args.inputs[0].as<float>() + a_.q.at(b, h, first), a_.q.row,
               args.inputs[1].as<float>() + a_.k.at(b, kv, 0), a_.k.row, 0.0F, scores, keys);
    for (int64_t i = 0; i < rows; ++i) {
      float* row = scores + i * keys;
      add_mask(args, b, h, first + i, row, keys);
      const int64_t visible = a_.causal ? std::min(keys, first + i + 1) : keys;
      native::softmax_row(row, visible);
      std::fill(row + visible, row + keys, 0.0F);
    }
    dnnl_sgemm('N', 'N', rows, a_.value_depth, keys, 1.0F, scores, keys,
               args.inputs[2].as<float>() + a_.v.at(b, kv, 0), a_.v.row, 0.0F,
               args.outputs[0].as<float>() + a_.y.at(b, h, first), a_.y.row);
  }

  void add_mask(const KernelArgs& args, int64_t b, int64_t h, int64_t i, float* row,
                int64_t keys) const {
    if (mask_.length == 0) return;
    const TensorView& mask = args.inputs[kMaskInput];
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

  ops::AttentionShape a_;
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
                                     .refuses = refuses_attention,
                                     .create = create_attention};

}  // namespace trainyard::kernels::onednn

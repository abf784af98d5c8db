// The gradients of Attention. For each head of keys, blocks of up to 48 queries one after the
// other: their scores and shares are computed again, so that a block of them is all that is ever in
// memory, and every product is one of tiles. Lanes of vectors are queries, rows are keys.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/attention/attention_grad_block.h"
#include "engine/kernels/native/attention/wide_softmax.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/wide_tile.h"
#include "engine/kernels/native/parallel.h"
#include "ops/nn/attention.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kGradLanes = kWideVectors * kWideLanes;
constexpr size_t kGradMask = 4;
constexpr float kUnseenScore = -std::numeric_limits<float>::infinity();

int64_t pieces_of(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

std::string_view refuses_attention_grad(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  for (size_t i = 0; i < 4; ++i) {
    if (node.input_type(i).dtype != DType::kF32) return kOnlyF32;
  }
  const ops::AttentionShape a = ops::attention_heads(node);
  if (a.batch * a.query_heads * a.queries * a.keys * a.depth * a.value_depth == 0) {
    return "an operand is empty";
  }
  if (!node.has_input(kGradMask)) return "";
  const DType mask = node.input_type(kGradMask).dtype;
  if (mask != DType::kF32 && mask != DType::kBool) return "only f32 and bool masks are implemented";
  return node.input_shape(kGradMask).dim(-1) == a.keys
             ? ""
             : "a mask of other length is not implemented";
}

class AttentionGrad final : public Kernel {
 public:
  explicit AttentionGrad(const NodeView& node)
      : a_(ops::attention_heads(node)),
        threads_(threads()),
        wide_(cpu_has_avx512()),
        lanes_(std::min(kGradLanes, pieces_of(a_.queries, kWideLanes) * kWideLanes)) {
    if (!node.has_input(kGradMask)) return;
    mask_ = ops::mask_strides(node.input_shape(kGradMask));
    bool_mask_ = node.input_type(kGradMask).dtype == DType::kBool;
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch.data());
    const int64_t heads = a_.batch * a_.heads;
    const int64_t workers = std::min<int64_t>(threads_, heads);
    parallel(static_cast<int>(workers), [&](int worker) {
      for (int64_t i = worker; i < heads; i += workers) {
        SharedHead(*this, args, i / a_.heads, i % a_.heads, scratch + worker * worker_floats())
            .run();
      }
    });
  }
  int64_t scratch_bytes() const override {
    return threads_ * worker_floats() * static_cast<int64_t>(sizeof(float));
  }
  std::string detail() const override { return wide_ ? "for AVX-512" : "for AVX2"; }

 private:
  // Queries [depth][lanes], dy [value depth][lanes], shares and their gradients [key][lanes], and
  // two numbers for each lane.
  int64_t worker_floats() const { return (a_.depth + a_.value_depth + 2 * a_.keys + 2) * lanes_; }

  // Everything that one head of keys and values takes part in.
  class SharedHead {
   public:
    SharedHead(const AttentionGrad& kernel, const KernelArgs& args, int64_t batch, int64_t kv,
               float* scratch)
        : k_(kernel),
          a_(kernel.a_),
          args_(args),
          batch_(batch),
          kv_(kv),
          queries_(scratch),
          dy_(queries_ + a_.depth * k_.lanes_),
          shares_(dy_ + a_.value_depth * k_.lanes_),
          slopes_(shares_ + a_.keys * k_.lanes_),
          factors_(slopes_ + a_.keys * k_.lanes_),
          visible_(reinterpret_cast<int32_t*>(factors_ + k_.lanes_)) {}

    void run() {
      clear(1, a_.k, a_.depth);
      clear(2, a_.v, a_.value_depth);
      const int64_t group = a_.query_heads / a_.heads;
      for (head_ = kv_ * group; head_ < (kv_ + 1) * group; ++head_) {
        for (first_ = 0; first_ < a_.queries; first_ += k_.lanes_) run_block();
      }
    }

   private:
    const float* input(size_t index, const ops::HeadStrides& strides, int64_t head,
                       int64_t row) const {
      return args_.inputs[index].as<const float>() + strides.at(batch_, head, row);
    }
    float* output(size_t index, const ops::HeadStrides& strides, int64_t head, int64_t row) const {
      return args_.outputs[index].as<float>() + strides.at(batch_, head, row);
    }

    void clear(size_t index, const ops::HeadStrides& strides, int64_t columns) {
      for (int64_t row = 0; row < a_.keys; ++row) {
        std::fill_n(output(index, strides, kv_, row), columns, 0.0F);
      }
    }

    void run_block() {
      count_ = std::min(k_.lanes_, a_.queries - first_);
      width_ = pieces_of(count_, kWideLanes) * kWideLanes;
      pack(0, a_.q, a_.depth, queries_);
      pack(3, a_.y, a_.value_depth, dy_);
      seen_ = a_.causal ? std::min(a_.keys, first_ + count_) : a_.keys;
      by_lane(1, a_.k, queries_, a_.depth, static_cast<float>(a_.scale), shares_);
      add_mask();
      soften();
      by_lane(2, a_.v, dy_, a_.value_depth, 1, slopes_);
      finish_slopes({.shares = shares_,
                     .slopes = slopes_,
                     .factors = factors_,
                     .keys = seen_,
                     .width = width_,
                     .scale = static_cast<float>(a_.scale)});
      by_key(shares_, 3, a_.y, a_.value_depth, output(2, a_.v, kv_, 0), a_.v.row);
      by_key(slopes_, 0, a_.q, a_.depth, output(1, a_.k, kv_, 0), a_.k.row);
      slopes_by_keys();
    }

    // Rows as lanes. Lanes without a query repeat the last one, whose result is not used.
    void pack(size_t index, const ops::HeadStrides& strides, int64_t columns, float* to) const {
      for (int64_t lane = 0; lane < width_; ++lane) {
        const float* row = input(index, strides, head_, first_ + std::min(lane, count_ - 1));
        for (int64_t c = 0; c < columns; ++c) to[c * width_ + lane] = row[c];
      }
    }

    void multiply(int64_t rows, const WideTile& tile) const {
      if (k_.wide_) {
        wide_tile(rows, pieces_of(tile.columns, kWideLanes))(tile);
      } else {
        plain_tile(rows, tile);
      }
    }

    // [key][lane] = rows of keys or values times what is packed.
    void by_lane(size_t index, const ops::HeadStrides& strides, const float* packed, int64_t depth,
                 float factor, float* to) const {
      const WideFinish finish{.factor = factor};
      WideTile tile;
      tile.a_stride = strides.row;
      tile.b = packed;
      tile.b_stride = width_;
      tile.depth = depth;
      tile.columns = width_;
      tile.c_stride = width_;
      tile.finish = &finish;
      for (int64_t key = 0; key < seen_; key += kWideRows) {
        tile.a = input(index, strides, kv_, key);
        tile.c = to + key * width_;
        multiply(std::min(kWideRows, seen_ - key), tile);
      }
    }

    void add_mask() const {
      if (k_.mask_.length == 0) return;
      for (int64_t lane = 0; lane < count_; ++lane) {
        const int64_t place =
            batch_ * k_.mask_.batch + head_ * k_.mask_.head + (first_ + lane) * k_.mask_.row;
        for (int64_t key = 0; key < seen_; ++key) {
          float& score = shares_[key * width_ + lane];
          if (!k_.bool_mask_) {
            score += args_.inputs[kGradMask].as<const float>()[place + key];
          } else if (!args_.inputs[kGradMask].as<const bool>()[place + key]) {
            score = kUnseenScore;
          }
        }
      }
    }

    // exp(score - largest), and what makes shares of it.
    void soften() const {
      for (int64_t lane = 0; lane < width_; ++lane) {
        const int64_t row = first_ + std::min(lane, count_ - 1);
        visible_[lane] = static_cast<int32_t>(std::min(a_.keys, row + 1));
      }
      WideSoftmax job;
      job.scores = shares_;
      job.keys = seen_;
      job.vectors = width_ / kWideLanes;
      job.visible = a_.causal ? visible_ : nullptr;
      job.factors = factors_;
      k_.wide_ ? wide_softmax(job) : plain_softmax(job);
    }

    // Rows of keys += [key][lane] times rows of this block, columns in panels.
    void by_key(const float* weights, size_t index, const ops::HeadStrides& strides,
                int64_t columns, float* to, int64_t to_row) const {
      const WideFinish finish;
      WideTile tile;
      tile.a_stride = width_;
      tile.b_stride = strides.row;
      tile.depth = count_;
      tile.c_stride = to_row;
      tile.finish = &finish;
      for (int64_t column = 0; column < columns; column += kGradLanes) {
        tile.columns = std::min(kGradLanes, columns - column);
        tile.b = input(index, strides, head_, first_) + column;
        for (int64_t key = 0; key < seen_; key += kWideRows) {
          tile.a = weights + key * width_;
          tile.c = to + key * to_row + column;
          tile.added = tile.c;
          multiply(std::min(kWideRows, seen_ - key), tile);
        }
      }
    }

    void slopes_by_keys() const {
      const WideFinish finish;
      WideTile tile;
      tile.a_stride = 1;
      tile.a_step = width_;
      tile.b_stride = a_.k.row;
      tile.depth = seen_;
      tile.c_stride = a_.q.row;
      tile.finish = &finish;
      for (int64_t column = 0; column < a_.depth; column += kGradLanes) {
        tile.columns = std::min(kGradLanes, a_.depth - column);
        tile.b = input(1, a_.k, kv_, 0) + column;
        for (int64_t lane = 0; lane < count_; lane += kWideRows) {
          tile.a = slopes_ + lane;
          tile.c = output(0, a_.q, head_, first_ + lane) + column;
          multiply(std::min(kWideRows, count_ - lane), tile);
        }
      }
    }

    const AttentionGrad& k_;
    const ops::AttentionShape& a_;
    const KernelArgs& args_;
    int64_t batch_, kv_;
    int64_t head_ = 0;   // of the queries
    int64_t first_ = 0;  // query of the block
    int64_t count_ = 0;  // of its queries
    int64_t width_ = 0;  // lanes that hold them
    int64_t seen_ = 0;   // keys that some of them may see
    float* queries_;
    float* dy_;
    float* shares_;
    float* slopes_;
    float* factors_;
    int32_t* visible_;
  };

  ops::AttentionShape a_;
  ops::MaskStrides mask_;
  bool bool_mask_ = false;
  int threads_;
  bool wide_;
  int64_t lanes_;  // queries of a block, at most
};

std::unique_ptr<Kernel> create_attention_grad(const NodeView& node) {
  return std::make_unique<AttentionGrad>(node);
}

}  // namespace

extern const KernelDef kAttentionGrad = {.op = "AttentionGrad",
                                         .library = "native",
                                         .refuses = refuses_attention_grad,
                                         .create = create_attention_grad};

}  // namespace trainyard::kernels::native

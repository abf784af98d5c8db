// Attention for AVX-512. Scores are computed key by key, with up to 48 queries side by side in
// vectors: only these queries are packed, keys and values are read where they lie, and the sums of
// softmax need nothing across lanes. The queries of all heads that share keys go together.
#include <algorithm>
#include <limits>

#include "engine/kernels/native/attention/attention_operands.h"
#include "engine/kernels/native/attention/wide_softmax.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/wide_tile.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kMostQueries = kWideVectors * kWideLanes;

int64_t up(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

std::string_view refuses_wide_attention(const NodeView& node) {
  if (!cpu_has_avx512()) return "the processor lacks AVX-512";
  if (const std::string_view why = refuses_attention(node); !why.empty()) return why;
  if (!node.has_input(kAttentionMask)) return "";
  if (node.input_type(kAttentionMask).dtype != DType::kF32) return "only f32 masks are implemented";
  return node.input_shape(kAttentionMask).num_elements() <= std::numeric_limits<int32_t>::max()
             ? ""
             : "the mask is too large";
}

class WideAttention final : public Kernel {
 public:
  explicit WideAttention(const NodeView& node)
      : operands_(node),
        a_(operands_.shape()),
        threads_(threads()),
        group_(a_.query_heads / a_.heads),
        vectors_(up(group_ * a_.queries, kWideLanes)),
        blocks_(up(vectors_, kWideVectors)),
        lanes_(up(vectors_, blocks_) * kWideLanes) {
    if (node.has_input(kAttentionMask)) {
      mask_ = ops::mask_strides(node.input_shape(kAttentionMask));
    }
  }

  void run(const KernelArgs& args) const override {
    auto* scratch = reinterpret_cast<float*>(args.scratch.data());
    const AttentionOperands::Joined joined = operands_.join(args, scratch);
    scratch += operands_.scratch_floats();
    const int64_t pieces = a_.batch * a_.heads * blocks_;
    // Pieces are dealt out in turns, forwards and backwards, as those of a causal mask grow.
    const int64_t workers = std::min<int64_t>(threads_, pieces);
    parallel_for(workers, [&](int64_t begin, int64_t end) {
      for (int64_t worker = begin; worker < end; ++worker) {
        for (int64_t turn = 0; turn * workers < pieces; ++turn) {
          const int64_t i = turn * workers + (turn % 2 == 0 ? worker : workers - 1 - worker);
          if (i >= pieces) break;
          Piece(*this, args, joined, i / blocks_, part_of(vectors_, blocks_, i % blocks_),
                scratch + worker * floats_per_worker())
              .run();
        }
      }
    });
  }
  int64_t scratch_bytes() const override {
    return (operands_.scratch_floats() + threads_ * floats_per_worker()) *
           static_cast<int64_t>(sizeof(float));
  }
  std::string detail() const override { return "for AVX-512"; }

 private:
  // Queries [depth][lanes], scores [key][lanes], three numbers for each lane.
  int64_t floats_per_worker() const { return (a_.depth + a_.total() + 3) * lanes_; }

  // The queries of some vectors, of the heads that share keys `kv`.
  class Piece {
   public:
    Piece(const WideAttention& kernel, const KernelArgs& args,
          const AttentionOperands::Joined& joined, int64_t batch_head, Range vectors,
          float* scratch)
        : k_(kernel),
          a_(kernel.a_),
          args_(args),
          batch_(batch_head / a_.heads),
          kv_(batch_head % a_.heads),
          first_(vectors.begin * kWideLanes),
          vectors_(vectors.size()),
          width_(vectors_ * kWideLanes),
          count_(std::min(width_, k_.group_ * a_.queries - first_)),
          keys_(joined.keys.data + joined.keys.strides.at(batch_, kv_, 0)),
          values_(joined.values.data + joined.values.strides.at(batch_, kv_, 0)),
          key_row_(joined.keys.strides.row),
          value_row_(joined.values.strides.row),
          queries_(scratch),
          scores_(scratch + a_.depth * k_.lanes_),
          factors_(scores_ + a_.total() * k_.lanes_),
          visible_(reinterpret_cast<int32_t*>(factors_ + k_.lanes_)),
          offsets_(visible_ + k_.lanes_) {}

    void run() {
      pack_queries();
      multiply_keys();
      WideSoftmax job;
      job.scores = scores_;
      job.keys = seen_;
      job.vectors = vectors_;
      job.visible = a_.causal ? visible_ : nullptr;
      job.factors = factors_;
      if (k_.mask_.length != 0) {
        job.mask = args_.inputs[kAttentionMask].as<const float>();
        job.lane_offset = offsets_;
        job.same_mask = std::all_of(offsets_, offsets_ + width_,
                                    [&](int32_t offset) { return offset == offsets_[0]; });
      }
      wide_softmax(job);
      multiply_values();
    }

   private:
    int64_t head_of(int64_t lane) const { return kv_ * k_.group_ + (first_ + lane) / a_.queries; }
    int64_t row_of(int64_t lane) const { return (first_ + lane) % a_.queries; }

    // Lanes without a query repeat the last one, whose result is not stored.
    void pack_queries() {
      seen_ = a_.causal ? 0 : a_.total();
      for (int64_t lane = 0; lane < width_; ++lane) {
        const int64_t taken = std::min(lane, count_ - 1);
        const int64_t row = row_of(taken);
        const int64_t head = head_of(taken);
        const float* q = args_.inputs[0].as<const float>() + a_.q.at(batch_, head, row);
        for (int64_t d = 0; d < a_.depth; ++d) queries_[d * width_ + lane] = q[d];
        const int64_t visible = std::min(a_.total(), row + a_.past + 1);
        visible_[lane] = static_cast<int32_t>(visible);
        offsets_[lane] = static_cast<int32_t>(batch_ * k_.mask_.batch + head * k_.mask_.head +
                                              row * k_.mask_.row);
        if (a_.causal) seen_ = std::max(seen_, visible);
      }
    }

    void multiply_keys() {
      const WideFinish finish{.factor = static_cast<float>(a_.scale)};
      WideTile tile;
      tile.a_stride = key_row_;
      tile.b = queries_;
      tile.b_stride = width_;
      tile.depth = a_.depth;
      tile.columns = width_;
      tile.c_stride = width_;
      tile.finish = &finish;
      for (int64_t key = 0; key < seen_; key += kWideRows) {
        tile.a = keys_ + key * key_row_;
        tile.c = scores_ + key * width_;
        wide_tile(std::min(kWideRows, seen_ - key), vectors_)(tile);
      }
    }

    // Columns in panels of nearly equal width.
    void multiply_values() {
      const WideFinish finish;
      const int64_t panels = up(a_.value_depth, kMostQueries);
      const int64_t vectors = up(up(a_.value_depth, kWideLanes), panels);
      WideTile tile;
      tile.a_stride = 1;
      tile.a_step = width_;
      tile.b_stride = value_row_;
      tile.depth = seen_;
      tile.finish = &finish;
      tile.c_stride = a_.y.row;
      for (int64_t lane = 0; lane < count_;) {
        // Rows of one head only: the next begins elsewhere.
        const int64_t rows = std::min({kWideRows, count_ - lane, a_.queries - row_of(lane)});
        float* y = args_.outputs[0].as<float>() + a_.y.at(batch_, head_of(lane), row_of(lane));
        tile.a = scores_ + lane;
        for (int64_t column = 0; column < a_.value_depth; column += vectors * kWideLanes) {
          tile.b = values_ + column;
          tile.c = y + column;
          tile.columns = std::min(vectors * kWideLanes, a_.value_depth - column);
          wide_tile(rows, up(tile.columns, kWideLanes))(tile);
        }
        for (int64_t r = 0; r < rows; ++r) {
          wide_scale(y + r * a_.y.row, a_.value_depth, factors_[lane + r]);
        }
        lane += rows;
      }
    }

    const WideAttention& k_;
    const ops::AttentionShape& a_;
    const KernelArgs& args_;
    int64_t batch_, kv_, first_;
    int64_t vectors_;   // that hold the queries
    int64_t width_;     // lanes of these
    int64_t count_;     // of queries
    int64_t seen_ = 0;  // keys that some query may see
    const float* keys_;
    const float* values_;
    int64_t key_row_, value_row_;
    float* queries_;
    float* scores_;
    float* factors_;
    int32_t* visible_;
    int32_t* offsets_;
  };

  AttentionOperands operands_;
  const ops::AttentionShape& a_;
  ops::MaskStrides mask_;
  int threads_;
  int64_t group_;    // heads of queries that share keys
  int64_t vectors_;  // that hold the queries of these
  int64_t blocks_;   // of nearly as many vectors, so that threads have equal work
  int64_t lanes_;    // queries of a block, at most
};

std::unique_ptr<Kernel> create_wide_attention(const NodeView& node) {
  return std::make_unique<WideAttention>(node);
}

}  // namespace

extern const KernelDef kAttention = {.op = "Attention",
                                     .library = "native",
                                     .refuses = refuses_wide_attention,
                                     .create = create_wide_attention};

}  // namespace trainyard::kernels::native

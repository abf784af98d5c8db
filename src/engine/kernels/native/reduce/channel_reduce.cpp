// ReduceSum to one number per channel: what the gradient of a bias is.
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/norm/channel_sums.h"
#include "ops/math/reduce.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_channel_reduce(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  const Shape& x = node.input_shape(0);
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (x.rank() < 2) return "data without channels are not implemented";
  if (x.num_elements() == 0) return "the input is empty";
  const auto reduced = ops::reduced_axes(node);
  if (!reduced) return "the axes are not known before the run";
  for (size_t i = 0; i < reduced->size(); ++i) {
    if ((*reduced)[i] == (i == 1)) return "only sums to one number per channel are implemented";
  }
  return "";
}

class OfBlocks final : public Kernel {
 public:
  OfBlocks(const NodeView& node, const NodeLayouts& layouts)
      : channels_(node.input_shape(0)[1]), x_(planes_of(node.input_shape(0), layouts.inputs[0])) {}

  void run(const KernelArgs& args) const override {
    const ChannelSums steps{
        [](int64_t) { return Nothing{}; },
        [&](int64_t image, int64_t plane, const Nothing&, Sums& partial) {
          const float* x =
              args.inputs[0].as<float>() + image * x_.image_stride + plane * x_.plane_elements();
          for_each_chunk(x_.positions, [&](int64_t begin, int64_t end) {
            LaneSums sums;
            sums.run(begin, end, [&](int64_t at, __m256* out) {
              out[0] = _mm256_add_ps(out[0], _mm256_loadu_ps(x + at));
            });
            sums.add_to(partial);
          });
        },
        [&](int64_t plane, const Sums& total, Nothing&) {
          for (int64_t lane = 0; lane < kLanes && plane * kLanes + lane < channels_; ++lane) {
            args.outputs[0].as<float>()[plane * kLanes + lane] =
                static_cast<float>(total.of[0][lane]);
          }
        },
        [](int64_t, int64_t, const Nothing&) {}};
    run_channel_sums<Nothing>(x_, args.scratch, /*exchange=*/nullptr, steps);
  }

  int64_t scratch_bytes() const override { return channel_sums_scratch<Nothing>(x_); }

 private:
  struct Nothing {};

  int64_t channels_;
  Planes x_;
};

// Of a matrix: sums of columns.
class OfColumns final : public Kernel {
 public:
  explicit OfColumns(const NodeView& node)
      : rows_(node.input_shape(0)[0]), columns_(node.input_shape(0)[1]) {}

  void run(const KernelArgs& args) const override {
    parallel_for((columns_ + kStrip - 1) / kStrip, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * kStrip;
        sum_strip(args.inputs[0].as<float>() + first, args.outputs[0].as<float>() + first,
                  std::min(kStrip, columns_ - first));
      }
    });
  }

 private:
  static constexpr int64_t kStrip = 64;

  void sum_strip(const float* x, float* y, int64_t count) const {
    double sums[kStrip] = {};
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t i = 0; i < count; ++i) sums[i] += double{x[row * columns_ + i]};
    }
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(sums[i]);
  }

  int64_t rows_;
  int64_t columns_;
};

std::optional<NodeLayouts> layouts_channel_reduce(const NodeView& node,
                                                  std::span<const Layout> /*inputs*/) {
  const Shape& x = node.input_shape(0);
  const Layout layout = x.rank() > 2 ? Layout::channel_blocks(x, kLanes) : Layout();
  return NodeLayouts{.inputs = {layout, {}}, .outputs = {{}}, .takes_parts = x.rank() > 2};
}

std::unique_ptr<Kernel> create_channel_reduce(const NodeView& node, const NodeLayouts& layouts) {
  if (node.input_shape(0).rank() == 2) return std::make_unique<OfColumns>(node);
  return std::make_unique<OfBlocks>(node, layouts);
}

}  // namespace

extern const KernelDef kChannelReduceSum = {.op = "ReduceSum",
                                            .library = "native",
                                            .refuses = refuses_channel_reduce,
                                            .layouts = layouts_channel_reduce,
                                            .create_in = create_channel_reduce};

}  // namespace trainyard::kernels::native

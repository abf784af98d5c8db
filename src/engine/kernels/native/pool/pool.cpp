// MaxPool, AveragePool and their global forms on images in blocks of channels.
#include <limits>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/pool/pool_window.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_pool(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  if (node.has_output(1)) return "the positions of the maxima are not given";
  const ops::Window window = *ops::op_of(node).window(node);
  if (window.dilations != std::vector<int64_t>{1, 1}) return "dilated windows are not implemented";
  for (size_t i = 0; i < 2; ++i) {
    // So that every window meets the image.
    if (window.pads_begin[i] >= window.kernel[i] || window.pads_end[i] >= window.kernel[i]) {
      return "padding as large as the window is not implemented";
    }
  }
  return "";
}

class Pool final : public Kernel {
 public:
  Pool(const NodeView& node, const NodeLayouts& layouts)
      : window_(*ops::op_of(node).window(node)),
        x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        y_(planes_of(node.output_shape(0), layouts.outputs[0])),
        height_(node.input_shape(0)[2]),
        width_(node.input_shape(0)[3]),
        largest_(node.op() == "MaxPool" || node.op() == "GlobalMaxPool"),
        counts_padding_(node.attr_int("count_include_pad", 0) != 0) {}

  void run(const KernelArgs& args) const override {
    const int64_t rows = window_.output[0];
    // By rows of the output: enough pieces even for one image, each of them contiguous.
    parallel_for(y_.images * y_.planes * rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t plane = i / rows % y_.planes;
        const int64_t image = i / rows / y_.planes;
        const float* x =
            args.inputs[0].as<float>() + image * x_.image_stride + plane * x_.plane_elements();
        float* y = args.outputs[0].as<float>() + image * y_.image_stride +
                   plane * y_.plane_elements() + i % rows * window_.output[1] * y_.block;
        // A block of channels may be wider than a vector.
        for (int64_t lane = 0; lane < y_.block; lane += kVector) {
          if (largest_) {
            run_row<true>(x + lane, y + lane, i % rows);
          } else {
            run_row<false>(x + lane, y + lane, i % rows);
          }
        }
      }
    });
  }

 private:
  template <bool kLargest>
  void run_row(const float* x, float* y, int64_t row) const {
    const Extent down = inside(window_, 0, row, height_);
    for (int64_t column = 0; column < window_.output[1]; ++column, y += y_.block) {
      const Extent across = inside(window_, 1, column, width_);
      __m256 result =
          kLargest ? _mm256_set1_ps(-std::numeric_limits<float>::infinity()) : _mm256_setzero_ps();
      for (int64_t r = down.begin; r < down.end; ++r) {
        const float* line = x + (r * width_ + across.begin) * x_.block;
        for (int64_t c = across.begin; c < across.end; ++c, line += x_.block) {
          const __m256 v = _mm256_loadu_ps(line);
          // The second operand is what max gives for NaN.
          result = kLargest ? _mm256_max_ps(result, v) : _mm256_add_ps(result, v);
        }
      }
      if (!kLargest) {
        const int64_t count = counts_padding_ ? size_with_padding(window_, 0, row, height_) *
                                                    size_with_padding(window_, 1, column, width_)
                                              : down.size() * across.size();
        result = _mm256_div_ps(result, _mm256_set1_ps(static_cast<float>(count)));
      }
      _mm256_storeu_ps(y, result);
    }
  }

  ops::Window window_;
  Planes x_;
  Planes y_;
  int64_t height_;
  int64_t width_;
  bool largest_;
  bool counts_padding_;
};

// The block of the input is kept, so that pooling never causes a reordering.
std::optional<NodeLayouts> layouts_pool(const NodeView& node, std::span<const Layout> inputs) {
  const int64_t block = block_like(node.input_shape(0), inputs[0]);
  return NodeLayouts{.inputs = {Layout::channel_blocks(node.input_shape(0), block)},
                     .outputs = {Layout::channel_blocks(node.output_shape(0), block)},
                     .takes_parts = true};
}

std::unique_ptr<Kernel> create_pool(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Pool>(node, layouts);
}

constexpr KernelDef pool_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_pool,
          .layouts = layouts_pool,
          .create_in = create_pool};
}

}  // namespace

extern const KernelDef kAveragePool = pool_kernel("AveragePool");
extern const KernelDef kGlobalAveragePool = pool_kernel("GlobalAveragePool");
extern const KernelDef kGlobalMaxPool = pool_kernel("GlobalMaxPool");
extern const KernelDef kMaxPool = pool_kernel("MaxPool");

}  // namespace trainyard::kernels::native

// MaxPoolGrad and AveragePoolGrad on images in blocks of eight channels: plane by plane, so that
// windows that overlap add to what is in the cache.
#include <limits>
#include <type_traits>
#include <vector>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/pool/pool_window.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/nn/window.h"

namespace trainyard::kernels::native {
namespace {

ops::Window window_of_pool_grad(const NodeView& node, const Shape& x) {
  return ops::resolve_window(node, x, node.attr_ints("kernel_shape", {}));
}

std::string_view refuses_pool_grad(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  const Shape& x = node.output_shape(0);
  if (node.output_type(0).dtype != DType::kF32) return kOnlyF32;
  if (x.rank() != 4) return "only images are implemented";
  if (x.num_elements() == 0) return "the image is empty";
  const ops::Window window = window_of_pool_grad(node, x);
  if (window.dilations != std::vector<int64_t>{1, 1}) return "dilated windows are not implemented";
  for (size_t i = 0; i < 2; ++i) {
    // So that every window meets the image.
    if (window.pads_begin[i] >= window.kernel[i] || window.pads_end[i] >= window.kernel[i]) {
      return "padding as large as the window is not implemented";
    }
  }
  return "";
}

// A window along one axis, and its factor of the share of dy that each element gets.
struct Tap {
  Extent extent;
  float share;
};

std::vector<Tap> taps_of(const NodeView& node, const ops::Window& window, size_t axis,
                         int64_t size) {
  const bool averages = node.op() == "AveragePoolGrad";
  const bool counts_padding = node.attr_int("count_include_pad", 0) != 0;
  std::vector<Tap> taps;
  for (int64_t i = 0; i < window.output[axis]; ++i) {
    const Extent extent = inside(window, axis, i, size);
    const auto count = static_cast<float>(counts_padding ? size_with_padding(window, axis, i, size)
                                                         : extent.size());
    taps.push_back({extent, averages ? 1.0F / count : 1.0F});
  }
  return taps;
}

// The first of the largest elements takes all.
class ToLargest {
 public:
  static constexpr size_t kDy = 1;

  static void add(const float* x, float* dx, __m256 share, int64_t rows, int64_t columns,
                  int64_t line) {
    // The usual windows without loops.
    if (rows == 2 && columns == 2) {
      add_of(x, dx, share, Fixed<2>(), Fixed<2>(), line);
    } else if (rows == 3 && columns == 3) {
      add_of(x, dx, share, Fixed<3>(), Fixed<3>(), line);
    } else {
      add_of(x, dx, share, rows, columns, line);
    }
  }

 private:
  template <int64_t kSize>
  using Fixed = std::integral_constant<int64_t, kSize>;

  template <typename Rows, typename Columns>
  static void add_of(const float* x, float* dx, __m256 share, Rows rows, Columns columns,
                     int64_t line) {
    __m256 largest = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        largest = _mm256_max_ps(largest, _mm256_loadu_ps(x + r * line + c * kVector));
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at = r * line + c * kVector;
        const __m256 found = _mm256_cmp_ps(_mm256_loadu_ps(x + at), largest, _CMP_EQ_OQ);
        const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(dx + at), _mm256_and_ps(share, found));
        _mm256_storeu_ps(dx + at, sum);
        // What has been given is gone.
        share = _mm256_andnot_ps(found, share);
      }
    }
  }
};

// All take the same.
struct ToAll {
  static constexpr size_t kDy = 0;

  static void add(const float* /*x*/, float* dx, __m256 share, int64_t rows, int64_t columns,
                  int64_t line) {
    for (int64_t r = 0; r < rows; ++r) {
      float* at = dx + r * line;
      for (int64_t c = 0; c < columns; ++c, at += kVector) {
        _mm256_storeu_ps(at, _mm256_add_ps(_mm256_loadu_ps(at), share));
      }
    }
  }
};

template <typename Spread>
class PoolGrad final : public Kernel {
 public:
  PoolGrad(const NodeView& node, const NodeLayouts& layouts)
      : x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        dy_(planes_of(node.input_shape(Spread::kDy), layouts.inputs[Spread::kDy])),
        dx_(planes_of(node.output_shape(0), layouts.outputs[0])),
        width_(node.output_shape(0)[3]) {
    const ops::Window window = window_of_pool_grad(node, node.output_shape(0));
    down_ = taps_of(node, window, 0, node.output_shape(0)[2]);
    across_ = taps_of(node, window, 1, width_);
  }

  void run(const KernelArgs& args) const override {
    parallel_for(dx_.images * dx_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / dx_.planes;
        const int64_t plane = i % dx_.planes;
        const auto at = [&](const TensorView& view, const Planes& planes) {
          return view.as<float>() + image * planes.image_stride + plane * planes.plane_elements();
        };
        float* dx = at(args.outputs[0], dx_);
        const float* x = Spread::kDy == 1 ? at(args.inputs[0], x_) : dx;
        run_plane(x, at(args.inputs[Spread::kDy], dy_), dx);
      }
    });
  }

 private:
  void run_plane(const float* x, const float* dy, float* dx) const {
    // Rows become zero just before the first window adds to them, and stay in the cache till the
    // last has.
    int64_t zeroed = 0;
    const auto zero_until = [&](int64_t row) {
      if (row <= zeroed) return;
      std::fill_n(dx + zeroed * width_ * kVector, (row - zeroed) * width_ * kVector, 0.0F);
      zeroed = row;
    };
    for (const Tap& row : down_) {
      zero_until(row.extent.end);
      for (const Tap& column : across_) {
        const int64_t first = (row.extent.begin * width_ + column.extent.begin) * kVector;
        const __m256 share =
            _mm256_mul_ps(_mm256_loadu_ps(dy), _mm256_set1_ps(row.share * column.share));
        Spread::add(x + first, dx + first, share, row.extent.size(), column.extent.size(),
                    width_ * kVector);
        dy += kVector;
      }
    }
    zero_until(dx_.positions / width_);
  }

  Planes x_;
  Planes dy_;
  Planes dx_;
  int64_t width_;
  std::vector<Tap> down_;
  std::vector<Tap> across_;
};

std::optional<NodeLayouts> layouts_pool_grad(const NodeView& node,
                                             std::span<const Layout> /*inputs*/) {
  NodeLayouts wanted{.inputs = {},
                     .outputs = {Layout::channel_blocks(node.output_shape(0), kVector)},
                     .takes_parts = true};
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    wanted.inputs.push_back(Layout::channel_blocks(node.input_shape(i), kVector));
  }
  return wanted;
}

template <typename Spread>
std::unique_ptr<Kernel> create_pool_grad(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<PoolGrad<Spread>>(node, layouts);
}

template <typename Spread>
constexpr KernelDef pool_grad(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_pool_grad,
          .layouts = layouts_pool_grad,
          .create_in = create_pool_grad<Spread>};
}

}  // namespace

extern const KernelDef kAveragePoolGrad = pool_grad<ToAll>("AveragePoolGrad");
extern const KernelDef kMaxPoolGrad = pool_grad<ToLargest>("MaxPoolGrad");

}  // namespace trainyard::kernels::native

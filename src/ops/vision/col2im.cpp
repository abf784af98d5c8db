// Col2Im: columns of windows added up where they came from; what MatMul makes of a convolution's
// columns becomes an image again.
#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kCol2ImAttributes[] = {
    {"dilations", AttrKind::kInts}, {"pads", AttrKind::kInts}, {"strides", AttrKind::kInts}};

std::vector<TensorType> infer_col2im(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const auto image = node.input_ints(1);
  const auto block = node.input_ints(2);
  TY_REQUIRE(x.shape.rank() == 3 && is_float(x.dtype),
             "input is {}, expected batch x rows x windows", x.to_string());
  const int64_t spatial = node.input_shape(1).num_elements();
  TY_REQUIRE(spatial >= 1 && node.input_shape(2).num_elements() == spatial,
             "image and block have shapes {} and {}", node.input_shape(1).to_string(),
             node.input_shape(2).to_string());
  std::vector<int64_t> dims = {x.shape[0], Shape::kUnknown};
  int64_t size = 1;
  for (size_t i = 0; block && i < block->size(); ++i) {
    TY_REQUIRE((*block)[i] > 0 && !__builtin_mul_overflow(size, (*block)[i], &size),
               "a block of {}", (*block)[i]);
  }
  if (block && x.shape[1] != Shape::kUnknown) {
    TY_REQUIRE(x.shape[1] % size == 0, "{} rows are no multiple of a block of {}", x.shape[1],
               size);
    dims[1] = x.shape[1] / size;
  }
  for (int64_t i = 0; i < spatial; ++i) {
    dims.push_back(image ? (*image)[static_cast<size_t>(i)] : Shape::kUnknown);
  }
  return {{x.dtype, Shape(std::move(dims))}};
}

// Sums and products of two such numbers do not overflow.
constexpr int64_t kLargestWindow = int64_t{1} << 31U;

// One dimension of the walk over windows and the elements of a block.
struct Axis {
  int64_t image, block, stride, dilation, pad, windows;
};

// Calls visit(element of the block, window, place in the image) for all that lie inside.
template <typename F>
void walk_windows(std::span<const Axis> axes, int64_t element, int64_t window, int64_t place,
                  const F& visit) {
  if (axes.empty()) return visit(element, window, place);
  const Axis& a = axes[0];
  for (int64_t k = 0; k < a.block; ++k) {
    for (int64_t w = 0; w < a.windows; ++w) {
      const int64_t at = w * a.stride - a.pad + k * a.dilation;
      if (at < 0 || at >= a.image) continue;
      walk_windows(axes.subspan(1), element * a.block + k, window * a.windows + w,
                   place * a.image + at, visit);
    }
  }
}

Routine routine_col2im(const NodeView& node) {
  return [strides = node.attr_ints("strides", {}), dilations = node.attr_ints("dilations", {}),
          pads = node.attr_ints("pads", {})](Views in, Views out) {
    const std::vector<int64_t> image = to_ints(in[1]);
    const std::vector<int64_t> block = to_ints(in[2]);
    const auto value = [](const std::vector<int64_t>& list, size_t i, int64_t fallback) {
      return i < list.size() ? list[i] : fallback;
    };
    if (out[0].num_elements() == 0) return;
    std::vector<Axis> axes;
    int64_t windows = 1;
    int64_t size = 1;
    for (size_t i = 0; i < image.size(); ++i) {
      Axis a{image[i],          block[i], value(strides, i, 1), value(dilations, i, 1),
             value(pads, i, 0), 0};
      const int64_t end = value(pads, image.size() + i, 0);
      for (const int64_t number : {a.image, a.block, a.stride, a.dilation}) {
        TY_REQUIRE(0 < number && number < kLargestWindow,
                   "an image, block, stride or dilation of {}", number);
      }
      TY_REQUIRE(0 <= a.pad && a.pad < kLargestWindow && 0 <= end && end < kLargestWindow,
                 "pads of {} and {}", a.pad, end);
      const int64_t free = a.image + a.pad + end - a.dilation * (a.block - 1) - 1;
      TY_REQUIRE(free >= 0, "a block of {} does not fit into an image of {}", a.block, a.image);
      a.windows = free / a.stride + 1;
      windows = dim_product(windows, a.windows);
      size = dim_product(size, a.block);
      axes.push_back(a);
    }
    const Shape& x = *in[0].shape;
    const Shape& y = *out[0].shape;
    TY_REQUIRE(windows == x[2], "the input has {} windows, the image {}", x[2], windows);
    const int64_t pixels = y.num_elements(2, y.rank());
    for_float_type(in[0].dtype, [&]<typename T>(T) {
      std::vector<double> sums(static_cast<size_t>(pixels));
      for (int64_t i = 0; i < y[0] * y[1]; ++i) {
        std::fill(sums.begin(), sums.end(), 0.0);
        const T* columns = in[0].as<const T>() + i * size * windows;
        walk_windows(axes, 0, 0, 0, [&](int64_t element, int64_t window, int64_t place) {
          sums[static_cast<size_t>(place)] +=
              static_cast<double>(columns[element * windows + window]);
        });
        for (int64_t p = 0; p < pixels; ++p) {
          out[0].as<T>()[i * pixels + p] = static_cast<T>(sums[static_cast<size_t>(p)]);
        }
      }
    });
  };
}

}  // namespace

// Inputs: columns, shape of the image, shape of a block.
extern const OpDef kCol2Im = {.name = "Col2Im",
                              .kind = OpKind::kDataMovement,
                              .inputs = {3, 3},
                              .attributes = kCol2ImAttributes,
                              .infer = infer_col2im,
                              .routine = routine_col2im};

}  // namespace trainyard::ops

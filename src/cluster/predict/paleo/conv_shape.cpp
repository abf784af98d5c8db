#include "cluster/predict/paleo/conv_shape.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/integers.h"

namespace trainyard::predict::paleo {
namespace {

// Rounds toward minus infinity, as Python's // does: paddings may be negative here.
int64_t floor_half(int64_t value) {
  return value >= 0 ? value / 2 : -((1 - value) / 2);
}

struct Axis {
  int64_t pad = 0;
  int64_t out = 0;
};

// As TensorFlow resolves VALID and SAME.
Axis resolve_axis(int64_t in, int64_t k, int64_t s, int64_t pad, Padding padding, Variant variant) {
  switch (padding) {
    case Padding::kValid:
      return {0, divide_up(in - k + 1, s)};
    case Padding::kSame: {
      const int64_t out = divide_up(in, s);
      // The older variant takes the positions of the input where the output's are meant; kept,
      // since its results are the ones to match.
      const int64_t positions = variant == Variant::kHead ? out : in;
      return {floor_half((positions - 1) * s + k - in), out};
    }
    case Padding::kExplicit:
      break;
  }
  return {pad, (in + 2 * pad - k) / s + 1};
}

// The output gradient dilated by the stride, and the padding that brings it back to the input.
struct Dilated {
  int64_t extent = 0;
  int64_t pad = 0;
};

Dilated dilate(int64_t in, int64_t out, int64_t k, int64_t s, int64_t pad, Variant variant) {
  int64_t extent = (out - 1) * s + 1;
  const int64_t before = k - 1 - pad;
  const int64_t after = in + k - 1 - extent - before;
  // An odd difference between the two paddings is made up by one more element.
  if (variant == Variant::kV0) return {extent + (before == after - 1 ? 1 : 0), before};
  if (std::abs(before - after) == 1) ++extent;
  return {extent, std::min(before, after)};
}

// Share of zeros between the elements of the dilated gradient.
double holes(const ConvShape& shape, const Dilated& h, const Dilated& w) {
  const auto all = static_cast<double>(h.extent * w.extent);
  return 1.0 - static_cast<double>(shape.oh * shape.ow) / all;
}

}  // namespace

ConvShape resolve(ConvShape shape, Variant variant) {
  const Axis h = resolve_axis(shape.h, shape.kh, shape.sh, shape.ph, shape.padding, variant);
  const Axis w = resolve_axis(shape.w, shape.kw, shape.sw, shape.pw, shape.padding, variant);
  shape.ph = h.pad;
  shape.pw = w.pad;
  shape.oh = h.out;
  shape.ow = w.out;
  return shape;
}

// The data gradient as a convolution of the dilated output gradient; channels are exchanged.
ConvShape data_view(const ConvShape& shape, Variant variant) {
  const Dilated h = dilate(shape.h, shape.oh, shape.kh, shape.sh, shape.ph, variant);
  const Dilated w = dilate(shape.w, shape.ow, shape.kw, shape.sw, shape.pw, variant);
  ConvShape view = resolve({.n = shape.n,
                            .h = h.extent,
                            .w = w.extent,
                            .cin = shape.cout,
                            .kh = shape.kh,
                            .kw = shape.kw,
                            .cout = shape.cin,
                            .padding = Padding::kExplicit,
                            .ph = h.pad,
                            .pw = w.pad,
                            .groups = shape.groups,
                            .holes_input = holes(shape, h, w)},
                           variant);
  // With explicit padding the sizes follow from the layer, not from the resolved view.
  if (shape.padding == Padding::kExplicit) {
    view.oh = shape.h;
    view.ow = shape.w;
  }
  TY_REQUIRE(view.oh == shape.h && view.ow == shape.w,
             "PALEO refuses this layer: its data gradient would be {}x{}, the input is {}x{}",
             view.oh, view.ow, shape.h, shape.w);
  return view;
}

// The filter gradient as a convolution of the input by the dilated output gradient: images take the
// part of channels.
ConvShape filter_view(const ConvShape& shape, Variant variant) {
  const Dilated h = dilate(shape.h, shape.oh, shape.kh, shape.sh, shape.ph, variant);
  const Dilated w = dilate(shape.w, shape.ow, shape.kw, shape.sw, shape.pw, variant);
  const bool forward_pads = variant == Variant::kV0 || shape.padding != Padding::kSame;
  ConvShape view = resolve({.n = shape.cin,
                            .h = shape.h,
                            .w = shape.w,
                            .cin = shape.n,
                            .kh = h.extent,
                            .kw = w.extent,
                            .cout = shape.cout,
                            .padding = Padding::kExplicit,
                            .ph = forward_pads ? shape.ph : h.pad,
                            .pw = forward_pads ? shape.pw : w.pad,
                            .groups = shape.groups,
                            .holes_filter = holes(shape, h, w)},
                           variant);
  if (shape.padding == Padding::kExplicit || variant == Variant::kV0) {
    view.oh = shape.kh;
    view.ow = shape.kw;
  }
  TY_REQUIRE(view.oh == shape.kh && view.ow == shape.kw,
             "PALEO refuses this layer: its filter gradient would be {}x{}, the filter is {}x{}",
             view.oh, view.ow, shape.kh, shape.kw);
  return view;
}

}  // namespace trainyard::predict::paleo

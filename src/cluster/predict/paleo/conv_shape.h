// Convolution geometry as PALEO (Qi et al., ICLR 2017) sees it, in both numeric variants.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::predict::paleo {

// kHead: the published code today. kV0: the first release (December 2016), behind the paper's
// tables and the authors' web demo. docs/predict-paleo.md lists the differences.
enum class Variant : uint8_t { kHead, kV0 };

// kExplicit: given pads, as in gradient views and in graphs; such a layer is never refused.
enum class Padding : uint8_t { kValid, kSame, kExplicit };

// Layout NHWC, filter kh x kw x cin x cout, the same pad on both sides of an axis.
struct ConvShape {
  int64_t n = 1, h = 1, w = 1, cin = 1;
  int64_t kh = 1, kw = 1, cout = 1;
  int64_t sh = 1, sw = 1;
  Padding padding = Padding::kValid;
  int64_t ph = 0, pw = 0;
  int64_t oh = 1, ow = 1;
  int64_t groups = 1;       // PALEO knows 1 only; filters then have cin / groups channels
  double holes_input = 0;   // share of zeros in a gradient dilated by the stride
  double holes_filter = 0;  // the same where that gradient stands in for the filter
};

// Fills in pads (unless kExplicit) and output size.
ConvShape resolve(ConvShape shape, Variant variant);

// The stride-1 convolution PALEO charges for the gradient with respect to the data or the filter.
// Throws Error where PALEO's own assertion stops it: the view must give back the layer's input (or
// filter) size. Layers with Padding::kExplicit are taken as they are.
ConvShape data_view(const ConvShape& shape, Variant variant);
ConvShape filter_view(const ConvShape& shape, Variant variant);

}  // namespace trainyard::predict::paleo

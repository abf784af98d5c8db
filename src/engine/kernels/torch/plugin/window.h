// Sliding windows: where libtorch pads alike on both sides, ONNX pads as it is told.
#pragma once

#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {

// One entry for each spatial dimension; `end` is what it takes that exactly the windows of the
// result fit (less than nothing where input is left over).
struct Window {
  Ints kernel;
  Ints strides;
  Ints dilations;
  Ints begin;
  Ints end;

  // Does libtorch's own padding do?
  bool is_even() const;
  bool pads_nothing() const;
  Ints padded_dims(const Ints& dims) const;
  Tensor padded(const Tensor& x, double value) const;
  // What padded() was given; zeros where padding was less than nothing.
  Tensor cropped(const Tensor& x) const;
};

// As the program resolved it.
Window window_of(const Node& node);
// By the attributes of a gradient, for `kernel`, the dimensions of x and those of y.
Window window_from_attributes(const Node& node, const Ints& kernel, const Ints& x, const Ints& y);
// "" if the attributes say all.
const char* refuses_auto_pad(const Node& node);

}  // namespace trainyard::torch_plugin

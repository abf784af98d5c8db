#include "engine/kernels/onednn/conv_desc.h"

namespace trainyard::kernels::onednn {

ConvWindow::ConvWindow(const ops::Window& window)
    : strides(to_dims(window.strides)),
      dilations(to_dims(window.dilations)),
      pads_begin(to_dims(window.pads_begin)),
      pads_end(to_dims(window.pads_end)) {
  for (auto& d : dilations) --d;
}

dnnl::memory::dims weight_dims(const Shape& weights, int64_t group) {
  dnnl::memory::dims dims = to_dims(weights.dims());
  if (group == 1) return dims;
  dims[0] /= group;
  dims.insert(dims.begin(), group);
  return dims;
}

Desc plain_weights(const Shape& weights, int64_t group) {
  const dnnl::memory::dims dims = weight_dims(weights, group);
  return {dims, dnnl::memory::data_type::f32, to_dims(Shape(dims).strides())};
}

int64_t aligned_bytes(size_t bytes) {
  const size_t alignment = Tensor::kAlignment;
  return static_cast<int64_t>((bytes + alignment - 1) / alignment * alignment);
}

}  // namespace trainyard::kernels::onednn

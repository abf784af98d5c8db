#include "support/layout_run.h"

#include <cstring>

#include "base/error.h"

namespace trainyard::testing {
namespace {

// Calls f(index) with every index of a shape.
template <typename F>
void for_each_index(const Shape& shape, F&& f) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    int64_t rest = i;
    for (size_t axis = index.size(); axis-- > 0;) {
      index[axis] = rest % shape[static_cast<int64_t>(axis)];
      rest /= shape[static_cast<int64_t>(axis)];
    }
    f(i, index);
  }
}

// The bytes of a tensor in a layout, with zero padding.
Tensor lay_out(const Tensor& tensor, const Layout& layout) {
  const Shape& shape = tensor.shape();
  const auto size = static_cast<size_t>(dtype_size(tensor.dtype()));
  Tensor laid = Tensor::zeros({DType::kU8, Shape{layout.span_bytes(tensor.type())}});
  for_each_index(shape, [&](int64_t i, const std::vector<int64_t>& index) {
    std::memcpy(static_cast<std::byte*>(laid.data()) +
                    static_cast<size_t>(layout.offset(shape, index)) * size,
                static_cast<const std::byte*>(tensor.data()) + static_cast<size_t>(i) * size, size);
  });
  return laid;
}

Tensor take_up(const Tensor& laid, const TensorType& type, const Layout& layout) {
  Tensor tensor(type);
  const auto size = static_cast<size_t>(dtype_size(type.dtype));
  for_each_index(type.shape, [&](int64_t i, const std::vector<int64_t>& index) {
    std::memcpy(static_cast<std::byte*>(tensor.data()) + static_cast<size_t>(i) * size,
                static_cast<const std::byte*>(laid.data()) +
                    static_cast<size_t>(layout.offset(type.shape, index)) * size,
                size);
  });
  return tensor;
}

int64_t differing_bytes(const Tensor& a, const Tensor& b) {
  int64_t count = 0;
  for (int64_t i = 0; i < a.num_bytes(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (a.values<uint8_t>()[at] != b.values<uint8_t>()[at]) ++count;
  }
  return count;
}

std::vector<Layout> offered(const NodeView& node, Offer offer) {
  const int64_t block = offer == Offer::kBlocksOf16 ? 16 : 8;
  std::vector<Layout> layouts(node.num_inputs());
  for (size_t i = 0; i < node.num_inputs() && offer != Offer::kRowMajor; ++i) {
    if (!node.has_input(i) || node.input_shape(i).rank() < 3) continue;
    layouts[i] = Layout::channel_blocks(node.input_shape(i), block);
  }
  return layouts;
}

}  // namespace

std::optional<LayoutRun> run_in_layouts(const NodeView& node, const kernels::KernelDef& def,
                                        std::span<const Tensor> inputs, Offer offer) {
  const std::optional<kernels::NodeLayouts> layouts = def.layouts(node, offered(node, offer));
  if (!layouts) return std::nullopt;
  TY_CHECK(layouts->inputs.size() == node.num_inputs(), "{} layouts for {} inputs",
           layouts->inputs.size(), node.num_inputs());
  TY_CHECK(layouts->outputs.size() == node.num_outputs(), "{} layouts for {} outputs",
           layouts->outputs.size(), node.num_outputs());
  const std::unique_ptr<kernels::Kernel> kernel = def.create_in(node, *layouts);
  std::vector<Tensor> laid;
  std::vector<TensorView> x;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool given = !inputs[i].empty() && !kernel->holds_input(i);
    laid.push_back(given ? lay_out(inputs[i], layouts->inputs[i]) : Tensor());
    x.push_back({inputs[i].dtype(), &inputs[i].shape(), laid[i].data()});
  }
  std::vector<Tensor> made;
  std::vector<TensorView> y;
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    const TensorType& type = node.output_type(i);
    made.emplace_back(DType::kU8, Shape{layouts->outputs[i].span_bytes(type)});
    // Bytes of NaN, so that what is not written is seen.
    std::memset(made[i].data(), 0xff, static_cast<size_t>(made[i].num_bytes()));
    const auto over = static_cast<size_t>(layouts->in_place_input);
    if (i == 0 && layouts->in_place_input >= 0 && node.input_type(over) == type &&
        same_placement(layouts->inputs[over], layouts->outputs[0], type.shape)) {
      std::memcpy(made[0].data(), laid[over].data(), static_cast<size_t>(made[0].num_bytes()));
      x[over].data = made[0].data();
    }
    y.push_back({type.dtype, &type.shape, made[i].data()});
  }
  const Tensor scratch(DType::kU8, Shape{kernel->scratch_bytes()});
  kernel->run(
      {x, y, {scratch.view().as<std::byte>(), static_cast<size_t>(kernel->scratch_bytes())}});
  LayoutRun result;
  for (size_t i = 0; i < made.size(); ++i) {
    result.outputs.push_back(take_up(made[i], node.output_type(i), layouts->outputs[i]));
    result.stained_padding +=
        differing_bytes(made[i], lay_out(result.outputs[i], layouts->outputs[i]));
  }
  return result;
}

}  // namespace trainyard::testing

// Pad: every element of the output looks up where it comes from, dimension by dimension.
#include "ops/layout/pad.h"

#include <cstring>

#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

constexpr int64_t kOutside = -1;

// For each output index of one dimension, the offset of its source in the input.
std::vector<int64_t> source_offsets(int64_t count, int64_t begin, int64_t size, int64_t stride,
                                    const std::string& mode) {
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = ops::padded_source(i - begin, size, mode);
    offsets[static_cast<size_t>(i)] = from == kOutside ? kOutside : from * stride;
  }
  return offsets;
}

// Inputs: data, pads (all begins, then all ends), constant_value, axes.
ops::Routine pad(const NodeView& node) {
  return [mode = node.attr_text("mode", "constant")](ops::Views inputs, ops::Views outputs) {
    const TensorView& x = inputs[0];
    const TensorView& y = outputs[0];
    std::vector<int64_t> pads = to_ints(inputs[1]);
    if (inputs.size() > 3 && inputs[3].data != nullptr) {
      pads = ops::pads_of_all_axes(pads, to_ints(inputs[3]), x.shape->rank());
    }
    const std::vector<int64_t> strides = x.shape->strides();
    std::vector<std::vector<int64_t>> sources;
    for (int64_t d = 0; d < y.shape->rank(); ++d) {
      const auto at = static_cast<size_t>(d);
      sources.push_back(source_offsets((*y.shape)[d], pads[at], (*x.shape)[d], strides[at], mode));
    }
    const int64_t size = dtype_size(x.dtype);
    const std::vector<std::byte> zero(static_cast<size_t>(size));
    const bool filled = inputs.size() > 2 && inputs[2].data != nullptr;
    const auto* fill = filled ? inputs[2].as<const std::byte>() : zero.data();
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      int64_t offset = 0;
      int64_t rest = i;
      for (size_t d = sources.size(); d-- > 0;) {
        const auto count = static_cast<int64_t>(sources[d].size());
        const int64_t source = sources[d][static_cast<size_t>(rest % count)];
        offset = offset == kOutside || source == kOutside ? kOutside : offset + source;
        rest /= count;
      }
      const auto* from = offset == kOutside ? fill : x.as<const std::byte>() + offset * size;
      std::memcpy(y.as<std::byte>() + i * size, from, static_cast<size_t>(size));
    }
  };
}

}  // namespace

extern const KernelDef kPad = routine_kernel<pad>("Pad");

}  // namespace trainyard::kernels::reference

// Tensors as the protocol names them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace trainyard::serve {

// "FP32", "INT64", "BOOL", …
std::string_view protocol_name(DType dtype);
// Of types below eight bits or of eight-bit floats there is none.
bool has_protocol_name(DType dtype);
// Throws RequestError naming the nearest type. BYTES are texts.
DType dtype_from_protocol(std::string_view name, std::string_view where);

// What a model takes or gives. A dimension of -1 may have any size.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  // As clients see it, where the configuration reshapes it; both have as many open dimensions.
  std::optional<std::vector<int64_t>> outside = {};

  const std::vector<int64_t>& client_dims() const { return outside ? *outside : dims; }
};

// The shape `to` of a tensor of shape `given`, which fits `from`: the open dimensions of `to` are
// those of `from`, in their order.
std::vector<int64_t> reshape_dims(std::span<const int64_t> given, std::span<const int64_t> from,
                                  std::span<const int64_t> to);

// "[-1,3,224,224]"
std::string dims_text(const std::vector<int64_t>& dims);

}  // namespace trainyard::serve

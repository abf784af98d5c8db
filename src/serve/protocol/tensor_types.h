// Tensors as the protocol names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace trainyard::serve {

// "FP32", "INT64", "BOOL", …
std::string_view protocol_name(DType dtype);
// Of texts and of types below eight bits or of eight-bit floats there is none.
bool has_protocol_name(DType dtype);
// Throws RequestError naming the nearest type. BYTES is not among them: no network computes with
// texts.
DType dtype_from_protocol(std::string_view name, std::string_view where);

// What a model takes or gives. A dimension of -1 may have any size.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
};

// "[-1,3,224,224]"
std::string dims_text(const std::vector<int64_t>& dims);

}  // namespace trainyard::serve

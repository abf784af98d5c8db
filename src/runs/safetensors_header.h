// The JSON header of a safetensors file, read strictly: what it says is checked against the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace trainyard::runs {

struct StoredTensor {
  std::string name;
  TensorType type;
  int64_t begin = 0;  // of its data, counted from the start of the file
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  // in the order of their data
};

// The largest header that is read or written; hundreds of thousands of tensors fit.
constexpr int64_t kMaxHeaderBytes = 100'000'000;
// The header's length comes first, as 8 bytes.
constexpr int64_t kHeaderBegin = 8;

// `text` is the header alone and `file_bytes` the size of the whole file. Throws Error with
// `origin` and the byte for malformed text, an unknown element type, a name that appears twice and
// data that overlap, leave a gap or lie outside the file.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_bytes,
                                           std::string_view origin);

// "F32", "I64", "BOOL", …
std::string_view safetensors_dtype(DType dtype);

}  // namespace trainyard::runs

// Splits an ONNX file into its description (kilobytes, parsed by protobuf) and the numbers of its
// tensors, which stay where they are: protobuf would copy every weight, and a hostile file could
// make it allocate a hundred times the file's size.
#pragma once

#include <string>
#include <vector>

#include "base/wire.h"

namespace trainyard::onnx_io {

// The numbers of one tensor, by the field of TensorProto they were found in.
struct Payload {
  uint32_t field = 0;
  Bytes bytes;
  size_t position = 0;  // of the bytes in the file
};

enum class Root : uint8_t { kModel, kTensor };

struct SplitFile {
  // The same message, in which each tensor's numbers are replaced by raw_data holding their index
  // in `payloads`, eight bytes little-endian.
  std::string description;
  std::vector<Payload> payloads;
};

// The result points into `file`. Throws Error for what is no protobuf message, or describes more
// than an honest model does.
SplitFile split_file(Bytes file, Root root);

}  // namespace trainyard::onnx_io

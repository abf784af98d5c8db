// Graphs into ONNX files, weights streamed tensor by tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "ir/graph.h"
#include "models/onnx/metadata.h"

namespace trainyard::onnx_io {

// A protobuf message of 2 GiB or more cannot be read back.
inline constexpr int64_t kLargestModelFile = (int64_t{1} << 31) - 1;

struct ExportOptions {
  uint64_t seed = 0;  // for initializers that are rules
  // Where the file would become larger, the weights go to `path`.data beside it.
  int64_t largest_file = kLargestModelFile;
  // The name of the first dimension of inputs and outputs, which may then be any number; empty: it
  // is the number of the graph.
  std::string batch_name = {};
  Metadata metadata = {};
  // 17 to the newest that is read. Newer operators than it has are made of older ones.
  int64_t opset = 17;
  // Called between pieces with the bytes of weights written and to be written.
  std::function<void(int64_t, int64_t)> progress;
};

// Throws Error naming the operators or attributes that ONNX does not have, and Failure when the
// file cannot be written; then nothing is left behind. Takes a few tens of megabytes of memory
// whatever the size of the model.
void export_model(const Graph& graph, const std::filesystem::path& path,
                  const ExportOptions& options = {});

}  // namespace trainyard::onnx_io

// TensorProto to Tensor. Numbers are shared with the mapped file where they lie aligned for their
// type, and copied otherwise.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "models/onnx/external_data.h"
#include "models/onnx/payload.h"
#include "tensor/tensor.h"

namespace onnx {
class TensorProto;
}

namespace trainyard::onnx_io {

// The element type for a number of TensorProto.DataType, or Error naming it.
DType require_dtype(int32_t data_type);

class TensorReader {
 public:
  // `payloads` are those of the file the tensors come from. `owner` keeps their memory alive; if
  // it is null they are copied. `files` are external data.
  TensorReader(std::vector<Payload> payloads, std::shared_ptr<void> owner,
               std::shared_ptr<ExternalFiles> files)
      : payloads_(std::move(payloads)), owner_(std::move(owner)), files_(std::move(files)) {}
  // `folder` holds external data; empty: there is none.
  TensorReader(std::vector<Payload> payloads, std::shared_ptr<void> owner,
               std::filesystem::path folder)
      : TensorReader(std::move(payloads), std::move(owner),
                     std::make_shared<ExternalFiles>(std::move(folder))) {}

  // Throws Error, without the tensor's name, when dimensions, type and data do not agree.
  Tensor read(const onnx::TensorProto& proto);

 private:
  Tensor read_external(const onnx::TensorProto& proto, TensorType type);

  std::vector<Payload> payloads_;
  std::shared_ptr<void> owner_;
  std::shared_ptr<ExternalFiles> files_;
};

}  // namespace trainyard::onnx_io

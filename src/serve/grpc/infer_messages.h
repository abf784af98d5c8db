// ModelInferRequest and ModelInferResponse as bytes. They are read and written in place, without a
// tree of messages: most of them is a tensor, which is not copied.
#pragma once

#include <span>
#include <string>

#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {

struct InferMessage {
  std::string model;
  std::string version;
  InferRequest request;  // which keeps the message where its inputs point into it
};

// `memory` has the regions that tensors may lie in; null if there is none. Throws RequestError or
// Error naming field, expected and got.
InferMessage read_infer_message(const Body& message, const SharedMemory* memory = nullptr);
// All outputs as raw_output_contents; empty for those that lie in shared memory.
std::string write_infer_message(const InferRequest& request, const InferResult& result,
                                std::span<const std::string> labels);

}  // namespace trainyard::serve

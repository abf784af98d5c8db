// Inference requests and responses of the Open Inference Protocol v2 over HTTP, with the
// extensions for binary tensors and for classification.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/infer_request.h"

namespace trainyard::serve {

// The body of a request; lives as long as somebody holds it.
using Body = std::shared_ptr<const std::string>;

// `json_bytes` is what Inference-Header-Content-Length says: so many bytes of JSON, then the binary
// tensors. None: JSON alone. Throws RequestError or Error naming field, expected and got.
InferRequest read_v2_request(const Body& body, std::optional<size_t> json_bytes);

// The whole body as the one input (Inference-Header-Content-Length: 0); it is BYTES, or the numbers
// of an input with at most one open dimension. All outputs are binary.
InferRequest read_v2_raw(const Body& body, std::span<const TensorSpec> inputs, bool takes_pictures);

struct V2Response {
  std::string body;
  size_t json_bytes = 0;  // 0: JSON alone
};

// `labels` may be empty. Throws RequestError for a requested output that the model does not have.
V2Response write_v2_response(const InferRequest& request, const InferResult& result,
                             std::span<const std::string> labels);

}  // namespace trainyard::serve

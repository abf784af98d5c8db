// Inference requests and responses of the Open Inference Protocol v2 over HTTP, with the
// extensions for binary tensors and for classification.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/early_numbers.h"
#include "base/json.h"
#include "http/body.h"
#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

// `json_bytes` is what Inference-Header-Content-Length says: so many bytes of JSON, then the binary
// tensors. None: JSON alone. `ahead` has numbers of the body, if there are any; `memory` the
// regions that tensors may lie in, null if there is none. Throws RequestError or Error naming
// field, expected and got.
InferRequest read_v2_request(const Body& body, std::optional<size_t> json_bytes,
                             const EarlyNumbers* ahead = nullptr,
                             const SharedMemory* memory = nullptr);

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

// What both forms of the protocol share, HTTP and gRPC.

// Priority, timeout or what is to be echoed; then, for all of them, whether the values make sense.
// Both throw Error naming a parameter with a wrong value.
void take_parameter(const std::string& name, Json value, InferRequest& request);
void check_parameters(const InferRequest& request);
// BYTES elements: a length of four bytes each, and so many bytes. Throws RequestError.
std::vector<std::string> split_texts(std::string_view bytes, std::string_view where);
std::string join_texts(std::span<const std::string> texts);
// The bytes of an input as the protocols send them: numbers in row-major order, or texts behind
// their lengths. The caller keeps `bytes` alive. Throws RequestError unless they fit the shape.
void take_bytes(InputTensor& input, std::string_view bytes, std::string_view where);
// The same from shared memory, copied into an owner of the request.
void take_shared(InputTensor& input, const SharedPlace& place, std::string_view where,
                 InferRequest& request);
// Throws RequestError unless `shape` has so many elements.
void require_elements(int64_t count, const std::vector<int64_t>& shape, std::string_view where);
// The best `count` of each row, or of all elements without rows, as texts "value:index:label", and
// their shape.
struct BestClasses {
  std::vector<std::string> texts;
  std::vector<int64_t> dims;
};
// Throws RequestError for texts, which have no order.
BestClasses best_classes(const Tensor& scores, int64_t count, std::span<const std::string> labels,
                         bool has_rows);
// Throws RequestError if there is none of that name.
const OutputTensor& find_output(const InferResult& result, const std::string& name);
// What the response needs to know after the inputs are gone.
std::shared_ptr<const InferRequest> without_inputs(const InferRequest& request);

}  // namespace trainyard::serve

// PredictRequest and PredictResponse of ONNX Runtime Server (2019): maps of TensorProto, as
// protobuf or as protobuf's JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/protocol/infer_request.h"
#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {

// Both throw Error naming the input and what is wrong with it.
InferRequest read_score_protobuf(const Body& body);
InferRequest read_score_json(const Body& body);

// The outputs that the request names, or all.
std::string write_score_protobuf(const InferRequest& request, const InferResult& result);
std::string write_score_json(const InferRequest& request, const InferResult& result);

}  // namespace trainyard::serve

// One request for inference between the protocols, which read it and write its answer, and the
// models, which compute it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "http/clock.h"
#include "serve/protocol/shared_memory.h"
#include "serve/protocol/tensor_types.h"

namespace trainyard::serve {

// Numbers in row-major order, which belong to the request's owners; or texts, which may be encoded
// pictures.
struct InputTensor {
  std::string name;
  std::optional<DType> dtype;  // none: BYTES
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  size_t bytes = 0;
  std::vector<std::string> texts = {};  // BYTES only
};

struct RequestedOutput {
  std::string name;
  bool binary = false;
  int64_t classes = 0;                     // > 0: the best so many, as "value:index:label"
  std::optional<SharedPlace> shared = {};  // where it is written to
};

// Stages of a request, for its statistics. Zero: not reached.
struct RequestTimes {
  Clock::time_point arrived = {};
  Clock::time_point queued = {};
  Clock::time_point started = {};    // inputs are put together
  Clock::time_point computing = {};  // the network runs
  Clock::time_point computed = {};
  Clock::time_point finished = {};
};

struct InferRequest {
  std::string id;
  std::vector<InputTensor> inputs;
  std::vector<RequestedOutput> outputs;  // empty: all
  bool all_binary = false;               // where `outputs` says nothing
  int64_t priority = 0;                  // 1 is the highest, 0 the model's default
  std::optional<std::chrono::microseconds> timeout;
  Json parameters = {};  // to be echoed; null: none
  // Whatever holds the inputs' bytes.
  std::vector<std::shared_ptr<const void>> owners;
  RequestTimes times;
};

struct OutputTensor {
  std::string name;
  Tensor data;
  // The elements of a tensor of texts, whose numbers in `data` mean nothing any more.
  std::vector<std::string> texts = {};
};

struct InferResult {
  std::vector<OutputTensor> outputs;  // all of the model's, in its order
  std::string model;
  std::string version;
  RequestTimes times;
  int64_t batch = 0;     // rows that were computed together
  bool has_rows = true;  // the first dimension of the outputs counts them
  bool from_cache = false;
};

// Called once, from any thread, with a result or the reason why there is none.
using InferDone = std::function<void(std::variant<InferResult, std::exception_ptr>)>;

}  // namespace trainyard::serve

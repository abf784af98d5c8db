#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/json_reader.h"
#include "http/status.h"
#include "serve/protocol/json_data.h"
#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {
namespace {

// Of inputs, and of outputs: names are looked up one by one.
constexpr size_t kMostTensors = 1024;
constexpr int kMostNested = 100;

// The binary tensors behind the JSON, taken from the front.
class BinaryTensors {
 public:
  explicit BinaryTensors(std::string_view bytes) : left_(bytes) {}

  std::string_view take(size_t size, std::string_view where) {
    if (size > left_.size()) {
      refuse(Status::kBadRequest, "{}: binary_data_size is {}, but only {} bytes are left", where,
             size, left_.size());
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

// An input while its fields come in any order.
struct DraftInput {
  InputTensor input;
  std::string place;  // in errors; made when it is needed
  bool has_shape = false;
  bool has_type = false;
  bool has_data = false;
  std::string_view raw_data;  // what could not be read yet
  std::optional<int64_t> binary_size;
  Json shared = Json::object();  // parameters about shared memory
};

// Reads a request in one pass over the text, without a tree: numbers go straight into tensors. What
// lies behind the JSON is dealt out last, when all inputs are known.
class RequestReader {
 public:
  RequestReader(const Body& body, std::string_view json, std::string_view blobs,
                const EarlyNumbers* ahead, const SharedMemory* memory)
      : body_(body),
        reader_(json, "the request", {.max_depth = kMostNested}),
        blobs_(blobs),
        has_blobs_(!blobs.empty()),
        ahead_(ahead),
        memory_(memory) {
    reader_.set_ahead(ahead);
  }

  InferRequest read() {
    std::string key;
    bool has_inputs = false;
    reader_.enter_object();
    while (reader_.next_key(key)) {
      if (skip_null(key)) continue;
      if (key == "id") {
        request_.id = reader_.text();
      } else if (key == "parameters") {
        read_parameters();
      } else if (key == "inputs") {
        has_inputs = true;
        read_inputs();
      } else if (key == "outputs") {
        read_outputs();
      } else {
        reader_.skip();
      }
    }
    reader_.finish();
    if (!has_inputs) refuse(Status::kBadRequest, "the request has no field 'inputs'");
    for (RequestedOutput& output : request_.outputs) {
      // The request's default holds where the output itself said nothing.
      if (!said_binary_[static_cast<size_t>(&output - request_.outputs.data())]) {
        output.binary = request_.all_binary;
      }
    }
    // After all fields: blobs belong to inputs in their order, wherever 'inputs' stands.
    take_blobs();
    request_.owners.push_back(body_.owner());
    return std::move(request_);
  }

 private:
  // An optional member that is null is not given: clients write what they have not set.
  bool skip_null(std::string_view key) {
    if (key == "name" || key == "datatype" || key == "shape" || key == "inputs" ||
        reader_.peek() != JsonReader::Kind::kNull) {
      return false;
    }
    reader_.skip();
    return true;
  }

  void read_parameters() {
    if (reader_.peek() != JsonReader::Kind::kObject) {
      reader_.fail("field 'parameters' is no object");
    }
    read_members([&](const std::string& key) {
      // A member is looked for among all others.
      constexpr size_t kMostParameters = 1024;
      if (!request_.parameters.is_null() &&
          request_.parameters.members().size() >= kMostParameters) {
        reader_.fail("too many parameters");
      }
      take_parameter(key, reader_.value(), request_);
    });
    check_parameters(request_);
  }

  // Calls `take` with each key of an object, to read the value.
  template <typename Take>
  void read_members(const Take& take) {
    std::string key;
    reader_.enter_object();
    while (reader_.next_key(key)) {
      if (!skip_null(key)) take(key);
    }
  }

  void read_inputs() {
    reader_.enter_array();
    while (reader_.next_item()) {
      if (drafts_.size() == kMostTensors) reader_.fail("too many inputs");
      read_input(drafts_.emplace_back());
    }
  }

  // Fields come in any order, but data can be read only once shape and type are known: before that
  // its text is set aside.
  void read_input(DraftInput& draft) {
    std::string key;
    reader_.enter_object();
    while (reader_.next_key(key)) {
      if (skip_null(key)) continue;
      if (key == "name") {
        draft.input.name = reader_.text();
        draft.place.clear();
      } else if (key == "datatype") {
        read_type(draft);
      } else if (key == "shape") {
        read_shape(draft);
      } else if (key == "parameters") {
        read_input_parameters(draft);
      } else if (key == "data") {
        if (draft.has_data) reader_.fail("a second 'data'");
        draft.has_data = true;
        if (draft.has_shape && draft.has_type) {
          read_data_in_place(draft);
        } else {
          draft.raw_data = reader_.skip();
        }
      } else {
        reader_.skip();
      }
    }
    finish_input(draft);
  }

  // Made late, since errors are rare and the texts are not free.
  const std::string& where(DraftInput& draft) const {
    if (draft.place.empty()) {
      const auto index = static_cast<size_t>(&draft - drafts_.data());
      draft.place = draft.input.name.empty() ? fmt::format("inputs[{}]", index)
                                             : "input '" + draft.input.name + "'";
    }
    return draft.place;
  }

  // Neither may come twice: data that was read would belong to another type or shape.
  void read_type(DraftInput& draft) {
    if (draft.has_type) reader_.fail("a second 'datatype'");
    const std::string name = reader_.text();
    // BYTES has no dtype: its elements are texts.
    if (name != "BYTES") draft.input.dtype = dtype_from_protocol(name, where(draft));
    draft.has_type = true;
  }

  void read_shape(DraftInput& draft) {
    constexpr size_t kMostDims = 32;
    if (draft.has_shape) reader_.fail("a second 'shape'");
    draft.input.shape.reserve(4);
    reader_.enter_array();
    while (reader_.next_item()) {
      if (draft.input.shape.size() == kMostDims) reader_.fail("too many dimensions");
      draft.input.shape.push_back(reader_.integer());
    }
    count_elements(draft.input.shape, where(draft));
    draft.has_shape = true;
  }

  void read_input_parameters(DraftInput& draft) {
    read_members([&](const std::string& key) {
      if (key == "binary_data_size") {
        draft.binary_size = reader_.integer();
        TY_REQUIRE(*draft.binary_size >= 0, "{}: binary_data_size is {}", where(draft),
                   *draft.binary_size);
      } else if (is_shared_parameter(key)) {
        draft.shared[key] = reader_.value();
      } else {
        reader_.skip();
      }
    });
  }

  // The reader knows where in the text, and not which input.
  void read_data_in_place(DraftInput& draft) {
    try {
      read_data(reader_, draft);
    } catch (const Error& error) {
      refuse(Status::kBadRequest, "{}: {}", where(draft), error.what());
    }
  }

  void read_data(JsonReader& reader, DraftInput& draft) {
    InputTensor& input = draft.input;
    if (!input.dtype) {
      input.texts = read_texts(reader);
      return;
    }
    auto tensor =
        std::make_shared<Tensor>(read_numbers(reader, *input.dtype, input.shape, where(draft)));
    input.data = static_cast<const std::byte*>(tensor->data());
    input.bytes = static_cast<size_t>(tensor->num_bytes());
    request_.owners.push_back(std::move(tensor));
  }

  void finish_input(DraftInput& draft) {
    const std::string& name = where(draft);
    if (draft.input.name.empty()) refuse(Status::kBadRequest, "{} has no 'name'", name);
    if (!draft.has_type) refuse(Status::kBadRequest, "{} has no 'datatype'", name);
    if (!draft.has_shape) refuse(Status::kBadRequest, "{} has no 'shape'", name);
    if (draft.has_data && draft.binary_size) {
      refuse(Status::kBadRequest, "{} has both 'data' and 'binary_data_size'", name);
    }
    // Cannot be told apart by emptiness: an empty view may be data that is there.
    if (draft.raw_data.data() != nullptr) {
      JsonReader reader(draft.raw_data, name);
      reader.set_ahead(ahead_);
      read_data(reader, draft);
    }
  }

  void read_outputs() {
    reader_.enter_array();
    while (reader_.next_item()) {
      if (request_.outputs.size() == kMostTensors) reader_.fail("too many outputs");
      read_output();
    }
  }

  void read_output_parameter(const std::string& name, RequestedOutput& output, bool& said,
                             Json& shared) {
    if (name == "binary_data") {
      output.binary = reader_.boolean();
      said = true;
    } else if (name == "classification") {
      output.classes = reader_.integer();
      TY_REQUIRE(output.classes > 0,
                 "outputs[{}].parameters.classification is {}, expected 1 or more",
                 request_.outputs.size(), output.classes);
    } else if (is_shared_parameter(name)) {
      shared[name] = reader_.value();
    } else {
      reader_.skip();
    }
  }

  void read_output() {
    RequestedOutput output;
    bool said = false;
    Json shared = Json::object();
    std::string key;
    reader_.enter_object();
    while (reader_.next_key(key)) {
      if (skip_null(key)) continue;
      if (key == "name") {
        output.name = reader_.text();
      } else if (key == "parameters") {
        read_members(
            [&](const std::string& name) { read_output_parameter(name, output, said, shared); });
      } else {
        reader_.skip();
      }
    }
    if (output.name.empty()) {
      refuse(Status::kBadRequest, "outputs[{}] has no 'name'", request_.outputs.size());
    }
    output.shared = shared_place(shared, memory_, "output '" + output.name + "'");
    request_.outputs.push_back(std::move(output));
    said_binary_.push_back(said);
  }

  void take_blobs() {
    for (DraftInput& draft : drafts_) {
      InputTensor& input = draft.input;
      if (const auto place = shared_place(draft.shared, memory_, where(draft))) {
        if (draft.has_data || draft.binary_size) {
          refuse(Status::kBadRequest, "{} has both data and a shared_memory_region", where(draft));
        }
        take_shared(input, *place, where(draft), request_);
      } else if (!draft.has_data) {
        // A lone input may leave the size out: it is what is there.
        if (!draft.binary_size && drafts_.size() == 1 && has_blobs_) {
          draft.binary_size = static_cast<int64_t>(blobs_.left());
        }
        if (!draft.binary_size) refuse(Status::kBadRequest, "{} has no 'data'", where(draft));
        take_bytes(input, blobs_.take(static_cast<size_t>(*draft.binary_size), where(draft)),
                   where(draft));
      } else if (!input.dtype) {
        check_count(draft);
      }
      request_.inputs.push_back(std::move(input));
    }
    // Bytes that no input claims mean that client and server disagree about the request.
    if (blobs_.left() > 0) {
      refuse(Status::kBadRequest, "{} bytes follow the last binary tensor", blobs_.left());
    }
  }

  void check_count(DraftInput& draft) const {
    require_elements(static_cast<int64_t>(draft.input.texts.size()), draft.input.shape,
                     where(draft));
  }

  Body body_;
  JsonReader reader_;
  BinaryTensors blobs_;
  bool has_blobs_;
  const EarlyNumbers* ahead_;
  const SharedMemory* memory_;
  InferRequest request_;
  std::vector<DraftInput> drafts_;
  std::vector<bool> said_binary_;
};

}  // namespace

// Shared with gRPC. What is not known comes back in the answer (Open Inference Protocol).
void take_parameter(const std::string& name, Json value, InferRequest& request) {
  if (name == "binary_data_output") {
    request.all_binary = value.as_bool();
  } else if (name == "priority") {
    request.priority = value.as_int();
  } else if (name == "timeout") {
    request.timeout = std::chrono::microseconds(value.as_int());
  } else {
    request.parameters[name] = std::move(value);
  }
}

void check_parameters(const InferRequest& request) {
  TY_REQUIRE(request.priority >= 0, "parameters.priority is {}, expected 0 or more",
             request.priority);
  TY_REQUIRE(!request.timeout || request.timeout->count() >= 0,
             "parameters.timeout is {} us, expected 0 or more", request.timeout->count());
}

std::vector<std::string> split_texts(std::string_view bytes, std::string_view where) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    uint32_t size = 0;
    if (bytes.size() < sizeof size) {
      refuse(Status::kBadRequest, "{}: a BYTES element ends within its length", where);
    }
    // Little-endian, like the machines that this runs on.
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (size > bytes.size()) {
      refuse(Status::kBadRequest, "{}: a BYTES element of {} bytes, but only {} are left", where,
             size, bytes.size());
    }
    texts.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return texts;
}

// What lies in the body is a view into it, at any alignment; workers copy it.
void take_bytes(InputTensor& input, std::string_view bytes, std::string_view where) {
  if (!input.dtype) {
    input.texts = split_texts(bytes, where);
    return require_elements(static_cast<int64_t>(input.texts.size()), input.shape, where);
  }
  const int64_t wanted = count_elements(input.shape, where) * dtype_size(*input.dtype);
  if (static_cast<int64_t>(bytes.size()) != wanted) {
    refuse(Status::kBadRequest, "{}: {} of shape {} has {} bytes, got {}", where,
           protocol_name(*input.dtype), dims_text(input.shape), wanted, bytes.size());
  }
  input.data = reinterpret_cast<const std::byte*>(bytes.data());
  input.bytes = bytes.size();
}

void take_shared(InputTensor& input, const SharedPlace& place, std::string_view where,
                 InferRequest& request) {
  // No larger than what the client has put there.
  auto bytes = std::make_shared<std::string>(place.bytes, '\0');
  place.region->read(place.offset, std::as_writable_bytes(std::span(*bytes)));
  take_bytes(input, *bytes, where);
  request.owners.push_back(std::move(bytes));
}

void require_elements(int64_t count, const std::vector<int64_t>& shape, std::string_view where) {
  const int64_t wanted = count_elements(shape, where);
  if (wanted != count) {
    refuse(Status::kBadRequest, "{}: data has {} elements, shape {} needs {}", where, count,
           dims_text(shape), wanted);
  }
}

// What writing an answer needs.
std::shared_ptr<const InferRequest> without_inputs(const InferRequest& request) {
  auto rest = std::make_shared<InferRequest>();
  rest->id = request.id;
  rest->outputs = request.outputs;
  rest->all_binary = request.all_binary;
  rest->parameters = request.parameters;
  return rest;
}

InferRequest read_v2_request(const Body& body, std::optional<size_t> json_bytes,
                             const EarlyNumbers* ahead, const SharedMemory* memory) {
  const std::string_view whole = *body;
  if (json_bytes && *json_bytes > whole.size()) {
    refuse(Status::kBadRequest, "Inference-Header-Content-Length is {}, but the body has {} bytes",
           *json_bytes, whole.size());
  }
  const size_t split = json_bytes.value_or(whole.size());
  return RequestReader(body, whole.substr(0, split), whole.substr(split), ahead, memory).read();
}

// One text, without the length in front that elements of several have.
static InferRequest read_raw_text(const Body& body, const TensorSpec& spec) {
  std::vector<int64_t> shape = spec.client_dims();
  if (!shape.empty() && shape[0] < 0) shape[0] = 1;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim != 1; })) {
    refuse(Status::kBadRequest,
           "For BYTE datatype raw input '{}', the model must have input shape [1]; it is {}",
           spec.name, dims_text(spec.client_dims()));
  }
  InferRequest request;
  request.all_binary = true;
  request.inputs.push_back({.name = spec.name, .dtype = std::nullopt, .shape = std::move(shape)});
  request.inputs.back().texts.emplace_back(*body);
  return request;
}

// The body is the tensor itself, or a picture. One dimension beside the batch may be open; its
// length follows from the number of bytes.
InferRequest read_v2_raw(const Body& body, std::span<const TensorSpec> inputs,
                         bool takes_pictures) {
  if (inputs.size() != 1) {
    refuse(Status::kBadRequest,
           "Raw request must only have 1 input (found 1) to be deduced but got {} inputs in the "
           "model",
           inputs.size());
  }
  const TensorSpec& spec = inputs[0];
  const std::vector<int64_t>& dims = spec.client_dims();
  if (spec.dtype == DType::kText) return read_raw_text(body, spec);
  InferRequest request;
  request.all_binary = true;
  request.owners.push_back(body.owner());
  // Of a picture: one text.
  InputTensor input{.name = spec.name, .dtype = std::nullopt, .shape = {1}};
  int64_t known = dtype_size(spec.dtype);
  size_t open = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool batch = i == 0 && dims[i] < 0;
    if (dims[i] >= 0) known *= dims[i];
    if (dims[i] < 0 && !batch && open != dims.size()) {
      refuse(Status::kBadRequest,
             "The shape of the raw input '{}' can not be deduced because there are more than one "
             "variable-sized dimension: it is {}",
             spec.name, dims_text(dims));
    }
    if (dims[i] < 0 && !batch) open = i;
  }
  const auto size = static_cast<int64_t>(body->size());
  const bool numbers = open != dims.size() ? known > 0 && size % known == 0 : size == known;
  // A size that does not fit is taken for a picture file, which decoding checks.
  if (!numbers && takes_pictures) {
    input.texts.emplace_back(*body);
    request.inputs.push_back(std::move(input));
    return request;
  }
  if (!numbers) {
    refuse(Status::kBadRequest, "input '{}' is {} {}: expected {}{} bytes, got {}", spec.name,
           protocol_name(spec.dtype), dims_text(dims), open != dims.size() ? "a multiple of " : "",
           known, size);
  }
  input.dtype = spec.dtype;
  input.shape = dims;
  if (!input.shape.empty() && input.shape[0] < 0) input.shape[0] = 1;
  if (open != dims.size()) input.shape[open] = size / known;
  input.data = reinterpret_cast<const std::byte*>(body->data());
  input.bytes = body->size();
  request.inputs.push_back(std::move(input));
  return request;
}

}  // namespace trainyard::serve

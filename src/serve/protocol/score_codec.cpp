#include "serve/protocol/score_codec.h"

#include <array>
#include <cstring>

#include "base/base64.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/wire.h"
#include "http/status.h"
#include "models/onnx/model_reader.h"
#include "models/onnx/tensor_reader.h"
#include "serve/protocol/json_data.h"

namespace trainyard::serve {
namespace {

// Names of TensorProto.DataType, by number.
constexpr std::array<std::string_view, 17> kDataTypes = {
    "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
    "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
    "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};

constexpr int32_t kTextType = 8;

int data_type_of(DType dtype) {
  for (const int number : {1, 2, 3, 4, 5, 6, 7, kTextType, 9, 10, 11, 12, 13, 16}) {
    if (onnx_io::require_dtype(number) == dtype) return number;
  }
  TY_CHECK(false, "dtype {} has no number", dtype_name(dtype));
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The request keeps the tensor alive; its input points into it.
void add_tensor(InferRequest& request, std::string name, Tensor tensor) {
  auto kept = std::make_shared<Tensor>(std::move(tensor));
  request.inputs.push_back({.name = std::move(name),
                            .dtype = kept->dtype(),
                            .shape = kept->shape().vector(),
                            .data = static_cast<const std::byte*>(kept->data()),
                            .bytes = static_cast<size_t>(kept->num_bytes())});
  request.owners.push_back(std::move(kept));
}

void add_texts(InferRequest& request, std::string name, std::vector<int64_t> dims,
               std::vector<std::string> texts) {
  require_elements(static_cast<int64_t>(texts.size()), dims, fmt::format("input '{}'", name));
  request.inputs.push_back({.name = std::move(name),
                            .dtype = std::nullopt,
                            .shape = std::move(dims),
                            .texts = std::move(texts)});
}

// A TensorProto of texts, read apart from others: tensors would keep their texts for ever.
// Nothing if it has another type.
std::optional<std::pair<std::vector<int64_t>, std::vector<std::string>>> read_text_tensor(
    Bytes message) {
  constexpr size_t kMostDims = 32;
  std::vector<int64_t> dims;
  std::vector<std::string> texts;
  bool is_text = false;
  const auto add_dim = [&](uint64_t dim) {
    TY_REQUIRE(dims.size() < kMostDims, "too many dimensions");
    dims.push_back(static_cast<int64_t>(dim));
  };
  WireReader reader(message);
  while (!reader.done()) {
    // dims, data_type and string_data.
    const WireField field = reader.next();
    if (field.type == WireType::kVarint && field.number <= 2) {
      WireReader number(field.whole);
      number.varint();  // the tag
      const uint64_t value = number.varint();
      if (field.number == 1) add_dim(value);
      if (field.number == 2) is_text = value == kTextType;
    } else if (field.number == 1) {
      WireReader packed(field.content);
      while (!packed.done()) add_dim(packed.varint());
    } else if (field.number == 6) {
      texts.emplace_back(text_of(field.content));
    }
  }
  if (!is_text) return std::nullopt;
  return std::pair(std::move(dims), std::move(texts));
}

// {1: name, 2: TensorProto}
void read_entry(Bytes entry, InferRequest& request) {
  std::string name;
  Bytes tensor;
  WireReader reader(entry);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) name = std::string(text_of(field.content));
    if (field.number == 2) tensor = field.content;
  }
  try {
    if (auto texts = read_text_tensor(tensor)) {
      return add_texts(request, name, std::move(texts->first), std::move(texts->second));
    }
    add_tensor(request, name, onnx_io::read_tensor(tensor, nullptr, {}));
  } catch (const Error& error) {
    throw_error("input '{}': {}", name, error.what());
  }
}

// A TensorProto in JSON while its fields come in any order.
class JsonTensor {
 public:
  explicit JsonTensor(const std::string& name) : name_(name) {}

  void read(JsonReader& reader, InferRequest& request) {
    std::string key;
    reader.enter_object();
    while (reader.next_key(key)) {
      if (key == "dims") {
        read_dims(reader);
      } else if (key == "dataType" || key == "data_type") {
        read_type(reader);
      } else if (key == "rawData" || key == "raw_data") {
        read_raw(reader);
      } else if (key.ends_with("Data") || key.ends_with("_data")) {
        // floatData, int32Data and so on: which of them does not matter, as the type says how to
        // read it.
        numbers_ = reader.skip();
      } else {
        reader.skip();
      }
    }
    if (type_ == kTextType) return add_texts(request, name_, dims_, texts());
    add_tensor(request, name_, make());
  }

 private:
  // Bytes are in Base64 (protobuf's JSON).
  std::vector<std::string> texts() const {
    const std::string where = "input '" + name_ + "'";
    TY_REQUIRE(numbers_.data() != nullptr, "{} has no stringData", where);
    JsonReader reader(numbers_, where);
    std::vector<std::string> texts = read_texts(reader);
    for (std::string& text : texts) text = from_base64(text);
    return texts;
  }

  void read_raw(JsonReader& reader) {
    try {
      raw_ = from_base64(reader.text());
    } catch (const Error& error) {
      throw_error("input '{}': rawData is not the tensor's bytes in Base64: {}", name_,
                  error.what());
    }
    has_raw_ = true;
  }

  void read_dims(JsonReader& reader) {
    reader.enter_array();
    while (reader.next_item()) {
      // 64-bit numbers are texts in protobuf's JSON.
      if (reader.peek() == JsonReader::Kind::kText) {
        const std::string text = reader.text();
        JsonReader number(text, "dims");
        dims_.push_back(number.integer());
      } else {
        dims_.push_back(reader.integer());
      }
      if (dims_.size() > 32) reader.fail("too many dimensions");
    }
  }

  void read_type(JsonReader& reader) {
    if (reader.peek() != JsonReader::Kind::kText) {
      // Clamped so that the conversion is safe; no number that large is a type.
      type_ = static_cast<int32_t>(std::min<int64_t>(reader.integer(), 1000));
      return;
    }
    const std::string word = reader.text();
    for (size_t i = 0; i < kDataTypes.size(); ++i) {
      if (kDataTypes[i] == word) type_ = static_cast<int32_t>(i);
    }
  }

  Tensor make() const {
    const std::string where = "input '" + name_ + "'";
    TY_REQUIRE(type_ != 0, "{} has no dataType that is known", where);
    const DType dtype = onnx_io::require_dtype(type_);
    const int64_t count = count_elements(dims_, where);
    if (!has_raw_) {
      TY_REQUIRE(numbers_.data() != nullptr, "{} has no data", where);
      JsonReader reader(numbers_, where);
      return read_numbers(reader, dtype, dims_, where);
    }
    TY_REQUIRE(static_cast<int64_t>(raw_.size()) == count * dtype_size(dtype),
               "{}: {} of shape {} has {} bytes, got {}", where, dtype_name(dtype),
               dims_text(dims_), count * dtype_size(dtype), raw_.size());
    Tensor tensor(dtype, Shape(dims_));
    if (!raw_.empty()) std::memcpy(tensor.data(), raw_.data(), raw_.size());
    return tensor;
  }

  const std::string& name_;
  std::vector<int64_t> dims_;
  int32_t type_ = 0;
  std::string raw_;
  bool has_raw_ = false;
  std::string_view numbers_;
};

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

void append_field(std::string& out, uint32_t number, std::string_view content) {
  append_bytes_header(out, number, content.size());
  out += content;
}

std::string tensor_proto(const OutputTensor& output) {
  const Tensor& tensor = output.data;
  constexpr uint32_t kDims = 1;
  constexpr uint32_t kDataType = 2;
  constexpr uint32_t kRawData = 9;
  std::string out;
  // Unpacked: dims of TensorProto are not declared as packed in proto2.
  for (const int64_t dim : tensor.shape().dims()) {
    append_varint(out, kDims << 3);
    append_varint(out, static_cast<uint64_t>(dim));
  }
  append_varint(out, kDataType << 3);
  append_varint(out, static_cast<uint64_t>(data_type_of(tensor.dtype())));
  constexpr uint32_t kStringData = 6;
  for (const std::string& text : output.texts) append_field(out, kStringData, text);
  if (tensor.dtype() != DType::kText) append_field(out, kRawData, bytes_of(tensor));
  return out;
}

// Calls f(output) for each that is wanted.
template <typename F>
void for_outputs(const InferRequest& request, const InferResult& result, F&& f) {
  for (const OutputTensor& output : result.outputs) {
    bool wanted = request.outputs.empty();
    for (const RequestedOutput& named : request.outputs)
      wanted = wanted || named.name == output.name;
    if (wanted) f(output);
  }
}

}  // namespace

InferRequest read_score_protobuf(const Body& body) {
  constexpr uint32_t kInputs = 2;
  constexpr uint32_t kOutputFilter = 3;
  InferRequest request;
  WireReader reader(std::as_bytes(std::span(*body)));
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.type != WireType::kBytes) continue;
    if (field.number == kInputs) read_entry(field.content, request);
    if (field.number == kOutputFilter) {
      request.outputs.push_back({.name = std::string(text_of(field.content))});
    }
    // Each of them is looked for among the others.
    TY_REQUIRE(request.inputs.size() + request.outputs.size() <= 1024, "too many tensors");
  }
  return request;
}

InferRequest read_score_json(const Body& body) {
  InferRequest request;
  JsonReader reader(*body, "the request");
  std::string key;
  reader.enter_object();
  while (reader.next_key(key)) {
    if (key == "inputs") {
      std::string name;
      reader.enter_object();
      while (reader.next_key(name)) {
        if (request.inputs.size() >= 1024) reader.fail("too many inputs");
        JsonTensor(name).read(reader, request);
      }
    } else if (key == "outputFilter" || key == "output_filter") {
      for (std::string& name : read_texts(reader)) {
        request.outputs.push_back({.name = std::move(name)});
      }
    } else {
      reader.skip();
    }
  }
  reader.finish();
  return request;
}

std::string write_score_protobuf(const InferRequest& request, const InferResult& result) {
  std::string out;
  for_outputs(request, result, [&](const OutputTensor& output) {
    std::string entry;
    append_field(entry, 1, output.name);
    append_field(entry, 2, tensor_proto(output));
    append_field(out, 1, entry);
  });
  return out;
}

std::string write_score_json(const InferRequest& request, const InferResult& result) {
  Json outputs = Json::object();
  for_outputs(request, result, [&](const OutputTensor& output) {
    const Tensor& tensor = output.data;
    Json dims = Json::array();
    // Protobuf's JSON mapping writes 64-bit integers as texts, bytes in Base64.
    for (const int64_t dim : tensor.shape().dims()) dims.push_back(std::to_string(dim));
    Json& written = outputs[output.name];
    written = Json::object({{"dims", std::move(dims)}, {"dataType", data_type_of(tensor.dtype())}});
    if (tensor.dtype() != DType::kText) {
      written["rawData"] = to_base64(bytes_of(tensor));
      return;
    }
    written["stringData"] = Json::array();
    for (const std::string& text : output.texts) written["stringData"].push_back(to_base64(text));
  });
  return Json::object({{"outputs", std::move(outputs)}}).dump(-1);
}

}  // namespace trainyard::serve

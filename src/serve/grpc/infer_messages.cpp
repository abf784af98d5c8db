#include "serve/grpc/infer_messages.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/wire.h"
#include "http/status.h"
#include "serve/protocol/json_data.h"
#include "tensor/dispatch.h"

namespace trainyard::serve {
namespace {

constexpr size_t kMostItems = 1024;  // inputs, outputs, parameters
constexpr size_t kMostDims = 32;

std::string text_of(const WireField& field) {
  return {reinterpret_cast<const char*>(field.content.data()), field.content.size()};
}

// Of protobuf's type string, which is UTF-8: others could not be sent back.
std::string string_of(const WireField& field) {
  std::string text = text_of(field);
  if (!is_utf8(text)) refuse(Status::kBadRequest, "'{}' is not UTF-8", printable_line(text));
  return text;
}

// The number of a field that is one.
// `whole` is the field with its tag, which WireReader has found to be complete.
uint64_t varint_of(const WireField& field) {
  WireReader reader(field.whole);
  reader.varint();  // the tag
  return reader.varint();
}

template <typename T>
T fixed_of(const WireField& field) {
  T value{};
  std::memcpy(&value, field.whole.data() + field.whole.size() - sizeof value, sizeof value);
  return value;
}

// InferParameter. One whose kind is not known is null.
Json read_parameter(Bytes message) {
  Json value;
  WireReader reader(message);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.type == WireType::kVarint) {
      const uint64_t number = varint_of(field);
      // Field numbers of open_inference.proto: bool_param, int64_param, string_param, double_param,
      // uint64_param.
      if (field.number == 1) value = Json(number != 0);
      if (field.number == 2) value = Json(static_cast<int64_t>(number));
      if (field.number == 5) value = Json(number);
    }
    if (field.number == 3 && field.type == WireType::kBytes) value = Json(string_of(field));
    if (field.number == 4 && field.type == WireType::kFixed64)
      value = Json(fixed_of<double>(field));
  }
  return value;
}

// One entry of map<string, InferParameter>.
void read_entry(Bytes message, Json& parameters) {
  // Members are looked for one by one, so their number is bounded.
  if (parameters.members().size() == kMostItems) {
    refuse(Status::kBadRequest, "more than {} parameters", kMostItems);
  }
  std::string name;
  Json value;
  WireReader reader(message);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) name = string_of(field);
    if (field.number == 2) value = read_parameter(field.content);
  }
  parameters[name] = std::move(value);
}

// Packed or not: parsers must accept both (protobuf encoding).
void read_dims(const WireField& field, std::vector<int64_t>& dims) {
  const auto add = [&](uint64_t dim) {
    if (dims.size() == kMostDims) refuse(Status::kBadRequest, "too many dimensions");
    dims.push_back(static_cast<int64_t>(dim));
  };
  if (field.type == WireType::kVarint) return add(varint_of(field));
  WireReader packed(field.content);
  while (!packed.done()) add(packed.varint());
}

// Fields of InferTensorContents by number; 0 is none. Smaller integers and half floats share a
// field or have none.
constexpr std::array<std::string_view, 9> kContents = {"",
                                                       "bool_contents",
                                                       "int_contents",
                                                       "int64_contents",
                                                       "uint_contents",
                                                       "uint64_contents",
                                                       "fp32_contents",
                                                       "fp64_contents",
                                                       "bytes_contents"};
constexpr uint32_t kBytesContents = 8;

// Which field of InferTensorContents holds elements of a type; 0: none.
template <typename T>
constexpr uint32_t contents_field() {
  if constexpr (std::is_same_v<T, bool>) return 1;
  if constexpr (std::is_same_v<T, float>) return 6;
  if constexpr (std::is_same_v<T, double>) return 7;
  if constexpr (std::is_same_v<T, int64_t>) return 3;
  if constexpr (std::is_same_v<T, uint64_t>) return 5;
  if constexpr (std::is_integral_v<T>) return std::is_signed_v<T> ? 2 : 4;
  return 0;
}

// Values of narrow types travel as wider ones, so each is checked to fit.
template <typename T>
T element(uint64_t number, std::string_view where) {
  if constexpr (std::is_same_v<T, bool>) {
    return number != 0;
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(number);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    const auto value = static_cast<Wide>(number);
    if (value < static_cast<Wide>(std::numeric_limits<T>::min()) ||
        value > static_cast<Wide>(std::numeric_limits<T>::max())) {
      refuse(Status::kBadRequest, "{}: {} does not fit into {}", where, value,
             protocol_name(DTypeOf<T>::kValue));
    }
    return static_cast<T>(value);
  }
}

// The elements of one field, packed or single.
template <typename T>
void append_elements(const WireField& field, std::vector<std::byte>& out, std::string_view where) {
  const auto put = [&](T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  // Fixed-width numbers are little-endian on the wire, as in memory.
  if constexpr (std::is_floating_point_v<T>) {
    const WireType single = sizeof(T) == 4 ? WireType::kFixed32 : WireType::kFixed64;
    if (field.type == single) return put(fixed_of<T>(field));
    if (field.type != WireType::kBytes || field.content.size() % sizeof(T) != 0) {
      refuse(Status::kBadRequest, "{}: {} does not hold whole numbers of {} bytes", where,
             kContents[field.number], sizeof(T));
    }
    out.insert(out.end(), field.content.begin(), field.content.end());
  } else {
    if (field.type == WireType::kVarint) return put(element<T>(varint_of(field), where));
    WireReader packed(field.content);
    while (!packed.done()) put(element<T>(packed.varint(), where));
  }
}

struct Draft {
  InputTensor input;
  std::string datatype;
  std::vector<Bytes> contents;  // several would be one message in parts
  std::optional<SharedPlace> shared;
};

// Reads the message without generated code, so that raw tensors stay where they are in the body.
class RequestReader {
 public:
  RequestReader(const Body& message, const SharedMemory* memory)
      : message_(message), memory_(memory) {}

  InferMessage read() {
    WireReader reader(std::as_bytes(std::span(*message_)));
    while (!reader.done()) read_field(reader.next());
    // After all fields, since a later entry of a map replaces an earlier one of the same name.
    if (parameters_.is_object()) {
      for (const auto& [name, value] : parameters_.members()) {
        take_parameter(name, value, out_.request);
      }
    }
    check_parameters(out_.request);
    const auto sent = static_cast<size_t>(std::count_if(
        drafts_.begin(), drafts_.end(), [](const Draft& draft) { return !draft.shared; }));
    if (!raw_.empty() && raw_.size() != sent) {
      refuse(Status::kBadRequest,
             "raw_input_contents has {} entries, expected one for each of {} inputs", raw_.size(),
             sent);
    }
    size_t next = 0;  // of raw_input_contents
    for (size_t i = 0; i < drafts_.size(); ++i) finish_input(i, next);
    out_.request.all_binary = true;
    out_.request.owners.push_back(message_.owner());
    return std::move(out_);
  }

 private:
  // Fields of ModelInferRequest; those of other numbers are skipped, as protobuf asks.
  void read_field(const WireField& field) {
    if (field.type != WireType::kBytes) return;
    switch (field.number) {
      case 1:
        out_.model = string_of(field);
        break;
      case 2:
        out_.version = string_of(field);
        break;
      case 3:
        out_.request.id = string_of(field);
        break;
      case 4:
        read_entry(field.content, parameters_);
        break;
      case 5:
        read_input(field.content);
        break;
      case 6:
        read_output(field.content);
        break;
      case 7:
        if (raw_.size() == kMostItems) refuse(Status::kBadRequest, "too many inputs");
        raw_.push_back(field.content);
        break;
      default:
        break;
    }
  }

  void read_input(Bytes message) {
    if (drafts_.size() == kMostItems) refuse(Status::kBadRequest, "too many inputs");
    Draft& draft = drafts_.emplace_back();
    Json parameters = Json::object();
    WireReader reader(message);
    while (!reader.done()) {
      // Fields of InferInputTensor: name, datatype, shape, parameters, contents.
      const WireField field = reader.next();
      if (field.number == 1) draft.input.name = string_of(field);
      if (field.number == 2) draft.datatype = string_of(field);
      if (field.number == 3) read_dims(field, draft.input.shape);
      if (field.number == 4) read_entry(field.content, parameters);
      if (field.number == 5) draft.contents.push_back(field.content);
    }
    draft.shared = shared_place(parameters, memory_, "input '" + draft.input.name + "'");
  }

  void read_output(Bytes message) {
    if (out_.request.outputs.size() == kMostItems) refuse(Status::kBadRequest, "too many outputs");
    RequestedOutput output;
    output.binary = true;
    Json parameters = Json::object();
    WireReader reader(message);
    while (!reader.done()) {
      const WireField field = reader.next();
      if (field.number == 1) output.name = string_of(field);
      if (field.number == 2) read_entry(field.content, parameters);
    }
    output.shared = shared_place(parameters, memory_, "output '" + output.name + "'");
    if (const Json* classes = parameters.find("classification")) {
      output.classes = classes->as_int();
      TY_REQUIRE(output.classes > 0,
                 "output '{}': parameters.classification is {}, expected 1 or more", output.name,
                 output.classes);
    }
    out_.request.outputs.push_back(std::move(output));
  }

  // `next` counts the raw_input_contents, which are there for all inputs that do not lie in shared
  // memory, or for none.
  void finish_input(size_t index, size_t& next) {
    Draft& draft = drafts_[index];
    InputTensor& input = draft.input;
    const std::string where = input.name.empty() ? fmt::format("inputs[{}]", index)
                                                 : fmt::format("input '{}'", input.name);
    const bool texts = draft.datatype == "BYTES";
    if (!texts) input.dtype = dtype_from_protocol(draft.datatype, where);
    if (draft.shared) {
      take_shared(input, *draft.shared, where, out_.request);
    } else if (raw_.empty()) {
      take_contents(draft, where);
    } else if (!draft.contents.empty()) {
      refuse(Status::kBadRequest,
             "{} has contents and there are raw_input_contents; send one of them", where);
    } else {
      const Bytes raw = raw_[next++];
      take_bytes(input, {reinterpret_cast<const char*>(raw.data()), raw.size()}, where);
    }
    out_.request.inputs.push_back(std::move(input));
  }

  // Calls `take` for each field of the contents that is of that number; others are refused.
  template <typename Take>
  static void for_contents(const Draft& draft, uint32_t number, const std::string& where,
                           Take&& take) {
    for (const Bytes message : draft.contents) {
      WireReader reader(message);
      while (!reader.done()) {
        const WireField field = reader.next();
        if (field.number >= kContents.size()) continue;
        if (field.number != number) {
          refuse(Status::kBadRequest, "{}: contents are in {}, expected {} for {}", where,
                 kContents[field.number], kContents[number], draft.datatype);
        }
        take(field);
      }
    }
  }

  void take_contents(Draft& draft, const std::string& where) {
    InputTensor& input = draft.input;
    if (!input.dtype) {
      for_contents(draft, kBytesContents, where,
                   [&](const WireField& field) { input.texts.push_back(text_of(field)); });
      return require_elements(static_cast<int64_t>(input.texts.size()), input.shape, where);
    }
    auto bytes = std::make_shared<std::vector<std::byte>>();
    for_type(*input.dtype, [&]<typename T>(T) {
      constexpr uint32_t kField = contents_field<T>();
      if constexpr (kField == 0) {
        refuse(Status::kBadRequest, "{}: {} has no field in contents; send raw_input_contents",
               where, draft.datatype);
      } else {
        for_contents(draft, kField, where,
                     [&](const WireField& field) { append_elements<T>(field, *bytes, where); });
      }
    });
    require_elements(static_cast<int64_t>(bytes->size()) / dtype_size(*input.dtype), input.shape,
                     where);
    input.data = bytes->data();
    input.bytes = bytes->size();
    out_.request.owners.push_back(std::move(bytes));
  }

  Body message_;
  const SharedMemory* memory_;
  InferMessage out_;
  Json parameters_ = Json::object();
  std::vector<Draft> drafts_;
  std::vector<Bytes> raw_;
};

void append_field(std::string& out, uint32_t number, std::string_view content) {
  append_bytes_header(out, number, content.size());
  out += content;
}

// map<string, InferParameter>, as field `number`.
void append_parameters(std::string& out, uint32_t number, const Json& parameters) {
  for (const auto& [name, value] : parameters.members()) {
    std::string parameter;
    if (value.is_string()) {
      append_field(parameter, 3, value.as_string());
    } else if (value.is_bool() || value.is_int()) {
      append_tag(parameter, value.is_bool() ? 1 : 2, WireType::kVarint);
      append_varint(parameter, value.is_bool() ? static_cast<uint64_t>(value.as_bool())
                                               : static_cast<uint64_t>(value.as_int()));
    } else if (value.is_number()) {
      append_tag(parameter, 4, WireType::kFixed64);
      const double number_value = value.as_number();
      parameter.append(reinterpret_cast<const char*>(&number_value), sizeof number_value);
    }
    // Maps are entries {1: key, 2: value} of a repeated field.
    std::string entry;
    append_field(entry, 1, name);
    append_field(entry, 2, parameter);
    append_field(out, number, entry);
  }
}

// InferOutputTensor, without contents.
void append_output(std::string& out, std::string_view name, std::string_view datatype,
                   std::span<const int64_t> dims, const Json& parameters) {
  std::string output;
  append_field(output, 1, name);
  append_field(output, 2, datatype);
  std::string packed;
  for (const int64_t dim : dims) append_varint(packed, static_cast<uint64_t>(dim));
  append_field(output, 3, packed);
  append_parameters(output, 4, parameters);
  append_field(out, 5, output);
}

}  // namespace

InferMessage read_infer_message(const Body& message, const SharedMemory* memory) {
  return RequestReader(message, memory).read();
}

std::string write_infer_message(const InferRequest& request, const InferResult& result,
                                std::span<const std::string> labels) {
  std::string out;
  append_field(out, 1, result.model);
  append_field(out, 2, result.version);
  if (!request.id.empty()) append_field(out, 3, request.id);
  if (!request.parameters.is_null()) append_parameters(out, 4, request.parameters);
  std::vector<RequestedOutput> wanted = request.outputs;
  if (wanted.empty()) {
    for (const OutputTensor& output : result.outputs) wanted.push_back({.name = output.name});
  }
  // Sized beforehand: blobs are views into these, so none may move.
  std::vector<std::string> texts(wanted.size());  // of classes
  std::vector<std::string_view> blobs;
  size_t blob_bytes = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const OutputTensor& output = find_output(result, wanted[i].name);
    const Tensor& tensor = output.data;
    std::string_view datatype = "BYTES";
    std::vector<int64_t> dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
    if (wanted[i].classes > 0) {
      BestClasses best = best_classes(tensor, wanted[i].classes, labels, result.has_rows);
      texts[i] = join_texts(best.texts);
      dims = std::move(best.dims);
      blobs.emplace_back(texts[i]);
    } else if (tensor.dtype() == DType::kText) {
      texts[i] = join_texts(output.texts);
      blobs.emplace_back(texts[i]);
    } else {
      datatype = protocol_name(tensor.dtype());
      blobs.emplace_back(static_cast<const char*>(tensor.data()),
                         static_cast<size_t>(tensor.num_bytes()));
    }
    Json parameters = Json::object();
    if (wanted[i].shared) {
      write_shared(*wanted[i].shared, blobs.back(), wanted[i].name);
      parameters = shared_parameters(*wanted[i].shared, blobs.back().size());
      blobs.back() = {};
    }
    append_output(out, wanted[i].name, datatype, dims, parameters);
    // More than any tag and length take.
    constexpr size_t kHeader = 16;
    blob_bytes += blobs.back().size() + kHeader;
  }
  out.reserve(out.size() + blob_bytes);
  for (const std::string_view blob : blobs) append_field(out, 6, blob);
  return out;
}

}  // namespace trainyard::serve

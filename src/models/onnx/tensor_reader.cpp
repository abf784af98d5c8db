#include "models/onnx/tensor_reader.h"

#include <cstring>

#include "base/error.h"
#include "base/parse_number.h"
#include "models/onnx/proto.h"
#include "ops/layout/dtype_code.h"
#include "tensor/text.h"

namespace trainyard::onnx_io {
namespace {

using onnx::TensorProto;

TensorType declared_type(const TensorProto& proto) {
  TensorType type{require_dtype(proto.data_type()), {}};
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  for (const int64_t d : dims) TY_REQUIRE(d >= 0, "it has a dimension of {}", d);
  type.shape = Shape(std::move(dims));
  (void)type.num_bytes();  // refuses what overflows
  return type;
}

// The typed field of TensorProto in which numbers of a type are kept.
uint32_t typed_field(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return TensorProto::kFloatDataFieldNumber;
    case DType::kF64:
      return TensorProto::kDoubleDataFieldNumber;
    case DType::kI64:
      return TensorProto::kInt64DataFieldNumber;
    case DType::kU32:
    case DType::kU64:
      return TensorProto::kUint64DataFieldNumber;
    default:
      return TensorProto::kInt32DataFieldNumber;
  }
}

// C++ knows no other bool than 0 and 1; files may hold any byte.
void normalize_bools(Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return;
  auto* bytes = static_cast<uint8_t*>(tensor.data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

// Files pack what is smaller than a byte; in memory each element has a byte of its own.
Tensor unpacked_narrow(TensorType type, Bytes bytes) {
  Tensor tensor(std::move(type));
  unpack_narrow(tensor.dtype(), {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                {static_cast<uint8_t*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())});
  return tensor;
}

int64_t file_bytes(const TensorType& type) {
  return packed_bytes(type.dtype, type.shape.num_elements());
}

Tensor shared_or_copied(TensorType type, Bytes bytes, const std::shared_ptr<void>& owner) {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const int bits = narrow_bits(type.dtype);
  if (bits > 0 && bits < 8) return unpacked_narrow(std::move(type), bytes);
  if (owner && type.dtype != DType::kBool &&
      address % static_cast<uintptr_t>(dtype_size(type.dtype)) == 0) {
    // The tensor becomes constant data of a graph, which nobody writes to.
    return {std::move(type), owner, const_cast<std::byte*>(bytes.data())};
  }
  Tensor tensor(std::move(type));
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  normalize_bools(tensor);
  return tensor;
}

// Varints, one a number, cut to the width of the type.
Tensor unpacked(TensorType type, Bytes bytes, size_t position) {
  const int64_t count = type.shape.num_elements();
  // A number takes at least one byte; this also bounds what is allocated.
  TY_REQUIRE(count <= static_cast<int64_t>(bytes.size()),
             "its shape {} wants {} numbers, its {} bytes hold fewer", type.shape.to_string(),
             count, bytes.size());
  Tensor tensor(std::move(type));
  const auto size = static_cast<size_t>(dtype_size(tensor.dtype()));
  auto* to = static_cast<std::byte*>(tensor.data());
  WireReader reader(bytes, position);
  int64_t found = 0;
  for (; !reader.done(); ++found) {
    const uint64_t number = reader.varint();
    if (found < count) std::memcpy(to + static_cast<size_t>(found) * size, &number, size);
  }
  TY_REQUIRE(found == count, "its shape {} wants {} numbers, it has {}", tensor.shape().to_string(),
             count, found);
  normalize_bools(tensor);
  return tensor;
}

Tensor read_texts(const TensorProto& proto, const Shape& shape) {
  TY_REQUIRE(!proto.has_raw_data() && proto.data_location() != TensorProto::EXTERNAL,
             "it is of texts, but its data are not in the field for texts");
  // Checked before memory is taken for what the shape asks.
  TY_REQUIRE(shape.num_elements() == proto.string_data_size(),
             "its shape {} wants {} texts, it has {}", shape.to_string(), shape.num_elements(),
             proto.string_data_size());
  return text_tensor(
      shape, std::vector<std::string>(proto.string_data().begin(), proto.string_data().end()));
}

int64_t parse_count(const std::string& key, const std::string& text) {
  const auto value = parse_number<int64_t>(text);
  TY_REQUIRE(value && *value >= 0,
             "the {} of its external data is '{}', expected a number of bytes", key, text);
  return *value;
}

}  // namespace

DType require_dtype(int32_t data_type) {
  const auto dtype = ops::find_dtype(data_type);
  if (!dtype) {
    const bool named = onnx::TensorProto_DataType_IsValid(data_type);
    throw_error(
        "its element type is {} ({}), which is not supported", data_type,
        named ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(data_type))
              : "no ONNX type");
  }
  return *dtype;
}

Tensor TensorReader::read_external(const TensorProto& proto, TensorType type) {
  TY_REQUIRE(!proto.has_raw_data(), "it has data in the model and in an external file");
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_count("offset", entry.value());
    if (entry.key() == "length") length = parse_count("length", entry.value());
  }
  const ExternalFiles::Content file = files_->open(location);
  const auto size = static_cast<int64_t>(file.bytes.size());
  const int64_t wanted = file_bytes(type);
  TY_REQUIRE(offset <= size && length.value_or(0) <= size - offset,
             "its external data '{}' has {} bytes, {} from byte {} on are wanted", location, size,
             length.value_or(wanted), offset);
  TY_REQUIRE(length.value_or(size - offset) >= wanted && (!length || *length == wanted),
             "its type {} wants {} bytes, its external data '{}' has {}", type.to_string(), wanted,
             location, length.value_or(size - offset));
  const auto bytes = static_cast<size_t>(wanted);
  return shared_or_copied(std::move(type), file.bytes.subspan(static_cast<size_t>(offset), bytes),
                          file.owner);
}

Tensor TensorReader::read(const TensorProto& proto) {
  TensorType type = declared_type(proto);
  TY_REQUIRE(!proto.has_segment(), "it is a segment of a larger tensor");
  if (type.dtype == DType::kText) return read_texts(proto, type.shape);
  if (proto.data_location() == TensorProto::EXTERNAL) return read_external(proto, std::move(type));
  const int64_t wanted = file_bytes(type);
  if (!proto.has_raw_data()) {
    TY_REQUIRE(wanted == 0, "its type {} wants {} bytes, it has no data", type.to_string(), wanted);
    return Tensor(std::move(type));
  }
  uint64_t index = 0;
  TY_REQUIRE(proto.raw_data().size() == sizeof index, "its data is in an unusual place");
  std::memcpy(&index, proto.raw_data().data(), sizeof index);
  TY_REQUIRE(index < payloads_.size(), "its data is in an unusual place");
  const Payload& payload = payloads_[index];
  const bool raw = payload.field == TensorProto::kRawDataFieldNumber;
  TY_REQUIRE(raw || payload.field == typed_field(type.dtype),
             "its numbers are kept in a field for another type than {}", dtype_name(type.dtype));
  if (!raw && payload.field != TensorProto::kFloatDataFieldNumber &&
      payload.field != TensorProto::kDoubleDataFieldNumber) {
    const int bits = narrow_bits(type.dtype);
    if (bits == 0 || bits == 8) return unpacked(std::move(type), payload.bytes, payload.position);
    const Tensor packed = unpacked({DType::kU8, Shape{wanted}}, payload.bytes, payload.position);
    return unpacked_narrow(std::move(type), {static_cast<const std::byte*>(packed.data()),
                                             static_cast<size_t>(wanted)});
  }
  TY_REQUIRE(static_cast<int64_t>(payload.bytes.size()) == wanted,
             "its type {} wants {} bytes, it has {}", type.to_string(), wanted,
             payload.bytes.size());
  return shared_or_copied(std::move(type), payload.bytes, owner_);
}

}  // namespace trainyard::onnx_io

#include "tensor/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "tensor/text.h"

namespace trainyard {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// Data begin at a multiple of this.
constexpr size_t kHeaderAlignment = 64;
constexpr size_t kMostTextBytes = size_t{1} << 30;

struct NpyType {
  std::string_view descr;
  DType dtype;
};
constexpr std::array<NpyType, 12> kTypes = {{{"<f4", DType::kF32},
                                             {"<f8", DType::kF64},
                                             {"<f2", DType::kF16},
                                             {"|i1", DType::kI8},
                                             {"<i2", DType::kI16},
                                             {"<i4", DType::kI32},
                                             {"<i8", DType::kI64},
                                             {"|u1", DType::kU8},
                                             {"<u2", DType::kU16},
                                             {"<u4", DType::kU32},
                                             {"<u8", DType::kU64},
                                             {"|b1", DType::kBool}}};

// The text after 'key': in the header's dictionary.
// The header is a Python literal that NumPy writes with fixed spelling; it is searched, not
// evaluated.
std::string_view field(std::string_view header, std::string_view key, std::string_view origin) {
  const size_t at = header.find(fmt::format("'{}'", key));
  const size_t colon = at == std::string_view::npos ? at : header.find(':', at);
  TY_REQUIRE(colon != std::string_view::npos, "{}: the .npy header has no '{}'", origin, key);
  std::string_view rest = header.substr(colon + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

DType parse_dtype(std::string_view text, std::string_view origin) {
  for (const NpyType& row : kTypes) {
    if (text.starts_with(fmt::format("'{}'", row.descr))) return row.dtype;
  }
  throw_error("{}: element type {} is not read", origin, text.substr(0, text.find(',')));
}

// "(3, 4)", "(3,)" or "()".
Shape parse_shape(std::string_view text, std::string_view origin) {
  const size_t close = text.find(')');
  TY_REQUIRE(text.starts_with('(') && close != std::string_view::npos,
             "{}: the shape in the .npy header is not a tuple", origin);
  std::vector<int64_t> dims;
  const char* at = text.data() + 1;
  const char* const end = text.data() + close;
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t dim = 0;
    const auto result = std::from_chars(at, end, dim);
    TY_REQUIRE(result.ec == std::errc() && dim >= 0, "{}: the shape in the .npy header is {}",
               origin, text.substr(0, close + 1));
    dims.push_back(dim);
    at = result.ptr;
  }
  return Shape(std::move(dims));
}

}  // namespace

Tensor parse_npy(std::string_view bytes, std::string_view origin) {
  TY_REQUIRE(bytes.starts_with(kMagic) && bytes.size() >= 12, "{}: not a .npy file", origin);
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const size_t version = byte(6);
  TY_REQUIRE(1 <= version && version <= 3, "{}: .npy version {} is not read", origin, version);
  // Version 1 has two bytes for the length, later ones four.
  const size_t begin = version == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8U;
  if (version > 1) length |= byte(10) << 16U | byte(11) << 24U;
  TY_REQUIRE(length <= bytes.size() - begin, "{}: the .npy header is cut short", origin);
  const std::string_view header = bytes.substr(begin, length);
  TY_REQUIRE(field(header, "fortran_order", origin).starts_with("False"),
             "{}: Fortran order is not read; save with numpy.ascontiguousarray", origin);
  const TensorType type{parse_dtype(field(header, "descr", origin), origin),
                        parse_shape(field(header, "shape", origin), origin)};
  // Before there is a tensor: a header of a few bytes may claim any size.
  const std::string_view data = bytes.substr(begin + length);
  TY_REQUIRE(static_cast<int64_t>(data.size()) == type.num_bytes(),
             "{}: {} holds {} bytes of data, expected {}", origin, type.to_string(), data.size(),
             type.num_bytes());
  // Code that works on booleans takes their bytes for 0 or 1.
  for (size_t i = 0; type.dtype == DType::kBool && i < data.size(); ++i) {
    const auto value = static_cast<uint8_t>(data[i]);
    TY_REQUIRE(value <= 1, "{}: element {} of {} is {}, expected 0 or 1", origin, i,
               type.to_string(), value);
  }
  Tensor tensor(type);
  std::memcpy(tensor.data(), data.data(), data.size());
  return tensor;
}

Tensor read_npy(const std::filesystem::path& path) {
  // At most 16 GiB.
  return parse_npy(read_file(path, int64_t{1} << 34), path.string());
}

namespace {

// Texts of a tensor, each filled up with zeros to the length of the longest, which is returned.
size_t fixed_length_texts(const Tensor& tensor, std::string& out) {
  const auto count = static_cast<size_t>(tensor.num_elements());
  size_t longest = 1;
  for (size_t i = 0; i < count; ++i) {
    longest = std::max(longest, text_at(tensor.view(), static_cast<int64_t>(i)).size());
  }
  TY_REQUIRE(longest <= kMostTextBytes / std::max<size_t>(count, 1),
             "{} texts of up to {} bytes are too many for a .npy file, where all are as long",
             count, longest);
  out.assign(count * longest, '\0');
  for (size_t i = 0; i < count; ++i) {
    text_at(tensor.view(), static_cast<int64_t>(i)).copy(&out[i * longest], longest);
  }
  return longest;
}

std::string with_header(std::string_view descr, const Shape& dims, std::string_view data) {
  std::string shape = "(";
  for (const int64_t dim : dims.dims()) shape += fmt::format("{}, ", dim);
  shape += ")";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  const size_t prefix = kMagic.size() + 4;
  // The added one is the line end that the format wants last.
  header.append(kHeaderAlignment - (prefix + header.size() + 1) % kHeaderAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xffU),
            static_cast<char>(header.size() >> 8U)};
  bytes += header;
  bytes += data;
  return bytes;
}

}  // namespace

std::string npy_bytes(const Tensor& tensor) {
  // NumPy has no such types, and f32 holds all of their values.
  if (tensor.dtype() == DType::kBF16 || is_narrow(tensor.dtype())) {
    return npy_bytes(cast(tensor, DType::kF32));
  }
  if (tensor.dtype() == DType::kText) {
    std::string texts;
    const size_t length = fixed_length_texts(tensor, texts);
    return with_header(fmt::format("|S{}", length), tensor.shape(), texts);
  }
  const auto* row = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const NpyType& r) { return r.dtype == tensor.dtype(); });
  TY_CHECK(row != kTypes.end(), "no NumPy name for {}", dtype_name(tensor.dtype()));
  return with_header(
      row->descr, tensor.shape(),
      {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())});
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  write_file(path, npy_bytes(tensor));
}

}  // namespace trainyard

#include "serve/protocol/tensor_types.h"

#include <array>

#include <fmt/ranges.h>

#include "base/text.h"
#include "http/status.h"

namespace trainyard::serve {
namespace {

struct TypeName {
  DType dtype;
  std::string_view name;
};

constexpr std::array<TypeName, 14> kTypeNames = {{{DType::kF32, "FP32"},
                                                  {DType::kF64, "FP64"},
                                                  {DType::kF16, "FP16"},
                                                  {DType::kBF16, "BF16"},
                                                  {DType::kI8, "INT8"},
                                                  {DType::kI16, "INT16"},
                                                  {DType::kI32, "INT32"},
                                                  {DType::kI64, "INT64"},
                                                  {DType::kU8, "UINT8"},
                                                  {DType::kU16, "UINT16"},
                                                  {DType::kU32, "UINT32"},
                                                  {DType::kU64, "UINT64"},
                                                  {DType::kBool, "BOOL"},
                                                  {DType::kText, "BYTES"}}};

}  // namespace

std::string_view protocol_name(DType dtype) {
  for (const TypeName& entry : kTypeNames) {
    if (entry.dtype == dtype) return entry.name;
  }
  return "";
}

bool has_protocol_name(DType dtype) {
  return !protocol_name(dtype).empty();
}

DType dtype_from_protocol(std::string_view name, std::string_view where) {
  std::vector<std::string> names;
  for (const TypeName& entry : kTypeNames) {
    if (entry.name == name) return entry.dtype;
    names.emplace_back(entry.name);
  }
  refuse(Status::kBadRequest, "{}: there is no datatype '{}'.{} Expected one of {}", where, name,
         did_you_mean(name, names), join(names, ", "));
}

std::vector<int64_t> reshape_dims(std::span<const int64_t> given, std::span<const int64_t> from,
                                  std::span<const int64_t> to) {
  std::vector<int64_t> dims(to.begin(), to.end());
  size_t at = 0;
  for (int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (at < from.size() && from[at] >= 0) ++at;
    dim = given[at++];
  }
  return dims;
}

std::string dims_text(const std::vector<int64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

}  // namespace trainyard::serve

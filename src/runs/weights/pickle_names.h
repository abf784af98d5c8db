// The names that a file of weights may mention, and what each means to us.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace trainyard::runs {

enum class PickleMeaning : uint8_t { kDict, kTensor, kParameter, kSize, kStorage };

// More than any operator takes.
constexpr size_t kMostDimensions = 16;

bool is_known_pickle_name(std::string_view name);
// Of a known name.
PickleMeaning pickle_meaning(std::string_view name);
// Of "torch.FloatStorage" and its kin; nothing for other names.
std::optional<DType> storage_dtype(std::string_view name);

}  // namespace trainyard::runs

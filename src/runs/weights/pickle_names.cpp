#include "runs/weights/pickle_names.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace trainyard::runs {
namespace {

struct KnownName {
  std::string_view name;
  PickleMeaning meaning;
  DType dtype = DType::kF32;
};

constexpr std::array<KnownName, 17> kKnown = {{
    {"collections.OrderedDict", PickleMeaning::kDict},
    {"__builtin__.dict", PickleMeaning::kDict},
    {"builtins.dict", PickleMeaning::kDict},
    {"torch._utils._rebuild_tensor", PickleMeaning::kTensor},
    {"torch._utils._rebuild_tensor_v2", PickleMeaning::kTensor},
    {"torch._utils._rebuild_parameter", PickleMeaning::kParameter},
    {"torch.Size", PickleMeaning::kSize},
    {"torch.FloatStorage", PickleMeaning::kStorage, DType::kF32},
    {"torch.DoubleStorage", PickleMeaning::kStorage, DType::kF64},
    {"torch.HalfStorage", PickleMeaning::kStorage, DType::kF16},
    {"torch.BFloat16Storage", PickleMeaning::kStorage, DType::kBF16},
    {"torch.LongStorage", PickleMeaning::kStorage, DType::kI64},
    {"torch.IntStorage", PickleMeaning::kStorage, DType::kI32},
    {"torch.ShortStorage", PickleMeaning::kStorage, DType::kI16},
    {"torch.CharStorage", PickleMeaning::kStorage, DType::kI8},
    {"torch.ByteStorage", PickleMeaning::kStorage, DType::kU8},
    {"torch.BoolStorage", PickleMeaning::kStorage, DType::kBool},
}};

const KnownName* find_known(std::string_view name) {
  const auto found = std::find_if(kKnown.begin(), kKnown.end(),
                                  [name](const KnownName& known) { return known.name == name; });
  return found == kKnown.end() ? nullptr : &*found;
}

}  // namespace

bool is_known_pickle_name(std::string_view name) {
  return find_known(name) != nullptr;
}

PickleMeaning pickle_meaning(std::string_view name) {
  const KnownName* known = find_known(name);
  TY_CHECK(known != nullptr, "'{}' is no known name", name);
  return known->meaning;
}

std::optional<DType> storage_dtype(std::string_view name) {
  const KnownName* known = find_known(name);
  if (known == nullptr || known->meaning != PickleMeaning::kStorage) return std::nullopt;
  return known->dtype;
}

}  // namespace trainyard::runs

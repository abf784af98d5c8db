#include "engine/kernels/api/precision.h"

#include "base/error.h"

namespace trainyard::kernels {

Precision precision_named(std::string_view name) {
  TY_REQUIRE(name == "f32" || name == "bf16", "precision '{}' is unknown, expected f32 or bf16",
             name);
  return name == "bf16" ? Precision::kBf16 : Precision::kF32;
}

}  // namespace trainyard::kernels

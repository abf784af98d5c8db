// In which numbers products of matrices are computed.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::kernels {

// kBf16: operands of products are rounded to bf16 on the way in, sums stay f32.
enum class Precision : uint8_t { kF32, kBf16 };

// "f32" or "bf16". Throws Error for another name.
Precision precision_named(std::string_view name);

// While one lives, kernels that this thread chooses and creates may compute so. One at a time per
// thread.
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision) : before_(current) { current = precision; }
  ~PrecisionScope() { current = before_; }
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

  static Precision active() { return current; }

 private:
  inline static thread_local Precision current = Precision::kF32;
  Precision before_;
};

}  // namespace trainyard::kernels

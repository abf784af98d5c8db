// What the fake drivers share: TY_FAKE says how they fail, and the kernels of text/vector.cl are
// done by loops.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace trainyard::fake {

inline bool fails(std::string_view how) {
  const char* mode = std::getenv("TY_FAKE");
  return mode != nullptr && mode == how;
}

// What a kernel of text/vector.cl is given, in its order.
struct VectorArguments {
  const float* x = nullptr;
  const float* y = nullptr;
  float* z = nullptr;
  float s = 0;
  int64_t n = 0;
};

// As `items` work-items would.
inline void run_vector_kernel(const std::string& name, const VectorArguments& a, int64_t items) {
  if (name == "vector_dot") {
    for (int64_t item = 0; item < items; ++item) {
      double sum = 0;
      for (int64_t i = item; i < a.n; i += items) sum += double{a.x[i]} * double{a.y[i]};
      a.z[item] = static_cast<float>(sum);
    }
    return;
  }
  for (int64_t i = 0; i < a.n; ++i) {
    a.z[i] = name == "vector_copy"    ? a.x[i]
             : name == "vector_scale" ? a.s * a.x[i]
             : name == "vector_add"   ? a.x[i] + a.y[i]
                                      : a.x[i] + a.s * a.y[i];
  }
}

}  // namespace trainyard::fake

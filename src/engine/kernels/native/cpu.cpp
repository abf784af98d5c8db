#include "engine/kernels/native/cpu.h"

#include <cstdlib>
#include <string_view>

#include "engine/kernels/native/peak.h"

namespace trainyard::kernels::native {

#if defined(__x86_64__)
namespace {

// May instructions of this name, one of oneDNN's, be used?
bool allows(std::string_view wanted) {
  const char* most = std::getenv("ONEDNN_MAX_CPU_ISA");
  const std::string_view isa = most == nullptr ? "ALL" : most;
  return isa == "ALL" || isa == "DEFAULT" || isa.starts_with(wanted);
}

bool supports_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}

}  // namespace

bool cpu_has_avx512() {
  return allows("AVX512_CORE") && supports_avx512();
}

bool cpu_has_avx512_vnni() {
  return allows("AVX512_CORE_") && supports_avx512() && __builtin_cpu_supports("avx512vnni") != 0;
}

bool cpu_has_avx512_bf16() {
  return (allows("AVX512_CORE_BF16") || allows("AVX512_CORE_AMX")) && supports_avx512() &&
         __builtin_cpu_supports("avx512bf16") != 0;
}

#else
bool cpu_has_avx512() {
  return false;
}
bool cpu_has_avx512_vnni() {
  return false;
}
bool cpu_has_avx512_bf16() {
  return false;
}
#endif

int64_t channel_block() {
  static const int64_t kChannels = cpu_has_avx512() && wide_vectors_pay() ? 2 * kVector : kVector;
  return kChannels;
}

}  // namespace trainyard::kernels::native

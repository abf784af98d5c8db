#include "kernels/native/cpu.h"

#include <cstdlib>
#include <string_view>

namespace trainyard::kernels::native {

bool cpu_has_avx512_vnni() {
  const char* most = std::getenv("ONEDNN_MAX_CPU_ISA");
  const std::string_view isa = most == nullptr ? "ALL" : most;
  const bool allowed = isa == "ALL" || isa == "DEFAULT" || isa.starts_with("AVX512_CORE_");
  return allowed && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

}  // namespace trainyard::kernels::native

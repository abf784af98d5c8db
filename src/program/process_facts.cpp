// What the running process has besides what it was built of.
#include <filesystem>
#include <link.h>

#include "program/build_facts.h"

namespace trainyard::cli {

std::vector<LoadedLibrary> loaded_libraries() {
  std::vector<LoadedLibrary> libraries;
  const auto add = [](dl_phdr_info* info, size_t, void* list) {
    const std::filesystem::path path = info->dlpi_name;
    // The program itself has no name, and the system's own page has no file.
    if (!path.has_parent_path()) return 0;
    std::error_code unreadable;
    const std::filesystem::path file = std::filesystem::canonical(path, unreadable);
    static_cast<std::vector<LoadedLibrary>*>(list)->push_back(
        {path.filename().string(), (unreadable ? path : file).string()});
    return 0;
  };
  dl_iterate_phdr(add, &libraries);
  return libraries;
}

std::vector<std::string> processor_features() {
  std::vector<std::string> features;
#if defined(__x86_64__)
  const auto add = [&features](const char* name, bool has) {
    if (has) features.emplace_back(name);
  };
  // The compiler wants each name as a literal.
  add("sse4.2", __builtin_cpu_supports("sse4.2"));
  add("avx", __builtin_cpu_supports("avx"));
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("bmi", __builtin_cpu_supports("bmi"));
  add("bmi2", __builtin_cpu_supports("bmi2"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512bw", __builtin_cpu_supports("avx512bw"));
  add("avx512cd", __builtin_cpu_supports("avx512cd"));
  add("avx512dq", __builtin_cpu_supports("avx512dq"));
  add("avx512vl", __builtin_cpu_supports("avx512vl"));
  add("avx512vnni", __builtin_cpu_supports("avx512vnni"));
#endif
  return features;
}

}  // namespace trainyard::cli

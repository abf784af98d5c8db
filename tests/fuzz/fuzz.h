// What fuzz targets share: any bytes are read or refused with Error; nothing else may happen.
//
//   cmake --preset asan && cmake --build --preset asan --target yaml_fuzz
//   tools/fuzz_corpus.sh yaml corpus && build/asan/tests/yaml_fuzz corpus -max_total_time=600
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/error.h"

namespace trainyard::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

template <typename Read>
int read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const Error&) {  // the answer to a file that is wrong
  }
  return 0;
}

// A folder in memory for readers of files, one of each process.
inline std::filesystem::path folder() {
  static const std::filesystem::path kFolder = [] {
    const std::filesystem::path path = "/dev/shm/trainyard_fuzz." + std::to_string(getpid());
    std::filesystem::create_directories(path);
    return path;
  }();
  return kFolder;
}

inline std::filesystem::path write(const std::string& name, std::string_view bytes) {
  const std::filesystem::path path = folder() / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace trainyard::fuzz

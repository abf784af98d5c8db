// libFuzzer target: any bytes are imported or refused with Error; nothing else may happen.
//
//   cmake --preset asan && cmake --build --preset asan --target import_fuzz
//   tools/fuzz_corpus.sh import corpus && build/asan/tests/import_fuzz corpus -max_total_time=300
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "models/onnx/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    trainyard::onnx_io::import_bytes({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const trainyard::Error&) {  // the answer to a file that is wrong
  }
  return 0;
}

// libFuzzer target: NumPy arrays; see fuzz.h.
#include "fuzz/fuzz.h"
#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] { parse_npy(fuzz::text_of(data, size), "fuzz"); });
}

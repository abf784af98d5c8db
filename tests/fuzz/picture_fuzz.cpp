// libFuzzer target: PNG and JPEG; see fuzz.h.
#include "data/image.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] { data::decode_image(fuzz::text_of(bytes, size), "fuzz"); });
}

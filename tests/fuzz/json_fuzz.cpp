// libFuzzer target: JSON, read and written again; see fuzz.h.
#include "base/json.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] {
    const Json value = Json::parse(fuzz::text_of(data, size), "fuzz");
    if (Json::parse(value.dump(), "again").dump(-1) != value.dump(-1)) __builtin_trap();
  });
}

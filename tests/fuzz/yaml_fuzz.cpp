// libFuzzer target: YAML as settings, catalogs and labs are read; see fuzz.h.
#include "base/yaml.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] { YamlDocument::parse(fuzz::text_of(data, size), "fuzz"); });
}

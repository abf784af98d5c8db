// libFuzzer target: weights files, header and tensors; see fuzz.h.
#include "fuzz/fuzz.h"
#include "runs/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] {
    const runs::SafetensorsFile file(fuzz::write("weights", fuzz::text_of(data, size)));
    for (const runs::StoredTensor& tensor : file.tensors()) file.tensor(tensor.name).clone();
  });
}

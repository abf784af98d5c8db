// libFuzzer target: files of torch.save, structure and tensors; see fuzz.h.
#include "fuzz/fuzz.h"
#include "runs/weights/weights_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] {
    const auto file = runs::open_weights(fuzz::write("weights.pth", fuzz::text_of(data, size)));
    for (size_t i = 0; i < file->tensors().size(); ++i) file->tensor(i);
  });
}

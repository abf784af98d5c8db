// libFuzzer target: networks of TensorFlow Lite; see fuzz.h.
#include "fuzz/fuzz.h"
#include "runs/weights/tflite_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  return fuzz::read_or_refuse([&] {
    const auto file =
        runs::open_tflite_file(fuzz::write("weights.tflite", fuzz::text_of(data, size)));
    for (size_t i = 0; i < file->tensors().size(); ++i) file->tensor(i);
  });
}

// libFuzzer target: files of torch.save, structure and tensors; see fuzz.h.
#include "fuzz/fuzz.h"
#include "runs/weights/weights_file.h"
#include "support/torch_bytes.h"

namespace {

using namespace trainyard;

void read_weights(std::string_view bytes) {
  fuzz::read_or_refuse([&] {
    const auto file = runs::open_weights(fuzz::write("weights.pth", bytes));
    for (size_t i = 0; i < file->tensors().size(); ++i) file->tensor(i);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(fuzz::text_of(data, size));
  read_weights(bytes);
  // Check sums would refuse nearly every change of an archive, so bytes that are none become its
  // pickle.
  if (!bytes.starts_with("PK")) {
    read_weights(torch_bytes::zip(
        {{"archive/data.pkl", bytes}, {"archive/data/0", torch_bytes::floats({1, 2, 3, 4})}}));
  }
  return 0;
}

// libFuzzer target: files of MNIST and CIFAR. The first byte decides which one the rest is; see
// fuzz.h.
#include "data/readers.h"
#include "fuzz/fuzz.h"

namespace {

void read_all(const trainyard::data::Dataset& dataset) {
  trainyard::data::Pixels room;
  for (int64_t i = 0; i < std::min<int64_t>(dataset.size(), 4); ++i) {
    const auto view = dataset.pixels(i, room);
    const volatile uint8_t first = view.data[0];
    static_cast<void>(first);
    dataset.label(i);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace trainyard;
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text_of(bytes + 1, size - 1);
  return fuzz::read_or_refuse([&] {
    if (bytes[0] % 3 == 0) {
      for (const char number : {'1', '2', '3', '4', '5'}) {
        fuzz::write(std::string("data_batch_") + number + ".bin", rest);
      }
      read_all(*data::open_cifar10(fuzz::folder(), data::Split::kTrain));
    } else if (bytes[0] % 3 == 1) {
      fuzz::write("train.bin", rest);
      read_all(*data::open_cifar100(fuzz::folder(), data::Split::kTrain));
    } else {
      // Both files from one text, so that either can be wrong.
      fuzz::write("train-images-idx3-ubyte", rest.substr(0, rest.size() / 2));
      fuzz::write("train-labels-idx1-ubyte", rest.substr(rest.size() / 2));
      read_all(*data::open_idx(fuzz::folder(), data::Split::kTrain, data::numbered_classes(10)));
    }
  });
}

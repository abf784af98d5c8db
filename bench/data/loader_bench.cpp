// Pictures per second that the loader makes: loader_bench [SPEC AUGMENTATIONS]...
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/core.h>

#include "base/error.h"
#include "data/loader.h"

namespace {

using trainyard::data::Loader;

constexpr int64_t kBatch = 128;
constexpr int kEpochs = 5;

double seconds_of_epoch(Loader& loader, int64_t epoch) {
  const auto start = std::chrono::steady_clock::now();
  loader.start_epoch(epoch);
  while (loader.next() != nullptr) continue;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const std::string& spec, const std::string& steps) {
  const auto set = trainyard::data::open_dataset(spec, trainyard::data::Split::kTrain);
  for (const int64_t workers : {1, 2}) {
    Loader loader(*set, {.batch = kBatch,
                         .shuffle = true,
                         .workers = workers,
                         .augmentations = steps,
                         .drop_last = true});
    seconds_of_epoch(loader, 0);
    std::vector<double> rates;
    for (int epoch = 1; epoch <= kEpochs; ++epoch) {
      rates.push_back(static_cast<double>(loader.num_batches() * kBatch) /
                      seconds_of_epoch(loader, epoch));
    }
    std::sort(rates.begin(), rates.end());
    fmt::print("{:40} {:36} {} worker(s) {:10.0f} images/s\n", spec, steps, workers,
               rates[rates.size() / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1) {
      for (int i = 1; i + 1 < argc; i += 2) measure(argv[i], argv[i + 1]);
      return 0;
    }
    measure("fashion-mnist", "pad:32x32,normalize");
    measure("fashion-mnist", "pad:32x32,crop:4,flip,normalize");
    measure("synthetic:3x32x32,size=20000", "normalize");
    measure("synthetic:3x32x32,size=20000", "crop:4,flip,cutout:8x1,normalize");
    measure("synthetic:3x64x64,size=5000", "resized_crop:64,flip,jitter:0.4/0.4/0.4,normalize");
    return 0;
  } catch (const trainyard::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}

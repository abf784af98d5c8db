// What a network took each sample of its last test for: guesses.json of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace trainyard::runs {

struct SamplePrediction {
  int64_t sample = 0;  // of the test set
  int64_t truth = 0;
  int64_t guess = 0;
};

struct TestPredictions {
  int64_t step = 0;  // of the training
  std::vector<SamplePrediction> all;
};

// In the order of samples, whatever that of `guesses`. Throws Failure if it cannot be written.
void write_test_predictions(const std::filesystem::path& run, int64_t step,
                            std::span<const SamplePrediction> guesses);
// None where there is no file. Throws Error for one that is damaged.
TestPredictions read_test_predictions(const std::filesystem::path& run);

}  // namespace trainyard::runs

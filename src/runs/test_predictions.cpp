#include "runs/test_predictions.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "runs/growing_file.h"

namespace trainyard::runs {
namespace {

constexpr int64_t kLongest = 64 << 20;  // some million samples

std::filesystem::path guesses_file(const std::filesystem::path& run) {
  return run / "guesses.json";
}

}  // namespace

void write_test_predictions(const std::filesystem::path& run, int64_t step,
                            std::span<const SamplePrediction> guesses) {
  std::vector<SamplePrediction> sorted(guesses.begin(), guesses.end());
  std::sort(sorted.begin(), sorted.end(), [](const SamplePrediction& a, const SamplePrediction& b) {
    return a.sample < b.sample;
  });
  Json::Array samples;
  Json::Array truths;
  Json::Array taken;
  for (const SamplePrediction& one : sorted) {
    samples.push_back(one.sample);
    truths.push_back(one.truth);
    taken.push_back(one.guess);
  }
  const Json file = Json::object({{"step", step},
                                  {"sample", std::move(samples)},
                                  {"truth", std::move(truths)},
                                  {"guess", std::move(taken)}});
  write_file(guesses_file(run), file.dump(-1) + "\n");
}

TestPredictions read_test_predictions(const std::filesystem::path& run) {
  TestPredictions guesses;
  if (mark_of(guesses_file(run)).time == 0) return guesses;
  const Json file = Json::parse(read_file(guesses_file(run), kLongest), "guesses.json");
  guesses.step = file.at("step").as_int();
  const Json::Array& samples = file.at("sample").items();
  const Json::Array& truths = file.at("truth").items();
  const Json::Array& taken = file.at("guess").items();
  TY_REQUIRE(samples.size() == truths.size() && samples.size() == taken.size(),
             "guesses.json has {} samples, {} truths and {} guesses", samples.size(), truths.size(),
             taken.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    guesses.all.push_back({samples[i].as_int(), truths[i].as_int(), taken[i].as_int()});
  }
  return guesses;
}

}  // namespace trainyard::runs

#include "program/guessed_pictures.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "data/dataset.h"
#include "data/image.h"
#include "runs/guesses.h"
#include "train/train_config.h"
#include "train/training_set.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPictures = 48;
constexpr int64_t kLargestSide = 160;
constexpr int64_t kMostText = 1 << 20;

// The data set of the last run that was asked for: clicks come one after the other.
const data::Dataset& test_set_of(const fs::path& run) {
  static std::string kept_settings;
  static std::unique_ptr<data::Dataset> kept;
  const fs::path config = run / "config.yaml";
  const std::string text = read_file(config, kMostText);
  if (kept == nullptr || text != kept_settings) {
    train::TrainConfig settings;
    train::settings_of(settings).read_yaml(text, config.string());
    kept.reset();
    kept = train::open_set(settings, data::Split::kTest);
    kept_settings = text;
  }
  return *kept;
}

Json picture_json(const data::Dataset& set, int64_t sample) {
  data::Pixels room;
  data::Image image = data::to_image(set.pixels(sample, room));
  const int64_t longer = std::max(image.height, image.width);
  if (longer > kLargestSide) {
    image = data::resize(image, std::max<int64_t>(1, image.height * kLargestSide / longer),
                         std::max<int64_t>(1, image.width * kLargestSide / longer));
  }
  return Json::object({{"sample", sample},
                       {"name", printable_line(set.sample_name(sample))},
                       {"png", to_base64(data::encode_png(image))}});
}

}  // namespace

Json guessed_pictures(const fs::path& run, int64_t truth, int64_t guess) {
  const runs::Guesses guesses = runs::read_guesses(run);
  TY_REQUIRE(!guesses.all.empty(),
             "the run did not record what it took its samples for; `trainyard train` does");
  const data::Dataset& set = test_set_of(run);
  TY_REQUIRE(!set.tokens(), "the samples are texts");
  int64_t count = 0;
  Json::Array pictures;
  for (const runs::Guess& one : guesses.all) {
    if (one.truth != truth || one.guess != guess) continue;
    TY_REQUIRE(one.sample >= 0 && one.sample < set.size() && set.label(one.sample) == truth,
               "the data set is another than that of the run: sample {}", one.sample);
    ++count;
    if (pictures.size() < kMostPictures) pictures.push_back(picture_json(set, one.sample));
  }
  return Json::object(
      {{"step", guesses.step}, {"count", count}, {"pictures", std::move(pictures)}});
}

}  // namespace trainyard::cli

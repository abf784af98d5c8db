#include "train/run_pictures.h"

#include <cmath>

#include "base/error.h"

namespace trainyard::train {

std::map<std::string, runs::Setting> settings_for_tensorboard(TrainConfig config) {
  std::map<std::string, runs::Setting> all;
  const Settings settings = settings_of(config);
  for (const Settings::Setting& setting : settings.all()) {
    runs::Setting& value = all[setting.name];
    if (const auto* text = std::get_if<std::string*>(&setting.variable)) value = **text;
    if (const auto* flag = std::get_if<bool*>(&setting.variable)) value = **flag;
    if (const auto* number = std::get_if<double*>(&setting.variable)) value = **number;
    if (const auto* whole = std::get_if<int64_t*>(&setting.variable)) {
      value = static_cast<double>(**whole);
    }
  }
  return all;
}

data::Image confusion_picture(std::span<const int64_t> counts) {
  const auto classes = std::lround(std::sqrt(static_cast<double>(counts.size())));
  TY_CHECK(classes > 0 && static_cast<size_t>(classes * classes) == counts.size(),
           "{} counts are no square", counts.size());
  // A picture of a few hundred pixels, whatever the number of classes.
  const int64_t side = std::max<int64_t>(1, 320 / classes);
  data::Image image{.height = classes * side, .width = classes * side, .pixels = {}};
  image.pixels.resize(static_cast<size_t>(image.height * image.width * data::kColors));
  for (int64_t row = 0; row < classes; ++row) {
    int64_t sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += counts[static_cast<size_t>(row * classes + k)];
    for (int64_t y = row * side; y < (row + 1) * side; ++y) {
      for (int64_t x = 0; x < image.width; ++x) {
        const int64_t count = counts[static_cast<size_t>(row * classes + x / side)];
        const double share = sum > 0 ? static_cast<double>(count) / static_cast<double>(sum) : 0;
        // White to blue.
        uint8_t* pixel = image.pixels.data() + (y * image.width + x) * data::kColors;
        pixel[0] = static_cast<uint8_t>(std::lround(255 - 247 * share));
        pixel[1] = static_cast<uint8_t>(std::lround(255 - 207 * share));
        pixel[2] = static_cast<uint8_t>(std::lround(255 - 148 * share));
      }
    }
  }
  return image;
}

}  // namespace trainyard::train

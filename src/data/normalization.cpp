#include "data/normalization.h"

#include <cmath>

#include "base/error.h"
#include "data/numbers.h"
#include "data/statistics.h"

namespace trainyard::data {
namespace {

constexpr float kLargestByte = 255;
constexpr double kSmallestStd = 1e-4;

std::string slashed(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) {
    text += fmt::format("{}{}", text.empty() ? "" : "/", value);
  }
  return text;
}

float four_digits(double value) {
  return static_cast<float>(std::round(value * 1e4) / 1e4);
}

void convert_plane(const uint8_t* from, int64_t length, float scale, float offset, float* to) {
  for (int64_t i = 0; i < length; ++i) to[i] = static_cast<float>(from[i]) * scale + offset;
}

}  // namespace

Normalization Normalization::parse(std::string_view text, std::string_view what) {
  const size_t colon = text.find(':');
  TY_REQUIRE(colon != std::string_view::npos,
             "{}: give MEAN:STD, each with one number in [0, 1] per channel separated by '/', or "
             "nothing",
             what);
  Normalization result;
  for (const double mean : parse_reals(text.substr(0, colon), 0, 1, what)) {
    result.mean.push_back(static_cast<float>(mean));
  }
  for (const double std : parse_reals(text.substr(colon + 1), kSmallestStd, 1, what)) {
    result.std.push_back(static_cast<float>(std));
  }
  TY_REQUIRE(result.mean.size() == result.std.size(), "{}: {} means, but {} deviations", what,
             result.mean.size(), result.std.size());
  return result;
}

std::string Normalization::to_string() const {
  return slashed(mean) + ":" + slashed(std);
}

Normalization Normalization::gray() const {
  TY_CHECK(mean.size() == 3 && std.size() == 3, "numbers of {} colors", mean.size());
  const auto mixed = [](const std::vector<float>& of) {
    return std::vector{four_digits(0.299 * of[0] + 0.587 * of[1] + 0.114 * of[2])};
  };
  return {mixed(mean), mixed(std)};
}

Normalization measure_normalization(const Dataset& dataset) {
  // Enough for four digits where each picture costs a decoding.
  constexpr int64_t kMostDecoded = 4096;
  const Statistics all =
      measure_statistics(dataset, dataset.shape().is_fixed() ? INT64_MAX : kMostDecoded);
  Normalization result;
  for (size_t c = 0; c < all.mean.size(); ++c) {
    const float std = four_digits(all.std[c] / kLargestByte);
    result.mean.push_back(four_digits(all.mean[c] / kLargestByte));
    result.std.push_back(std == 0 ? 1 : std);
  }
  return result;
}

FloatConverter::FloatConverter(int64_t channels, const Normalization* normalization) {
  for (int64_t c = 0; c < channels; ++c) {
    const float mean = normalization == nullptr ? 0 : normalization->mean[static_cast<size_t>(c)];
    const float std = normalization == nullptr ? 1 : normalization->std[static_cast<size_t>(c)];
    scale_.push_back(1 / (kLargestByte * std));
    offset_.push_back(-mean / std);
  }
}

void FloatConverter::convert(const PixelView& in, float* out) const {
  for (int64_t c = 0; c < in.shape.channels; ++c) {
    convert_plane(in.row(c, 0), in.shape.plane(), scale_[static_cast<size_t>(c)],
                  offset_[static_cast<size_t>(c)], out + c * in.shape.plane());
  }
}

}  // namespace trainyard::data

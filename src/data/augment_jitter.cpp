// jitter:BRIGHTNESS/CONTRAST/SATURATION[/HUE]: colors changed by random amounts. The first three
// are factors drawn from 1 +- the number, the hue turns by up to that share of the color circle.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

using Matrix = std::array<std::array<float, 3>, 3>;
constexpr std::array<float, 3> kLuma = {0.299F, 0.587F, 0.114F};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      for (size_t k = 0; k < 3; ++k) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

// factor * color + (1 - factor) * gray
Matrix saturation(float factor) {
  Matrix m{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) m[i][j] = (1 - factor) * kLuma[j] + (i == j ? factor : 0);
  }
  return m;
}

// A turn about the axis of grays.
Matrix hue(double turns) {
  const double angle = 2 * std::numbers::pi * turns;
  const double same = (1 + 2 * std::cos(angle)) / 3;
  const double next = (1 - std::cos(angle)) / 3 - std::sin(angle) / std::numbers::sqrt3;
  const double last = (1 - std::cos(angle)) / 3 + std::sin(angle) / std::numbers::sqrt3;
  const auto a = static_cast<float>(same);
  const auto b = static_cast<float>(next);
  const auto c = static_cast<float>(last);
  return {{{a, b, c}, {c, a, b}, {b, c, a}}};
}

uint8_t to_byte(float value) {
  // Clamped as whole numbers, which is vectorized; a negative fraction is cut off to zero.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  return static_cast<uint8_t>(std::clamp(static_cast<int>(value + 0.5F), 0, 255));
}

double mean_of_plane(const uint8_t* bytes, int64_t length) {
  int64_t sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += bytes[i];
  return static_cast<double>(sum) / static_cast<double>(length);
}

class Jitter final : public Step {
 public:
  explicit Jitter(std::array<double, 4> amounts) : amounts_(amounts) {}

  PictureShape output(const PictureShape& in) const override {
    TY_REQUIRE(in.channels == 1 || in.channels == 3,
               "augmentation '{}': pictures of {} have neither 1 nor 3 channels", text(),
               in.to_string());
    return in;
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    out.reshape(in.shape);
    const auto brightness = static_cast<float>(factor(random, 0));
    const auto contrast = static_cast<float>(factor(random, 1));
    const float scale = brightness * contrast;
    // Contrast is about the mean gray, which no turn of the hue and no saturation changes much.
    const float offset = (1 - contrast) * brightness * mean_gray(in);
    const int64_t plane = in.shape.plane();
    if (in.shape.channels == 1) {
      for (int64_t i = 0; i < plane; ++i) {
        out.bytes[static_cast<size_t>(i)] = to_byte(in.data[i] * scale + offset);
      }
      return out.view();
    }
    const Matrix m = product(hue(amounts_[3] * (2 * random.uniform(3) - 1)),
                             saturation(static_cast<float>(factor(random, 2))));
    const uint8_t* from = in.data;
    for (int64_t c = 0; c < 3; ++c) {
      const auto& row = m[static_cast<size_t>(c)];
      uint8_t* to = out.row(c, 0);
      for (int64_t i = 0; i < plane; ++i) {
        const float sum =
            row[0] * from[i] + row[1] * from[plane + i] + row[2] * from[2 * plane + i];
        to[i] = to_byte(sum * scale + offset);
      }
    }
    return out.view();
  }

  std::string text() const override {
    std::string text = fmt::format("jitter:{}/{}/{}", amounts_[0], amounts_[1], amounts_[2]);
    if (amounts_[3] != 0) text += fmt::format("/{}", amounts_[3]);
    return text;
  }
  std::string evaluation_text() const override { return ""; }

 private:
  double factor(const RandomStream& random, size_t which) const {
    return 1 + amounts_[which] * (2 * random.uniform(which) - 1);
  }
  static float mean_gray(const PixelView& in) {
    const int64_t plane = in.shape.plane();
    if (in.shape.channels == 1) return static_cast<float>(mean_of_plane(in.data, plane));
    double mean = 0;
    for (int64_t c = 0; c < 3; ++c) {
      mean += kLuma[static_cast<size_t>(c)] * mean_of_plane(in.row(c, 0), plane);
    }
    return static_cast<float>(mean);
  }

  std::array<double, 4> amounts_;
};

std::unique_ptr<const Step> make_jitter(const StepArguments& arguments) {
  const std::vector<double> amounts = parse_reals(arguments.text, 0, 1, arguments.what);
  TY_REQUIRE(amounts.size() == 3 || amounts.size() == 4, "{}: {} numbers, expected 3 or 4",
             arguments.what, amounts.size());
  TY_REQUIRE(amounts.size() == 3 || amounts[3] <= 0.5,
             "{}: the hue turns by at most 0.5, half the circle", arguments.what);
  return std::make_unique<Jitter>(std::array<double, 4>{amounts[0], amounts[1], amounts[2],
                                                        amounts.size() == 4 ? amounts[3] : 0.0});
}

}  // namespace

extern const StepDef kJitter = {"jitter", "jitter:BRIGHTNESS/CONTRAST/SATURATION[/HUE]",
                                make_jitter};

}  // namespace trainyard::data

#include "data/picture_input.h"

#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "data/image_codecs.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

// A set of one picture.
class OnePicture final : public Dataset {
 public:
  OnePicture(const Image& image, int64_t channels)
      : Dataset({.shape = {channels, image.height, image.width},
                 .class_names = {},
                 .source = "a picture"}) {
    pixels_.reshape(shape());
    for (int64_t c = 0; c < channels; ++c) {
      uint8_t* to = pixels_.row(c, 0);
      for (int64_t i = 0; i < shape().plane(); ++i) {
        const uint8_t* from = image.pixels.data() + i * kColors;
        to[i] = channels == kColors ? from[c]
                                    : static_cast<uint8_t>(std::lround(
                                          0.299 * from[0] + 0.587 * from[1] + 0.114 * from[2]));
      }
    }
  }

  int64_t size() const override { return 1; }
  PixelView pixels(int64_t /*index*/, Pixels& /*room*/) const override { return pixels_.view(); }

 private:
  Pixels pixels_;
};

// The picture after the first step, if that is resize:HxW: done while its colors lie together,
// which is faster. The step then finds nothing left to do.
std::optional<Image> stretched_first(const Image& image, const std::string& steps) {
  constexpr std::string_view kName = "resize:";
  constexpr std::string_view kPlain = ":plain";
  std::string_view size = std::string_view(steps).substr(0, steps.find(','));
  if (!size.starts_with(kName)) return std::nullopt;
  size.remove_prefix(kName.size());
  const bool plain = size.ends_with(kPlain);
  if (plain) size.remove_suffix(kPlain.size());
  if (size.find('x') == std::string_view::npos) return std::nullopt;
  const Size to = parse_size(size, "resize");
  return resize(image, to.height, to.width, plain);
}

}  // namespace

PictureShape parse_picture_shape(const std::string& text) {
  const std::vector<std::string> parts = split(text, 'x');
  PictureShape shape;
  const auto number = [&](const std::string& part) -> int64_t {
    const bool digits = !part.empty() && part.size() <= 6 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    TY_REQUIRE(digits || part == "?", "'{}' is no shape of pictures, as 1x28x28 or 3x?x?", text);
    return digits ? std::stoll(part) : 0;
  };
  TY_REQUIRE(parts.size() == 3, "'{}' is no shape of pictures, as 1x28x28 or 3x?x?", text);
  shape.channels = number(parts[0]);
  shape.height = number(parts[1]);
  shape.width = number(parts[2]);
  TY_REQUIRE(shape.channels == 1 || shape.channels == kColors,
             "a picture fills 1 or 3 channels, not {}", text);
  TY_REQUIRE(shape.plane() <= kMostPixels, "pictures of {} have more than {} pixels", text,
             kMostPixels);
  return shape;
}

Tensor apply_steps(const Image& image, const PictureShape& picture, const std::string& steps) {
  std::optional<Image> sized;
  if (picture.is_fixed()) {
    sized = resize(image, picture.height, picture.width);
  } else if (picture.channels == kColors) {
    sized = stretched_first(image, steps);
  }
  const OnePicture set(sized ? *sized : image, picture.channels);
  const Augmentations augmentations(steps, set);
  const PictureShape& output = augmentations.output();
  Tensor tensor(DType::kF32, Shape{1, output.channels, output.height, output.width});
  Workspace workspace;
  augmentations.floats(set, {}, workspace, tensor.values<float>().data());
  return tensor;
}

std::string evaluation_steps(const std::string& steps, const PictureShape& picture) {
  const auto bytes = static_cast<size_t>(picture.plane() * kColors);
  const Image black{picture.height, picture.width, std::vector<uint8_t>(bytes)};
  return Augmentations(steps, OnePicture(black, picture.channels)).evaluation_text();
}

}  // namespace trainyard::data

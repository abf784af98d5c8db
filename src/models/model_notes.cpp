#include "models/model_notes.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "data/augment.h"
#include "data/picture_input.h"

namespace trainyard::network {
namespace {

constexpr const char* kWeightsKey = "trainyard.weights";

data::Image blank(int64_t height, int64_t width) {
  return {height, width, std::vector<uint8_t>(static_cast<size_t>(height * width * data::kColors))};
}

bool gives(const data::Image& image, const Preparation& preparation,
           const data::PictureShape& input) {
  const Tensor made = data::apply_steps(image, *preparation.picture, preparation.steps);
  return made.shape() == Shape{1, input.channels, input.height, input.width};
}

}  // namespace

std::optional<Preparation> preparation_of(const onnx_io::Metadata& metadata) {
  const auto steps = metadata.find(onnx_io::kStepsKey);
  if (steps == metadata.end()) return std::nullopt;
  Preparation preparation{.steps = steps->second};
  const auto picture = metadata.find(onnx_io::kPictureKey);
  if (picture != metadata.end()) {
    preparation.picture = data::parse_picture_shape(picture->second);
  }
  return preparation;
}

void note_preparation(const Preparation& preparation, onnx_io::Metadata& metadata) {
  metadata[onnx_io::kStepsKey] = preparation.steps;
  metadata.erase(onnx_io::kPictureKey);
  if (preparation.picture) metadata[onnx_io::kPictureKey] = preparation.picture->to_string();
}

void note_classes(std::span<const std::string> names, onnx_io::Metadata& metadata) {
  metadata[onnx_io::kClassesKey] =
      join(std::vector<std::string>(names.begin(), names.end()), "\n") + "\n";
}

std::string weights_of(const onnx_io::Metadata& metadata) {
  const auto words = metadata.find(kWeightsKey);
  return words == metadata.end() ? "" : words->second;
}

void note_weights(const std::string& words, onnx_io::Metadata& metadata) {
  metadata[kWeightsKey] = words;
}

Preparation preparation_for(const std::string& steps, const data::PictureShape& input) {
  const std::vector<std::string> words = split(steps, ',');
  TY_REQUIRE(std::find(words.begin(), words.end(), "normalize") == words.end(),
             "'{}': there are no pictures that normalize could measure; give the numbers, as "
             "normalize:0.485/0.456/0.406:0.229/0.224/0.225",
             steps);
  const data::PictureShape any{.channels = input.channels};
  Preparation preparation{.steps = data::evaluation_steps(steps, input), .picture = any};
  // Larger than the input, so that what cuts out of pictures finds enough.
  constexpr int64_t kTaller = 2;
  constexpr int64_t kWider = 3;
  if (gives(blank(kTaller * input.height, kWider * input.width), preparation, input)) {
    return preparation;
  }
  preparation.picture = input;
  TY_REQUIRE(gives(blank(input.height, input.width), preparation, input),
             "'{}' does not make an input of {} of a picture", steps, input.to_string());
  return preparation;
}

Tensor picture_tensor(const data::Image& image, const Preparation& preparation,
                      const data::PictureShape& input) {
  const data::PictureShape picture =
      preparation.picture.value_or(data::PictureShape{.channels = input.channels});
  Tensor made = data::apply_steps(image, picture, preparation.steps);
  TY_REQUIRE(made.shape() == (Shape{1, input.channels, input.height, input.width}),
             "the preparation in the model's file, '{}' of pictures {}, gives {} of a picture of "
             "{}x{}, but the input is {}; mean, std or resize can be given instead",
             preparation.steps, picture.to_string(), made.type().to_string(), image.height,
             image.width, input.to_string());
  return made;
}

std::string steps_for(const Preparation& preparation, const data::Dataset& pictures) {
  std::vector<std::string> words;
  if (preparation.picture) {
    const data::PictureShape& wanted = *preparation.picture;
    const data::PictureShape& own = pictures.shape();
    if (own.channels != wanted.channels)
      words.push_back(fmt::format("channels:{}", wanted.channels));
    if (wanted.is_fixed() && (own.height != wanted.height || own.width != wanted.width)) {
      words.push_back(fmt::format("resize:{}x{}", wanted.height, wanted.width));
    }
  }
  if (!preparation.steps.empty()) words.push_back(preparation.steps);
  return join(words, ",");
}

}  // namespace trainyard::network

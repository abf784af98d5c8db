#include "data/augment.h"

#include <map>

#include <gtest/gtest.h>

#include "support/error_message.h"

namespace trainyard::data {
namespace {

// Pixel p of every sample is p + 1.
class Ramp final : public Dataset {
 public:
  explicit Ramp(PictureShape shape)
      : Dataset({.shape = shape, .class_names = {"a"}, .source = "ramp"}) {}
  int64_t size() const override { return 100; }
  int64_t label(int64_t /*index*/) const override { return 0; }
  PixelView pixels(int64_t /*index*/, Pixels& room) const override {
    room.reshape(shape());
    for (size_t i = 0; i < room.bytes.size(); ++i) room.bytes[i] = static_cast<uint8_t>(i + 1);
    return room.view();
  }
};

std::vector<uint8_t> bytes_of(const Augmentations& steps, const Dataset& set, const Draw& draw) {
  Workspace workspace;
  const PixelView view = steps.bytes(set, draw, workspace);
  return {view.data, view.data + view.shape.elements()};
}

std::string refusal(const std::string& text) {
  const Ramp set({3, 4, 6});
  return message_of([&] { Augmentations(text, set); });
}

TEST(Augment, CropMovesThePictureAndFillsWithBlack) {
  const Ramp set({1, 2, 3});
  const Augmentations steps("crop:1", set);
  std::map<std::vector<uint8_t>, int> seen;
  for (int64_t epoch = 0; epoch < 400; ++epoch) ++seen[bytes_of(steps, set, {1, epoch, 0})];
  EXPECT_EQ(seen.size(), 9U);  // three places down, three across
  EXPECT_EQ(seen.count({1, 2, 3, 4, 5, 6}), 1U);
  EXPECT_EQ(seen.count({5, 6, 0, 0, 0, 0}), 1U);
  EXPECT_EQ(seen.count({0, 0, 0, 0, 1, 2}), 1U);
  for (const auto& [picture, count] : seen) EXPECT_GT(count, 20);  // 44 expected
}

TEST(Augment, FlipReversesRowsHalfOfTheTime) {
  const Ramp set({1, 1, 19});  // two words of eight and a rest
  const Augmentations steps("flip", set);
  Pixels room;
  const PixelView plain = set.pixels(0, room);
  const std::vector<uint8_t> forward(plain.data, plain.data + 19);
  const std::vector<uint8_t> backward(forward.rbegin(), forward.rend());
  int flipped = 0;
  for (int64_t sample = 0; sample < 100; ++sample) {
    const std::vector<uint8_t> bytes = bytes_of(steps, set, {1, 0, sample});
    EXPECT_TRUE(bytes == forward || bytes == backward);
    if (bytes == backward) ++flipped;
  }
  EXPECT_NEAR(flipped, 50, 20);
  EXPECT_EQ(bytes_of(Augmentations("flip:1", set), set, {}), backward);
  EXPECT_EQ(bytes_of(Augmentations("flip:0", set), set, {}), forward);
}

TEST(Augment, PadPutsThePictureInTheMiddle) {
  const Ramp set({1, 1, 2});
  EXPECT_EQ(bytes_of(Augmentations("pad:3x4", set), set, {}),
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0}));
}

TEST(Augment, NormalizeMeasuresTheSetAndWritesTheNumbersDown) {
  const Ramp set({1, 1, 3});  // 1, 2, 3: mean 2, deviation sqrt(2/3)
  const Augmentations steps("normalize", set);
  EXPECT_EQ(steps.text(), "normalize:0.0078:0.0032");
  Workspace workspace;
  float out[3];
  steps.floats(set, {}, workspace, out);
  constexpr float kRounding = 1e-5F;  // a few float operations on numbers near one
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(out[i], (static_cast<float>(i + 1) / 255 - 0.0078F) / 0.0032F, kRounding);
  }
  EXPECT_EQ(Augmentations(steps.text(), set).text(), steps.text());
}

TEST(Augment, RandomStepsAreLeftOutOfEvaluation) {
  const Ramp set({1, 4, 4});
  const Augmentations steps("pad:6,crop:4,flip,normalize:0.5:0.25", set);
  EXPECT_EQ(steps.text(), "pad:6x6,crop:4,flip,normalize:0.5:0.25");
  EXPECT_EQ(steps.evaluation_text(), "pad:6x6,normalize:0.5:0.25");
  EXPECT_EQ(steps.output(), (PictureShape{1, 6, 6}));
}

TEST(Augment, SaysWhatIsWrong) {
  EXPECT_NE(refusal("crpo:4").find("Did you mean crop"), std::string::npos);
  EXPECT_NE(refusal("normalize,flip").find("must be the last"), std::string::npos);
  EXPECT_NE(refusal("crop").find("augmentation 'crop' (crop:PADDING): ''"), std::string::npos);
  EXPECT_NE(refusal("flip:2").find("'2' is not a number from 0 to 1"), std::string::npos);
  EXPECT_NE(refusal("pad:2x2").find("pictures of 3x4x6 do not fit"), std::string::npos);
  EXPECT_NE(refusal("normalize:0.5/0.5:0.1/0.1").find("2 channels, the pictures have 3"),
            std::string::npos);
  EXPECT_NE(refusal("normalize:0.5:0").find("'0' is not a number"), std::string::npos);
  EXPECT_NE(refusal("flip,,crop:1").find("no augmentation ''"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::data

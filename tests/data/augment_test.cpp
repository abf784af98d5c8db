#include "data/augment.h"

#include <algorithm>
#include <array>
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

std::string step_refusal(const std::string& text) {
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

TEST(Augment, CutoutFillsASquareWithTheMean) {
  const Ramp set({3, 16, 16});
  const Augmentations steps("cutout:4x1,normalize:0.5/0.2/0:0.1/0.1/0.1", set);
  Pixels room;
  const PixelView plain = set.pixels(0, room);
  int64_t most = 0;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const std::vector<uint8_t> bytes = bytes_of(steps, set, {1, epoch, 3});
    int64_t changed = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == plain.data[i]) continue;
      ++changed;
      EXPECT_EQ(bytes[i], (std::array<int, 3>{128, 51, 0}[i / 256]));
    }
    EXPECT_LE(changed, 3 * 16);
    EXPECT_GE(changed, 3 * 4 - 2);  // in a corner; a byte may have had the color before
    most = std::max(most, changed);
  }
  EXPECT_GE(most, 3 * 16 - 3);
}

TEST(Augment, CutoutShowsItsSquareInAColor) {
  const Ramp set({3, 16, 16});
  const Augmentations steps("cutout:4:fe0001", set);
  EXPECT_EQ(steps.text(), "cutout:4x1:fe0001");
  Pixels room;
  const PixelView plain = set.pixels(0, room);
  const std::vector<uint8_t> bytes = bytes_of(steps, set, {1, 0, 3});
  const std::vector<uint8_t> black = bytes_of(Augmentations("cutout:4", set), set, {1, 0, 3});
  for (size_t i = 0; i < bytes.size(); ++i) {
    // The same square, in the color of its channel.
    const uint8_t color = std::array<uint8_t, 3>{0xfe, 0, 1}[i / 256];
    const bool cut = bytes[i] != black[i] || black[i] != plain.data[i];
    EXPECT_EQ(bytes[i], cut ? color : plain.data[i]);
  }
  EXPECT_NE(bytes, black);
}

TEST(Augment, DropoutTakesPixelsOneByOne) {
  const Ramp set({3, 16, 16});
  const Augmentations steps("dropout:0.25,normalize:0.5/0.2/0:0.1/0.1/0.1", set);
  Pixels room;
  const PixelView plain = set.pixels(0, room);
  int64_t dropped = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const std::vector<uint8_t> bytes = bytes_of(steps, set, {1, epoch, 3});
    for (size_t i = 0; i < 256; ++i) {
      if (bytes[i] == plain.data[i]) continue;
      ++dropped;
      // In all channels.
      EXPECT_EQ(bytes[i], 128);
      EXPECT_EQ(bytes[256 + i], 51);
      EXPECT_EQ(bytes[512 + i], 0);
    }
  }
  EXPECT_NEAR(static_cast<double>(dropped), 20 * 64, 200);
  EXPECT_EQ(steps.evaluation_text().find("dropout"), std::string::npos);
}

TEST(Augment, ResizeStretchesOrKeepsTheRatio) {
  const Ramp set({1, 4, 8});
  EXPECT_EQ(Augmentations("resize:6x5", set).output(), (PictureShape{1, 6, 5}));
  EXPECT_EQ(Augmentations("resize:6", set).output(), (PictureShape{1, 6, 12}));
  EXPECT_EQ(bytes_of(Augmentations("resize:4x8", set), set, {}).size(), 32U);
  // Each pixel of the half is the weighted mean of what it covers: rows 1 to 8, 9 to 16, ...
  const std::vector<uint8_t> half = bytes_of(Augmentations("resize:2x4", set), set, {});
  EXPECT_NEAR(half[1], 8, 1);
  EXPECT_NEAR(half[4 + 1], 22, 3);
}

TEST(Augment, CenterTakesTheMiddle) {
  const Ramp set({1, 3, 4});
  EXPECT_EQ(bytes_of(Augmentations("center:1x2", set), set, {}), (std::vector<uint8_t>{6, 7}));
}

TEST(Augment, ResizedCropStaysInsideThePicture) {
  const Ramp set({1, 10, 12});
  const Augmentations steps("resized_crop:5x5", set);
  EXPECT_EQ(steps.evaluation_text(), "resize:6,center:5x5");
  std::map<std::vector<uint8_t>, int> seen;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const std::vector<uint8_t> bytes = bytes_of(steps, set, {1, epoch, 0});
    ++seen[bytes];
    for (size_t i = 0; i < 25; ++i) {
      EXPECT_GE(bytes[i], 1);
      EXPECT_LE(bytes[i], 120);
      // The ramp grows to the right and downwards, and so does every piece of it.
      if (i % 5 != 0) {
        EXPECT_GE(bytes[i], bytes[i - 1]);
      }
      if (i >= 5) {
        EXPECT_GE(bytes[i], bytes[i - 5]);
      }
    }
  }
  EXPECT_GT(seen.size(), 30U);
  // A picture too narrow for any ratio gives its middle.
  const Ramp narrow({1, 1, 100});
  EXPECT_EQ(bytes_of(Augmentations("resized_crop:1x1:1", narrow), narrow, {}).size(), 1U);
}

TEST(Augment, JitterOfNothingChangesNothing) {
  const Ramp set({3, 4, 4});
  Pixels room;
  const PixelView plain = set.pixels(0, room);
  const std::vector<uint8_t> before(plain.data, plain.data + plain.shape.elements());
  EXPECT_EQ(bytes_of(Augmentations("jitter:0/0/0", set), set, {}), before);
  const Augmentations strong("jitter:0.5/0.5/0.5/0.1", set);
  EXPECT_NE(bytes_of(strong, set, {1, 0, 0}), before);
  EXPECT_NE(bytes_of(strong, set, {1, 0, 0}), bytes_of(strong, set, {1, 1, 0}));
  EXPECT_EQ(strong.text(), "jitter:0.5/0.5/0.5/0.1");
  EXPECT_EQ(strong.evaluation_text(), "");
}

TEST(Augment, RandAugmentDrawsItsChangesAndKeepsTheShape) {
  const Ramp set({3, 9, 8});
  const Augmentations one("randaugment:1/30", set);
  EXPECT_EQ(one.text(), "randaugment:1/30");
  EXPECT_EQ(Augmentations("randaugment", set).text(), "randaugment:2/9");
  EXPECT_EQ(one.evaluation_text(), "");
  std::map<std::vector<uint8_t>, int> seen;
  for (int64_t epoch = 0; epoch < 600; ++epoch) ++seen[bytes_of(one, set, {1, epoch, 0})];
  // Nine changes with two signs each, five without, of which one may do nothing here.
  EXPECT_GE(seen.size(), 20U);
  EXPECT_LE(seen.size(), 24U);
  std::vector<uint8_t> same(216);
  for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<uint8_t>(i + 1);
  EXPECT_EQ(seen.count(same), 1U);
  // Of no strength only contrast by range or frequency changes anything.
  const Augmentations still("randaugment:1/0", set);
  std::map<std::vector<uint8_t>, int> few;
  for (int64_t epoch = 0; epoch < 200; ++epoch) ++few[bytes_of(still, set, {1, epoch, 0})];
  EXPECT_LE(few.size(), 3U);
  EXPECT_NE(step_refusal("randaugment:2/31").find("0 to 30"), std::string::npos);
}

TEST(Augment, ChannelsSpreadAndMix) {
  const Ramp gray({1, 1, 2});
  EXPECT_EQ(bytes_of(Augmentations("channels:3", gray), gray, {}),
            (std::vector<uint8_t>{1, 2, 1, 2, 1, 2}));
  const Ramp color({3, 1, 1});  // 0.299 * 1 + 0.587 * 2 + 0.114 * 3 = 1.815
  EXPECT_EQ(bytes_of(Augmentations("channels:1", color), color, {}), (std::vector<uint8_t>{2}));
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
  const Ramp color({3, 1, 2});  // 1, 2; 3, 4; 5, 6
  EXPECT_EQ(Augmentations("channels:1,normalize", color).text(),
            "channels:1,normalize:0.0123:0.002");
}

TEST(Augment, RandomStepsAreLeftOutOfEvaluation) {
  const Ramp set({1, 4, 4});
  const Augmentations steps("pad:6,crop:4,flip,normalize:0.5:0.25", set);
  EXPECT_EQ(steps.text(), "pad:6x6,crop:4,flip,normalize:0.5:0.25");
  EXPECT_EQ(steps.evaluation_text(), "pad:6x6,normalize:0.5:0.25");
  EXPECT_EQ(steps.output(), (PictureShape{1, 6, 6}));
}

TEST(Augment, SaysWhatIsWrong) {
  EXPECT_NE(step_refusal("crpo:4").find("Did you mean crop"), std::string::npos);
  EXPECT_NE(step_refusal("normalize,flip").find("must be the last"), std::string::npos);
  EXPECT_NE(step_refusal("crop").find("augmentation 'crop' (crop:PADDING): ''"), std::string::npos);
  EXPECT_NE(step_refusal("flip:2").find("'2' is not a number from 0 to 1"), std::string::npos);
  EXPECT_NE(step_refusal("pad:2x2").find("pictures of 3x4x6 do not fit"), std::string::npos);
  EXPECT_NE(step_refusal("normalize:0.5/0.5:0.1/0.1").find("2 channels, the pictures have 3"),
            std::string::npos);
  EXPECT_NE(step_refusal("normalize:0.5:0").find("'0' is not a number"), std::string::npos);
  EXPECT_NE(step_refusal("center:5x5").find("are too small"), std::string::npos);
  EXPECT_NE(step_refusal("cutout:4x0").find("'0' is not a whole number from 1"), std::string::npos);
  EXPECT_NE(step_refusal("cutout:4:red").find("'red' is no color such as ff00ff"),
            std::string::npos);
  EXPECT_NE(step_refusal("dropout").find("augmentation 'dropout' (dropout:SHARE)"),
            std::string::npos);
  EXPECT_NE(step_refusal("jitter:0.1").find("1 numbers, expected 3 or 4"), std::string::npos);
  EXPECT_NE(step_refusal("channels:2").find("neither 1 nor 3"), std::string::npos);
  EXPECT_NE(step_refusal("flip,,crop:1").find("no augmentation ''"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::data

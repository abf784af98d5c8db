// What a model's file says of its pictures, and what they become.
#include "models/model_notes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"

namespace trainyard::network {
namespace {

data::Image gray(int64_t height, int64_t width, uint8_t value) {
  return {height, width, std::vector<uint8_t>(static_cast<size_t>(height * width * 3), value)};
}

TEST(ModelNotes, ComeBackAsTheyWereWritten) {
  onnx_io::Metadata metadata;
  EXPECT_FALSE(preparation_of(metadata));
  note_preparation({.steps = "normalize:0.5:0.25", .picture = data::PictureShape{1, 28, 28}},
                   metadata);
  note_classes(std::vector<std::string>{"cat", "dog"}, metadata);
  EXPECT_EQ(preparation_of(metadata)->steps, "normalize:0.5:0.25");
  EXPECT_EQ(preparation_of(metadata)->picture, (data::PictureShape{1, 28, 28}));
  EXPECT_EQ(onnx_io::class_names(metadata), (std::vector<std::string>{"cat", "dog"}));
  metadata[onnx_io::kPictureKey] = "banana";
  EXPECT_THROW(preparation_of(metadata), Error);
}

TEST(ModelNotes, StepsWithoutASetSayWhatPicturesTheyTake) {
  const data::PictureShape input{3, 24, 24};
  const Preparation any =
      preparation_for("crop:2,flip,resize:32,center:24x24,normalize:0.5:0.5", input);
  EXPECT_EQ(any.picture->to_string(), "3x?x?");
  EXPECT_EQ(any.steps.find("flip"), std::string::npos) << any.steps;
  EXPECT_EQ(picture_tensor(gray(50, 70, 255), any, input).values<float>()[0], 1);
  const Preparation one = preparation_for("normalize:0.5:0.25", input);
  EXPECT_EQ(one.picture->to_string(), "3x24x24");
  EXPECT_EQ(picture_tensor(gray(50, 70, 255), one, input).values<float>()[0], 2);
  EXPECT_NE(message_of([&] { preparation_for("resize:10x10", input); }).find("does not make"),
            std::string::npos);
  EXPECT_NE(message_of([&] { preparation_for("flip,normalize", input); }).find("could measure"),
            std::string::npos);
}

TEST(ModelNotes, StepsAloneTakeTheChannelsOfTheInput) {
  const Preparation steps{.steps = "resize:4x4,normalize:0.5:0.5"};
  EXPECT_EQ(picture_tensor(gray(9, 7, 0), steps, {1, 4, 4}).shape(), (Shape{1, 1, 4, 4}));
  EXPECT_NE(message_of([&] {
              picture_tensor(gray(9, 7, 0), steps, {3, 5, 5});
            }).find("3x5x5"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::network

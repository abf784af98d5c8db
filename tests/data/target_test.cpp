// Targets beside the pictures: boxes that follow their pixels, probabilities, and their batches.
#include "data/target.h"

#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/loader.h"

namespace trainyard::data {
namespace {

constexpr uint8_t kBright = 255;

// Black pictures with one bright rectangle, whose box is the target; sizes differ.
class Rectangles final : public Dataset {
 public:
  Rectangles() : Dataset({.shape = {1, 0, 0}, .class_names = {"a", "b"}, .source = "boxes"}) {}
  int64_t size() const override { return 40; }
  TargetKind target_kind() const override { return TargetKind::kBoxes; }
  void target(int64_t index, Target& target) const override {
    target.boxes.assign(1, box_of(index));
  }
  PixelView pixels(int64_t index, Pixels& room) const override {
    room.reshape({1, 30 + index % 7, 40 - index % 5});
    std::fill(room.bytes.begin(), room.bytes.end(), uint8_t{0});
    const Box box = box_of(index);
    for (auto y = static_cast<int64_t>(box.top); y < static_cast<int64_t>(box.bottom); ++y) {
      for (auto x = static_cast<int64_t>(box.left); x < static_cast<int64_t>(box.right); ++x) {
        room.row(0, y)[x] = kBright;
      }
    }
    return room.view();
  }
  static Box box_of(int64_t index) {
    const auto i = static_cast<float>(index % 10);
    return {.left = 3 + i, .top = 2 + i, .right = 20 + i, .bottom = 13 + i, .label = index % 2};
  }
};

// Where the picture is brighter than half.
std::optional<Box> bright_part(const PixelView& view, int64_t label) {
  std::optional<Box> box;
  for (int64_t y = 0; y < view.shape.height; ++y) {
    for (int64_t x = 0; x < view.shape.width; ++x) {
      if (view.row(0, y)[x] <= kBright / 2) continue;
      const auto left = static_cast<float>(x);
      const auto top = static_cast<float>(y);
      if (!box) box = Box{left, top, left + 1, top + 1, label};
      box = Box{std::min(box->left, left), std::min(box->top, top), std::max(box->right, left + 1),
                std::max(box->bottom, top + 1), label};
    }
  }
  return box;
}

void expect_near(const Box& found, const Box& expected, float tolerance, const std::string& what) {
  EXPECT_NEAR(found.left, expected.left, tolerance) << what;
  EXPECT_NEAR(found.top, expected.top, tolerance) << what;
  EXPECT_NEAR(found.right, expected.right, tolerance) << what;
  EXPECT_NEAR(found.bottom, expected.bottom, tolerance) << what;
  EXPECT_EQ(found.label, expected.label) << what;
}

// Over many draws: what is bright afterwards is what the box says.
void expect_boxes_follow(const std::string& text, float tolerance, int least_seen) {
  const Rectangles set;
  const Augmentations steps(text, set);
  Workspace workspace;
  int seen = 0;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int64_t sample = 0; sample < set.size(); ++sample) {
      const Draw draw{.seed = 7, .epoch = epoch, .sample = sample};
      const PixelView view = steps.bytes(set, draw, workspace);
      const std::vector<Box>& boxes = workspace.target.boxes;
      const auto found = bright_part(view, sample % 2);
      if (!found) {
        // Less than a pixel may be left of it.
        for (const Box& box : boxes) EXPECT_LT(std::min(box.width(), box.height()), 2) << text;
        continue;
      }
      ASSERT_EQ(boxes.size(), 1U) << text;
      expect_near(boxes[0], *found, tolerance, text);
      ++seen;
    }
  }
  EXPECT_GE(seen, least_seen) << text;
}

TEST(Boxes, FollowThePixelsThroughEveryStep) {
  expect_boxes_follow("center:24x28", 0.6F, 200);
  expect_boxes_follow("resize:32x48", 0.6F, 200);
  expect_boxes_follow("resize:48,center:40x40", 0.6F, 200);
  expect_boxes_follow("resize:32x48,crop:12", 0.6F, 200);
  expect_boxes_follow("resize:32x48,flip", 0.6F, 200);
  expect_boxes_follow("resize:32x48,pad:40x61", 0.6F, 200);
  // Shrunk pieces blur their border by about a pixel.
  expect_boxes_follow("resized_crop:32x32:0.3", 1.6F, 150);
  expect_boxes_follow("resized_crop:64x64:0.5,flip,crop:8,channels:3,center:48x48", 1.6F, 150);
  expect_boxes_follow("expand,resize:96x96", 1.6F, 200);
  expect_boxes_follow("sample_crop,resize:96x96,flip", 1.6F, 200);
}

TEST(Boxes, AreCutOffAtTheBorderAndDroppedOutsideOfIt) {
  std::vector<Box> boxes = {{0, 0, 4, 4, 1}, {5, 5, 9, 9, 2}, {4, 0, 6, 9, 3}};
  move_boxes(boxes, {.left = 4, .top = 4, .scale_x = 2, .scale_y = 1}, {1, 3, 8});
  EXPECT_EQ(boxes, (std::vector<Box>{{2, 1, 8, 3, 2}, {0, 0, 4, 3, 3}}));
}

TEST(Boxes, ComeInBatches) {
  const Rectangles set;
  Loader loader(set, {.batch = 16, .workers = 2, .augmentations = "resize:60x80,flip"});
  loader.start_epoch(3);
  int64_t sample = 0;
  while (const Batch* batch = loader.next()) {
    ASSERT_EQ(batch->boxes.size(), 16U);
    for (size_t i = 0; i < 16; ++i) {
      if (static_cast<int64_t>(i) >= batch->valid) {
        EXPECT_TRUE(batch->boxes[i].empty());
        continue;
      }
      ASSERT_EQ(batch->boxes[i].size(), 1U);
      EXPECT_EQ(batch->boxes[i][0].label, sample % 2);
      EXPECT_EQ(batch->labels.values<int64_t>()[i], kNoLabel);
      EXPECT_EQ(batch->origins[i].sample, sample);
      EXPECT_EQ(batch->origins[i].shape, (PictureShape{1, 30 + sample % 7, 40 - sample % 5}));
      Workspace workspace;
      loader.augmentations().bytes(set, {.seed = 1, .epoch = 3, .sample = sample}, workspace);
      EXPECT_EQ(batch->boxes[i], workspace.target.boxes);
      ++sample;
    }
  }
  EXPECT_EQ(sample, set.size());
}

// Sample i is of class 0 with probability i / 10.
class TestPredictions final : public Dataset {
 public:
  explicit TestPredictions(TargetKind kind, size_t classes = 2)
      : Dataset({.shape = {1, 2, 2}, .class_names = {"a", "b"}, .source = "guesses"}),
        kind_(kind),
        classes_(classes) {}
  int64_t size() const override { return 10; }
  TargetKind target_kind() const override { return kind_; }
  void target(int64_t index, Target& target) const override {
    target.probabilities.assign(classes_, 0);
    target.probabilities[0] = static_cast<float>(index) / 10;
    target.probabilities[1] = 1 - target.probabilities[0];
  }
  PixelView pixels(int64_t index, Pixels& room) const override {
    room.reshape(shape());
    std::fill(room.bytes.begin(), room.bytes.end(), static_cast<uint8_t>(index));
    return room.view();
  }

 private:
  TargetKind kind_;
  size_t classes_;
};

TEST(Probabilities, ComeInBatches) {
  const TestPredictions set(TargetKind::kProbabilities);
  Loader loader(set, {.batch = 4});
  loader.start_epoch(0);
  int64_t sample = 0;
  while (const Batch* batch = loader.next()) {
    for (size_t i = 0; i < 4; ++i) {
      const bool is_there = static_cast<int64_t>(i) < batch->valid;
      const float first = is_there ? static_cast<float>(sample++) / 10 : 0;
      EXPECT_FLOAT_EQ(batch->probabilities.values<float>()[2 * i], first);
      EXPECT_FLOAT_EQ(batch->probabilities.values<float>()[2 * i + 1], is_there ? 1 - first : 0);
    }
  }
  EXPECT_EQ(sample, 10);
  const TestPredictions uneven(TargetKind::kProbabilities, 3);
  Loader failing(uneven, {.batch = 4});
  failing.start_epoch(0);
  EXPECT_THROW(failing.next(), Error);
}

TEST(Targets, MayBeMissing) {
  const TestPredictions set(TargetKind::kNone);
  Loader loader(set, {.batch = 5});
  loader.start_epoch(0);
  const Batch* batch = loader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_TRUE(batch->probabilities.empty());
  EXPECT_TRUE(batch->boxes.empty());
  for (const int64_t label : batch->labels.values<int64_t>()) EXPECT_EQ(label, kNoLabel);
}

}  // namespace
}  // namespace trainyard::data

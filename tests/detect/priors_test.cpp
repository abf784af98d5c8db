// Shapes of priors: as text, fitted to objects, and with a finer map.
#include <gtest/gtest.h>

#include "base/error.h"
#include "detect/fit_priors.h"
#include "models/detection/decoder.h"
#include "models/zoo/model.h"

namespace trainyard::detect {
namespace {

TEST(PriorShapes, AreReadAsTheyAreWritten) {
  const std::vector<PriorShape> shapes = ssd_shapes(kMapsWithFine);
  const std::vector<PriorShape> read = parse_shapes(shapes_text(shapes));
  ASSERT_EQ(read.size(), kMapsWithFine * kShapesPerPosition);
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_NEAR(read[i].width, shapes[i].width, 1e-3);
    EXPECT_NEAR(read[i].height, shapes[i].height, 1e-3);
  }
  EXPECT_TRUE(parse_shapes("ssd").empty());
  for (const char* bad : {"", "0.1", "0.1x0.2", "0.1x0.2x0.3", "0x1", "3x1", "nanx1", "fitted"}) {
    EXPECT_THROW(parse_shapes(bad), Error) << bad;
  }
}

// 38 x 38 positions behind the 3,000 priors that are always there.
TEST(PriorShapes, FineMapIsBehindTheOthers) {
  const std::vector<Prior> six = ssd_priors(300);
  const std::vector<Prior> seven = ssd_priors(300, ssd_shapes(kMapsWithFine));
  ASSERT_EQ(seven.size(), six.size() + 38U * 38 * kShapesPerPosition);
  for (size_t i = 0; i < six.size(); ++i) EXPECT_EQ(six[i].width, seven[i].width);
  const Prior& first = seven[six.size()];
  EXPECT_FLOAT_EQ(first.x, 4.0F / 300);
  EXPECT_FLOAT_EQ(first.width, 0.1F);
}

// Whatever the size of the picture, networks have as many outputs as there are priors.
TEST(PriorShapes, GoWithTheNetworksOfTheZoo) {
  for (const char* name : {"ssd300-mobilenet_v1", "ssd300-mobilenet_v1-lite"}) {
    EXPECT_EQ(maps_of(models::build_model(name, {.image = 128, .width = 0.25})), kMaps);
  }
  for (const int64_t image : {64, 130, 300}) {
    const Graph fine =
        models::build_model("ssd300-mobilenet_v1-fine", {.image = image, .width = 0.25});
    EXPECT_EQ(maps_of(fine), kMapsWithFine);
    EXPECT_EQ(priors_of(fine, {}).size(), ssd_priors(image, ssd_shapes(kMapsWithFine)).size());
    EXPECT_THROW(priors_of(fine, ssd_shapes()), Error);
  }
}

// Objects of 0.05 of the picture, of which no prior of SSD overlaps half: the finer map does.
class SmallObjects final : public data::Dataset {
 public:
  SmallObjects() : Dataset({.shape = {3, 300, 300}, .class_names = {"a"}, .source = "small"}) {}
  int64_t size() const override { return 40; }
  int64_t label(int64_t) const override { return data::kNoLabel; }
  data::TargetKind target_kind() const override { return data::TargetKind::kBoxes; }
  void target(int64_t index, data::Target& target) const override {
    const auto left = static_cast<float>(6 * index);
    target.boxes = {{.left = left, .top = 50, .right = left + 15, .bottom = 66, .label = 0}};
  }
  data::PixelView pixels(int64_t, data::Pixels& room) const override {
    room.reshape(shape());
    return room.view();
  }
};

TEST(FitPriors, CoversSmallObjectsOnTheFinerMap) {
  const SmallObjects set;
  const PriorFit coarse = fit_priors(set, 300, 1);
  const PriorFit fine = fit_priors(set, 300, 1, kMapsWithFine);
  EXPECT_EQ(coarse.objects, 40);
  EXPECT_EQ(coarse.own.covered, 0);
  EXPECT_GT(coarse.fitted.mean_overlap, coarse.own.mean_overlap);
  EXPECT_GT(fine.fitted.covered, coarse.fitted.covered);
  EXPECT_NEAR(fine.shapes[kMaps * kShapesPerPosition].width, 0.05, 1e-6);
  // The coarser map, which has no objects now, keeps SSD's.
  EXPECT_EQ(fine.shapes[0].width, 0.2);
}

}  // namespace
}  // namespace trainyard::detect

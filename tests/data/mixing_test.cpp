#include "data/mixing.h"

#include <cmath>

#include <gtest/gtest.h>

#include "data/loader.h"
#include "support/error_message.h"

namespace trainyard::data {
namespace {

constexpr PictureShape kShape = {1, 8, 10};

TEST(Mixing, SharesFollowTheirDistribution) {
  for (const double alpha : {0.2, 1.0, 2.0}) {
    double sum = 0;
    double squares = 0;
    constexpr int64_t kDraws = 4000;
    for (int64_t i = 0; i < kDraws; ++i) {
      const Blend blend = draw_blend({.mixup = alpha}, {.seed = 1, .sample = i}, 50, kShape);
      EXPECT_FALSE(blend.is_pasted());
      EXPECT_GE(blend.partner, 0);
      EXPECT_LT(blend.partner, 50);
      sum += blend.own;
      squares += blend.own * blend.own;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5, 0.03) << alpha;
    // The variance of Beta(a, a) is 1 / (4 (2 a + 1)).
    EXPECT_NEAR(squares / kDraws - mean * mean, 1 / (4 * (2 * alpha + 1)), 0.01) << alpha;
  }
}

TEST(Mixing, CutMixSharesAreAreas) {
  for (int64_t i = 0; i < 200; ++i) {
    const Blend blend = draw_blend({.cutmix = 1}, {.seed = 1, .sample = i}, 50, kShape);
    std::vector<float> image(80, 0.0F);
    const std::vector<float> partner(80, 1.0F);
    blend_images(blend, kShape, partner.data(), image.data());
    double pasted = 0;
    for (const float value : image) pasted += double{value};
    EXPECT_NEAR(1 - pasted / 80, blend.own, 1e-12);
  }
}

TEST(Mixing, BatchesHaveProbabilitiesThatDoNotDependOnTheBatch) {
  const auto set = open_dataset("synthetic:1x8x8,classes=5,size=24", Split::kTrain);
  LoaderOptions options;
  options.batch = 6;
  options.workers = 0;
  options.mixing = {.mixup = 0.5, .cutmix = 1};
  Loader small(*set, options);
  options.batch = 12;
  options.workers = 2;
  Loader large(*set, options);
  small.start_epoch(3);
  large.start_epoch(3);
  const Batch* of_large = large.next();
  int64_t mixed = 0;
  for (int64_t part = 0; part < 2; ++part) {
    const Batch* of_small = small.next();
    for (int64_t i = 0; i < 6; ++i) {
      double sum = 0;
      for (int64_t c = 0; c < 5; ++c) {
        const float p = of_small->probabilities.values<float>()[static_cast<size_t>(i * 5 + c)];
        EXPECT_EQ(
            p,
            of_large->probabilities.values<float>()[static_cast<size_t>((part * 6 + i) * 5 + c)]);
        sum += double{p};
        if (p > 0 && p < 1) ++mixed;
      }
      EXPECT_NEAR(sum, 1, 1e-6);
      EXPECT_EQ(of_small->images.values<float>()[static_cast<size_t>(i * 64)],
                of_large->images.values<float>()[static_cast<size_t>((part * 6 + i) * 64)]);
    }
  }
  EXPECT_GT(mixed, 6);
  const auto boxes = open_dataset("shapes:32,size=8", Split::kTrain);
  EXPECT_NE(message_of([&] { Loader(*boxes, options); }).find("mix classes"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::data

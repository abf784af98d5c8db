// What measured steps mean for workers and batches, and a measurement over threads.
#include "studies/scaling/scaling.h"

#include <cmath>

#include <gtest/gtest.h>

#include "dist/threads.h"
#include "models/zoo/model.h"

namespace trainyard::measure {
namespace {

ScalePoint point(int64_t workers, int64_t batch, double step_s) {
  ScalePoint p;
  p.workers = workers;
  p.batch = batch;
  p.step_s = step_s;
  return p;
}

const std::vector<ScalePoint> kPoints = {point(1, 32, 0.1), point(1, 128, 0.4), point(2, 32, 0.125),
                                         point(2, 128, 0.425), point(4, 32, 0.2)};
constexpr ScaleSettings kSettings = {.images = 1280, .epochs = 10, .usd_per_hour = 3.6};

TEST(Scaling, WeakKeepsTheBatchOfEachWorker) {
  const std::vector<ScaleRow> rows = weak_scaling(kPoints, 32, kSettings);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_DOUBLE_EQ(rows[0].epoch_s, 4.0);
  EXPECT_DOUBLE_EQ(rows[1].images_per_s, 64 / 0.125);
  EXPECT_DOUBLE_EQ(rows[1].epoch_s, 2.5);
  EXPECT_DOUBLE_EQ(rows[1].speedup, 1.6);
  EXPECT_DOUBLE_EQ(rows[1].efficiency, 0.8);
  // The growth of one iteration.
  EXPECT_DOUBLE_EQ(rows[2].efficiency, 0.1 / 0.2);
  EXPECT_EQ(rows[2].global_batch, 128);
  EXPECT_DOUBLE_EQ(rows[2].train_s, 20.0);
  EXPECT_DOUBLE_EQ(rows[2].cost_usd, 20.0 / 3600 * 3.6 * 4);
}

TEST(Scaling, StrongSharesOneBatch) {
  const std::vector<ScaleRow> rows = strong_scaling(kPoints, 128, kSettings);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[0].measured);
  // 64 images lie a third of the way from 32 to 128.
  EXPECT_FALSE(rows[1].measured);
  EXPECT_DOUBLE_EQ(rows[1].step_s, 0.225);
  EXPECT_DOUBLE_EQ(rows[1].speedup, 0.4 / 0.225);
  EXPECT_TRUE(rows[2].measured);
  EXPECT_EQ(rows[2].batch, 32);
  EXPECT_DOUBLE_EQ(rows[2].speedup, 2.0);
  EXPECT_DOUBLE_EQ(rows[2].efficiency, 0.5);
  // 16 images a worker are outside of what was measured.
  EXPECT_EQ(strong_scaling(kPoints, 32, kSettings).size(), 1U);
}

TEST(Scaling, ErrorsOfInterpolatedStepsAreThoseOfBothSides) {
  std::vector<ScalePoint> points = kPoints;
  for (ScalePoint& each : points) each.error_s = each.batch == 32 ? 0.003 : 0.006;
  const std::vector<ScaleRow> rows = strong_scaling(points, 128, kSettings);
  EXPECT_DOUBLE_EQ(rows[0].error_s, 0.006);
  EXPECT_NEAR(rows[1].error_s, std::hypot(2.0 / 3 * 0.003, 1.0 / 3 * 0.006), 1e-12);
  EXPECT_TRUE(std::isnan(strong_scaling(kPoints, 128, kSettings)[0].error_s));
}

TEST(Scaling, WithoutOneWorkerThereIsNothingToCompareWith) {
  const std::vector<ScalePoint> points = {point(2, 32, 0.1), point(4, 32, 0.1)};
  EXPECT_TRUE(weak_scaling(points, 32, kSettings).empty());
  EXPECT_TRUE(strong_scaling(points, 128, kSettings).empty());
}

TEST(Scaling, LossIsContentionUnevenStepsAndCommunication) {
  ScalePoint both = point(2, 32, 0.135);
  both.alone_s = 0.1;
  both.independent_s = 0.115;
  both.slowest_s = 0.12;
  both.together_s = 0.125;
  both.cores_alone_s = 0.09;
  both.cores_slowest_s = 0.1;
  const ScaleLoss loss = scale_loss(both);
  EXPECT_DOUBLE_EQ(loss.efficiency(), 0.8);
  EXPECT_DOUBLE_EQ(loss.limit(), 0.9);
  EXPECT_NEAR(loss.contention(), 0.12, 1e-12);
  EXPECT_NEAR(loss.unevenness(), 0.04, 1e-12);
  EXPECT_NEAR(loss.communication(), 0.04, 1e-12);
}

TEST(Scaling, MeasuresRanksTogetherAndApart) {
  train::TrainConfig config;
  config.model = "lenet5";
  config.data = "synthetic:1x28x28,classes=4,size=64";
  config.threads = 1;
  const auto training = data::open_dataset(config.data, data::Split::kTrain);
  for (const int64_t workers : {1, 2}) {
    config.batch = 8 * workers;
    const Graph model = models::build_model(config.model, {.batch = 8, .classes = 4});
    std::vector<ScalePoint> points(static_cast<size_t>(workers));
    dist::run_in_threads({.ranks = workers}, [&](dist::Communicator& comm) {
      points[static_cast<size_t>(comm.rank())] =
          measure_scale_point(comm, config, model, *training, {.steps = 2});
    });
    const ScalePoint& p = points.back();
    EXPECT_EQ(p.workers, workers);
    EXPECT_EQ(p.batch, 8);
    EXPECT_EQ(p.steps, 2);
    EXPECT_GT(p.compute_s, 0);
    EXPECT_LE(p.compute_s + p.exposed_s + p.data_s, p.step_s);
    EXPECT_EQ(p.step_s, points.front().step_s);
    // Of two steps the error is half of how far they lie apart.
    EXPECT_GT(p.error_s, 0);
    EXPECT_LT(p.error_s, p.step_s);
    EXPECT_EQ(p.alone_s > 0, workers > 1);
    EXPECT_EQ(p.independent_s > 0, workers > 1);
    EXPECT_GE(p.slowest_s, p.independent_s);
    EXPECT_EQ(p.together_s > 0, workers > 1);
    EXPECT_EQ(p.cores_alone_s > 0, workers > 1);
    EXPECT_EQ(p.cores_slowest_s > 0, workers > 1);
    // 4 bytes for each parameter of lenet5 with four classes, without padding.
    EXPECT_EQ(p.gradient_bytes, workers > 1 ? 4 * 61'196 : 0);
    EXPECT_GE(p.communication_s, p.exposed_s);
  }
}

TEST(Scaling, PlannedMemoryGrowsWithTheBatch) {
  train::TrainConfig config;
  config.threads = 1;
  const auto planned = [&](int64_t batch) {
    config.batch = batch;
    return planned_memory(config, models::build_model("lenet5", {.batch = batch, .classes = 4}));
  };
  const int64_t few = planned(8);
  const int64_t more = planned(64);
  EXPECT_GT(more - few, 56 * 28 * 28 * 4 * 4);
  EXPECT_LT(more, 8 * few);
}

}  // namespace
}  // namespace trainyard::measure

// Average precision against figures that public evaluators give, and against hand-made cases.
#include "detect/scoring.h"

#include <gtest/gtest.h>

#include "base/stopwatch.h"
#include "detect/coco_scoring.h"
#include "detect/error_kinds.h"

namespace trainyard::detect {
namespace {

struct Row {
  int64_t picture;
  double score;
  double left, top, width, height;
};

// The sample with 7 pictures of rafaelpadilla/Object-Detection-Metrics (MIT), samples/sample_2.
constexpr Row kSampleTruths[] = {
    {1, 1, 25, 16, 38, 56},  {1, 1, 129, 123, 41, 62}, {2, 1, 123, 11, 43, 55},
    {2, 1, 38, 132, 59, 45}, {3, 1, 16, 14, 35, 48},   {3, 1, 123, 30, 49, 44},
    {3, 1, 99, 139, 47, 47}, {4, 1, 53, 42, 40, 52},   {4, 1, 154, 43, 31, 34},
    {5, 1, 59, 31, 44, 51},  {5, 1, 48, 128, 34, 52},  {6, 1, 36, 89, 52, 76},
    {6, 1, 62, 58, 44, 67},  {7, 1, 28, 31, 55, 63},   {7, 1, 58, 67, 50, 58}};
constexpr Row kSampleDetections[] = {
    {1, 0.88, 5, 67, 31, 48},    {1, 0.70, 119, 111, 40, 67}, {1, 0.80, 124, 9, 49, 67},
    {2, 0.71, 64, 111, 64, 58},  {2, 0.54, 26, 140, 60, 47},  {2, 0.74, 19, 18, 43, 35},
    {3, 0.18, 109, 15, 77, 39},  {3, 0.67, 86, 63, 46, 45},   {3, 0.38, 160, 62, 36, 53},
    {3, 0.91, 105, 131, 47, 47}, {3, 0.44, 18, 148, 40, 44},  {4, 0.35, 83, 28, 28, 26},
    {4, 0.78, 28, 68, 42, 67},   {4, 0.45, 87, 89, 25, 39},   {4, 0.14, 10, 155, 60, 26},
    {5, 0.62, 50, 38, 28, 46},   {5, 0.44, 95, 11, 53, 28},   {5, 0.95, 29, 131, 72, 29},
    {5, 0.23, 29, 163, 72, 29},  {6, 0.45, 43, 48, 74, 38},   {6, 0.84, 17, 155, 29, 35},
    {6, 0.43, 95, 110, 25, 42},  {7, 0.48, 16, 20, 101, 88},  {7, 0.95, 33, 116, 37, 49}};

Region region_of_row(const Row& row) {
  return {row.left, row.top, row.left + row.width, row.top + row.height};
}

std::vector<Truth> sample_truths() {
  std::vector<Truth> truths;
  for (const Row& row : kSampleTruths) {
    truths.push_back({.picture = row.picture, .label = 0, .region = region_of_row(row)});
  }
  return truths;
}

std::vector<Detection> sample_detections() {
  std::vector<Detection> detections;
  for (const Row& row : kSampleDetections) {
    detections.push_back(
        {.picture = row.picture, .label = 0, .score = row.score, .region = region_of_row(row)});
  }
  return detections;
}

ClassResult sample_at(double overlap) {
  return score_voc(sample_truths(), sample_detections(), 1, {.overlap = overlap, .extra = 1})
      .classes[0];
}

// Figures of that repository's Evaluator.
TEST(ScoreVoc, PublicSample) {
  const ClassResult low = sample_at(0.3);
  EXPECT_NEAR(low.every_point.value(), 0.245687, 1e-6);
  EXPECT_NEAR(low.eleven_point.value(), 0.268398, 1e-6);
  EXPECT_EQ(low.true_positives, 7);
  EXPECT_EQ(low.false_positives, 17);
  const ClassResult half = sample_at(0.5);
  EXPECT_NEAR(half.every_point.value(), 0.022222, 1e-6);
  EXPECT_NEAR(half.eleven_point.value(), 0.030303, 1e-6);
  EXPECT_EQ(half.true_positives, 1);
  EXPECT_EQ(half.false_positives, 23);
}

Detection found(double score, Region region, int64_t label = 0, int64_t picture = 0) {
  return {.picture = picture, .label = label, .score = score, .region = region};
}

constexpr Region kSquare = {0, 0, 10, 10};
constexpr Region kElsewhere = {50, 50, 60, 60};

TEST(ScoreVoc, DuplicatesAreFalseAndDifficultOnesDoNotCount) {
  const std::vector<Truth> truths = {
      {.picture = 0, .label = 0, .region = kSquare},
      {.picture = 0, .label = 0, .region = kElsewhere, .difficult = true}};
  const std::vector<Detection> detections = {found(0.9, kElsewhere), found(0.8, kSquare),
                                             found(0.7, kSquare), found(0.6, {20, 20, 30, 30})};
  const VocResult result = score_voc(truths, detections, 2, {});
  EXPECT_EQ(result.classes[0].truths, 1);
  EXPECT_EQ(result.classes[0].true_positives, 1);
  EXPECT_EQ(result.classes[0].false_positives, 2);
  EXPECT_DOUBLE_EQ(result.classes[0].every_point.value(), 1.0);
  // A class without objects has no average and does not pull the mean down.
  EXPECT_FALSE(result.classes[1].every_point.has_value());
  EXPECT_DOUBLE_EQ(result.every_point.value(), 1.0);
}

TEST(ScoreVoc, OverlapMayHaveToBeMore) {
  const std::vector<Truth> truths = {{.picture = 0, .label = 0, .region = kSquare}};
  const std::vector<Detection> half = {found(0.9, {0, 0, 10, 5})};
  EXPECT_EQ(score_voc(truths, half, 1, {}).classes[0].true_positives, 1);
  EXPECT_EQ(score_voc(truths, half, 1, {.strict = true}).classes[0].true_positives, 0);
}

TEST(ScoreVoc, NothingAtAll) {
  EXPECT_FALSE(score_voc({}, {}, 3, {}).eleven_point.has_value());
}

TEST(ScoreCoco, PerfectDetectionsAreOne) {
  const std::vector<Truth> truths = {{.picture = 0, .label = 0, .region = kSquare},
                                     {.picture = 1, .label = 0, .region = {0, 0, 50, 50}},
                                     {.picture = 1, .label = 1, .region = {0, 0, 200, 200}}};
  std::vector<Detection> detections;
  for (const Truth& truth : truths) {
    detections.push_back(found(0.9, truth.region, truth.label, truth.picture));
  }
  const CocoResult result = score_coco(truths, detections, 2);
  EXPECT_NEAR(result.average.value(), 1, 1e-12);
  EXPECT_NEAR(result.small.value(), 1, 1e-12);
  EXPECT_NEAR(result.medium.value(), 1, 1e-12);
  EXPECT_NEAR(result.large.value(), 1, 1e-12);
  EXPECT_NEAR(result.recall.value(), 1, 1e-12);
}

// An overlap of 0.72 finds the object at 0.5 to 0.7: five of ten.
TEST(ScoreCoco, AveragesOverOverlaps) {
  const std::vector<Truth> truths = {{.picture = 0, .label = 0, .region = {0, 0, 100, 100}}};
  const std::vector<Detection> detections = {found(0.9, {0, 0, 100, 72})};
  const CocoResult result = score_coco(truths, detections, 1);
  EXPECT_NEAR(result.average.value(), 0.5, 1e-12);
  EXPECT_NEAR(result.average_50.value(), 1, 1e-12);
  EXPECT_NEAR(result.average_75.value(), 0, 1e-12);
  EXPECT_FALSE(result.small.has_value());
}

// Found, wrong, found of three objects: precision 1 to a recall of 1/3, 2/3 to 2/3, then 0. Of 101
// recalls 34 (0 to 0.33) and 33 (0.34 to 0.66).
TEST(ScoreCoco, PrecisionAt101Recalls) {
  std::vector<Truth> truths;
  for (int64_t i = 0; i < 3; ++i) truths.push_back({.picture = i, .label = 0, .region = kSquare});
  const std::vector<Detection> detections = {
      found(0.9, kSquare, 0, 0), found(0.8, kElsewhere, 0, 1), found(0.7, kSquare, 0, 2)};
  const CocoResult result = score_coco(truths, detections, 1);
  EXPECT_NEAR(result.average_50.value(), (34.0 + 33.0 * 2 / 3) / 101, 1e-12);
  EXPECT_NEAR(result.recall.value(), 2.0 / 3, 1e-12);
}

TEST(ScoreCoco, WhatLiesInACrowdDoesNotCount) {
  const std::vector<Truth> truths = {
      {.picture = 0, .label = 0, .region = kSquare},
      {.picture = 0, .label = 0, .region = {40, 40, 100, 100}, .difficult = true}};
  const std::vector<Detection> detections = {found(0.9, kElsewhere), found(0.85, kElsewhere),
                                             found(0.8, kSquare)};
  EXPECT_NEAR(score_coco(truths, detections, 1).average.value(), 1, 1e-12);
}

TEST(ErrorKinds, EachKindIsCounted) {
  const std::vector<Truth> truths = {{.picture = 0, .label = 0, .region = kSquare},
                                     {.picture = 0, .label = 1, .region = kElsewhere},
                                     {.picture = 1, .label = 0, .region = kSquare}};
  const std::vector<Detection> detections = {
      found(0.9, kSquare),        found(0.8, kSquare),         found(0.7, kElsewhere),
      found(0.6, {5, 0, 15, 10}), found(0.6, {30, 0, 40, 10}), found(0.1, kSquare, 0, 1)};
  const ErrorReport report = count_errors(truths, detections, 0.5, {});
  EXPECT_EQ(report.all.correct, 1);
  EXPECT_EQ(report.all.duplicate, 1);
  EXPECT_EQ(report.all.confusion, 1);
  EXPECT_EQ(report.all.localization, 1);
  EXPECT_EQ(report.all.background, 1);
  EXPECT_EQ(report.all.missed, 2);
  ASSERT_EQ(report.pictures.size(), 2U);
  EXPECT_EQ(report.pictures[0].picture, 0);
}

// Objects moved by known amounts: all found, and those that are left out cost their share.
TEST(ScoreVoc, ManyBoxes) {
  std::vector<Truth> truths;
  std::vector<Detection> detections;
  for (int64_t i = 0; i < 100'000; ++i) {
    const double left = static_cast<double>(i % 17) * 30;
    const Region region = {left, 0, left + 20, 20};
    truths.push_back({.picture = i / 17, .label = i % 20, .region = region});
    if (i % 10 == 9) continue;
    detections.push_back(
        found(1 - static_cast<double>(i) * 1e-6, {left + 1, 1, left + 21, 21}, i % 20, i / 17));
  }
  const Stopwatch watch;
  const VocResult result = score_voc(truths, detections, 20, {});
  // Labels 9 and 19 have lost all of their objects, the others none.
  EXPECT_NEAR(result.every_point.value(), 0.9, 1e-9);
  EXPECT_LT(watch.seconds(), 20.0);  // a second on an idle machine; not quadratic on a busy one
}

}  // namespace
}  // namespace trainyard::detect

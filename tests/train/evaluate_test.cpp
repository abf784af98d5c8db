// What a test of a network gives: top-k, and the loss of training over short batches too.
#include "train/evaluate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/builder.h"
#include "train/calibration.h"
#include "train/loss_evaluator.h"
#include "train/task.h"
#include "train/top_k.h"

namespace trainyard::train {
namespace {

constexpr int64_t kTested = 4;
constexpr int64_t kTestClasses = 3;

// One picture of one pixel per sample; its class, or probabilities.
class Pixels final : public data::Dataset {
 public:
  explicit Pixels(data::TargetKind kind)
      : Dataset({.shape = {1, 1, 1}, .class_names = {"a", "b", "c"}, .source = "pixels"}),
        kind_(kind) {}
  int64_t size() const override { return 10; }
  data::TargetKind target_kind() const override { return kind_; }
  int64_t label(int64_t index) const override {
    return kind_ == data::TargetKind::kClass ? index % kTestClasses : data::kNoLabel;
  }
  void target(int64_t index, data::Target& target) const override {
    target.label = label(index);
    target.probabilities.assign(kTestClasses, 0.25F);
    target.probabilities[static_cast<size_t>(index % kTestClasses)] = 0.5F;
  }
  data::PixelView pixels(int64_t index, data::Pixels& room) const override {
    room.reshape(shape());
    room.bytes[0] = static_cast<uint8_t>(25 * index);
    return room.view();
  }

 private:
  data::TargetKind kind_;
};

// Scores x * (1, 2, 3), with a Softmax behind them if asked for.
Graph network(bool softmax) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {kTested, 1, 1, 1}});
  const ValueId flat = b.add("Flatten", {x});
  const std::vector<float> weights = {1, 2, 3};
  ValueId y =
      b.add("MatMul", {flat, b.constant("w", Tensor::of<float>({1, kTestClasses}, weights))});
  if (softmax) y = b.add("Softmax", {y}, {{"axis", int64_t{1}}});
  graph.set_outputs({y});
  return graph;
}

Evaluation evaluation_of(const Graph& model, const data::Dataset& set, const Task& task) {
  data::Loader loader(set, {.batch = kTested});
  return evaluate(model, loader, task.evaluator, 1);
}

TrainConfig config_of(const std::string& loss) {
  TrainConfig config;
  config.loss = loss;
  return config;
}

Evaluation evaluation_of(const Graph& model, const data::Dataset& set, const std::string& loss) {
  return evaluation_of(model, set, named_task(config_of(loss), set.target_kind()));
}

// Of the scores against one class each, mean over the ten samples: the last batch has two.
double expected_cross_entropy() {
  double sum = 0;
  for (int64_t i = 0; i < 10; ++i) {
    const double x = static_cast<double>(25 * i) / 255;
    double all = 0;
    for (int c = 1; c <= kTestClasses; ++c) all += std::exp(x * c);
    sum += std::log(all) - x * static_cast<double>(1 + i % kTestClasses);
  }
  return sum / 10;
}

TEST(Evaluate, LossesAreMeansOverSamplesNotOverBatches) {
  const Pixels set(data::TargetKind::kClass);
  const Evaluation known = evaluation_of(network(false), set, "cross-entropy");
  EXPECT_NEAR(known.score("loss"), expected_cross_entropy(), 1e-6);
  EXPECT_EQ(known.images, 10);
  EXPECT_EQ(known.decides, "top1");
  EXPECT_EQ(known.confusion.size(), 9U);
  for (const bool softmax : {false, true}) {
    const Evaluation soft = evaluation_of(network(softmax), set, "soft-cross-entropy");
    EXPECT_NEAR(soft.score("loss"), expected_cross_entropy(), 1e-5) << softmax;
    EXPECT_EQ(soft.score("top1"), known.score("top1"));
    EXPECT_EQ(soft.confusion, known.confusion);
    EXPECT_EQ(soft.decides, "top1");
  }
}

TEST(Evaluate, EveryLossOfTheListIsTested) {
  const Pixels set(data::TargetKind::kClass);
  for (const ObjectiveDef* def : objective_list()) {
    if (models_tokens(def->name) || def->name == kSpan) {
      EXPECT_THROW(named_task(config_of(std::string(def->name)), set.target_kind()), Error);
      continue;
    }
    const Evaluation test = evaluation_of(network(false), set, std::string(def->name));
    EXPECT_TRUE(std::isfinite(test.score("loss"))) << def->name;
    EXPECT_EQ(test.score("top5"), 1) << def->name;
  }
  EXPECT_GT(evaluation_of(network(false), set, "mse").score("absolute_error"), 0);
  EXPECT_THROW(evaluation_of(network(false), set, "mse").score("nothing"), Error);
}

// By hand: the first guess is always "c", with softmax(x, 2x, 3x)[2], in bins of equal width.
double expected_calibration_error() {
  std::vector<double> apart(kCalibrationBins, 0);
  for (int64_t i = 0; i < 10; ++i) {
    const double x = static_cast<double>(25 * i) / 255;
    const double p = 1 / (1 + std::exp(-x) + std::exp(-2 * x));
    const auto bin = static_cast<size_t>(std::ceil(p * kCalibrationBins)) - 1;
    // All scores of the first are 0, and a tie goes to the first class, which is the right one.
    const bool correct = i == 0 || i % kTestClasses == 2;
    apart[bin] += (correct ? 1 : 0) - p;
  }
  double sum = 0;
  for (const double bin : apart) sum += std::fabs(bin);
  return sum / 10;
}

TEST(Evaluate, AClassifierIsJudgedByItsScoresWithOrWithoutSoftmax) {
  const Pixels set(data::TargetKind::kClass);
  for (const bool softmax : {false, true}) {
    data::Loader loader(set, {.batch = kTested});
    const Evaluation test = evaluate(network(softmax), loader, make_classifier_test, 1);
    EXPECT_NEAR(test.score("loss"), expected_cross_entropy(), 1e-6) << softmax;
    EXPECT_NEAR(test.score("calibration_error"), expected_calibration_error(), 1e-6) << softmax;
    EXPECT_NEAR(test.score("top1"), 0.4, 1e-9);
    EXPECT_EQ(test.images, 10);
    EXPECT_EQ(test.confusion.size(), 9U);
    EXPECT_GT(test.seconds, 0);
  }
}

TEST(Evaluate, SumsOfCalibrationAddUpOverWorkers) {
  const Pixels set(data::TargetKind::kClass);
  data::Loader loader(set, {.batch = kTested});
  // Two workers that saw the same: everything doubles, and the means stay.
  const auto twice = [](std::span<double> sums) {
    for (double& sum : sums) sum *= 2;
  };
  const Evaluation test = evaluate(network(false), loader, make_classifier_test, 1, {.sum = twice});
  EXPECT_EQ(test.images, 20);
  EXPECT_NEAR(test.score("calibration_error"), expected_calibration_error(), 1e-6);
}

TEST(Evaluate, ProbabilitiesAreJudgedByTheLoss) {
  const Pixels set(data::TargetKind::kProbabilities);
  const Evaluation test = evaluation_of(network(false), set, "soft-cross-entropy");
  EXPECT_EQ(test.decides, "loss");
  EXPECT_FALSE(test.higher_is_better);
  EXPECT_EQ(find_score(test.scores, "top1"), nullptr);
  EXPECT_TRUE(test.confusion.empty());
  EXPECT_THROW(named_task(config_of("cross-entropy"), set.target_kind()), Error);
  EXPECT_THROW(named_task(config_of("mse"), data::TargetKind::kBoxes), Error);
}

// Two workers that test a part each, added up, give what one gives.
TEST(Evaluate, PartsAddUp) {
  const Pixels set(data::TargetKind::kClass);
  const Task task = named_task(config_of("huber"), set.target_kind());
  const Evaluation whole = evaluation_of(network(false), set, task);
  std::vector<double> all;
  for (int64_t rank = 0; rank < 2; ++rank) {
    data::Loader loader(set, {.batch = kTested, .rank = rank, .world = 2});
    // Parts are combined one after the other.
    std::vector<double> sums;
    evaluate(network(false), loader, task.evaluator, 1, {.sum = [&](std::span<double> part) {
               sums.insert(sums.end(), part.begin(), part.end());
             }});
    all.resize(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) all[i] += sums[i];
  }
  Graph model = network(false);
  const auto evaluator = task.evaluator(model);
  evaluator->set_sums(all);
  const Evaluation parts = evaluator->result();
  EXPECT_EQ(parts.images, whole.images);
  ASSERT_EQ(parts.scores.size(), whole.scores.size());
  for (size_t i = 0; i < whole.scores.size(); ++i) {
    EXPECT_NEAR(parts.scores[i].value, whole.scores[i].value, 1e-6) << whole.scores[i].name;
  }
}

TEST(Feed, WhatTheDataDoesNotHaveIsRefused) {
  data::Batch batch;
  batch.labels = Tensor::zeros({DType::kI64, {2}});
  batch.valid = 2;
  Tensor targets = Tensor::zeros({DType::kF32, {2, kTestClasses}});
  const ObjectiveInput other[] = {{"boxes", &targets}};
  EXPECT_THROW(feed_classes(batch, other), Error);
  const ObjectiveInput soft[] = {{kTargetsInput, &targets}};
  feed_classes(batch, soft);
  EXPECT_EQ(targets.values<float>()[0], 1);
  batch.labels.values<int64_t>()[1] = kTestClasses;
  EXPECT_THROW(feed_classes(batch, soft), Error);
  batch.labels.values<int64_t>()[0] = data::kNoLabel;
  EXPECT_THROW(feed_classes(batch, soft), Error);
}

}  // namespace
}  // namespace trainyard::train

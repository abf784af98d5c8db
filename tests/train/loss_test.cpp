#include "train/objectives/loss.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/compiler.h"
#include "support/numeric_gradient.h"

namespace trainyard::train {
namespace {

using Values = std::vector<double>;

// Differs from a sum by hand in rounding only.
constexpr double kLossTolerance = 1e-12;

Tensor labels_of(const std::vector<int64_t>& labels) {
  return Tensor::of<int64_t>({static_cast<int64_t>(labels.size())}, labels);
}

// The value of one output that `make` adds to a graph with scores (2 x 3) in f64.
double value_of(const Values& scores,
                const std::function<ValueId(ops::Builder&, ValueId scores)>& make) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF64, {2, 3}});
  graph.set_outputs({make(b, x)});
  runtime::CompileOptions options;
  options.threads = 1;
  options.reference_only = true;
  runtime::ExecutionContext context(runtime::compile(graph, options));
  const Tensor input = Tensor::of<double>({2, 3}, scores);
  return element_as_double(runtime::run_once(context, {&input, 1})[0], 0);
}

const Values kScores = {1, 2, 3, -1, 0, 0.5};

double log_probability(size_t row, size_t label) {
  double sum = 0;
  for (size_t c = 0; c < 3; ++c) sum += std::exp(kScores[row * 3 + c]);
  return kScores[row * 3 + label] - std::log(sum);
}

double loss_of(const LossOptions& options, const Tensor& targets) {
  return value_of(kScores, [&](ops::Builder& b, ValueId x) {
    return add_loss(b, options, x, b.constant("targets", targets.clone()));
  });
}

TEST(Loss, CrossEntropyOfIndices) {
  const double plain = -(log_probability(0, 2) + log_probability(1, 0)) / 2;
  EXPECT_NEAR(loss_of({}, labels_of({2, 0})), plain, kLossTolerance);
  EXPECT_NEAR(loss_of({.class_weights = {3, 1, 1}}, labels_of({2, 0})),
              -(log_probability(0, 2) + 3 * log_probability(1, 0)) / 4, kLossTolerance);
  EXPECT_NEAR(loss_of({.ignore_index = -1}, labels_of({2, -1})), -log_probability(0, 2),
              kLossTolerance);
}

// Against probabilities the mean is over the rows, whatever the weights.
TEST(Loss, ClassWeightsAndFocusOfProbabilities) {
  const Tensor hot = Tensor::of<double>({2, 3}, Values{0, 0, 1, 1, 0, 0});
  const double a = log_probability(0, 2);
  const double b = log_probability(1, 0);
  EXPECT_NEAR(loss_of({.class_weights = {3, 1, 0.5}}, hot), -(0.5 * a + 3 * b) / 2, kLossTolerance);
  const auto focal = [](double log_p, double focus) {
    return -std::pow(1 - std::exp(log_p), focus) * log_p;
  };
  EXPECT_NEAR(loss_of({.kind = "focal", .focus = 2}, hot), (focal(a, 2) + focal(b, 2)) / 2,
              kLossTolerance);
  EXPECT_NEAR(loss_of({.kind = "focal", .class_weights = {2, 1, 1}, .focus = 3}, hot),
              (focal(a, 3) + 2 * focal(b, 3)) / 2, kLossTolerance);
  EXPECT_NEAR(loss_of({.kind = "focal", .focus = 0}, hot), loss_of({}, hot), kLossTolerance);
}

// Smoothing is cross-entropy against mixed probabilities, however it is computed.
TEST(Loss, LabelSmoothingMixesInTheUniformDistribution) {
  const Values mixed = {0.1, 0.1, 0.8, 0.8, 0.1, 0.1};
  const Values hot = {0, 0, 1, 1, 0, 0};
  const double expected = loss_of({}, Tensor::of<double>({2, 3}, mixed));
  const LossOptions smooth = {.label_smoothing = 0.3};
  EXPECT_NEAR(loss_of(smooth, labels_of({2, 0})), expected, kLossTolerance);
  EXPECT_NEAR(loss_of(smooth, Tensor::of<double>({2, 3}, hot)), expected, kLossTolerance);
}

TEST(Loss, LabelSmoothingLeavesIgnoredRowsOut) {
  const double evenly = (log_probability(0, 0) + log_probability(0, 1) + log_probability(0, 2)) / 3;
  EXPECT_NEAR(loss_of({.label_smoothing = 0.3, .ignore_index = -1}, labels_of({2, -1})),
              -0.7 * log_probability(0, 2) - 0.3 * evenly, kLossTolerance);
}

TEST(Loss, Regression) {
  const Tensor targets = Tensor::of<double>({2, 3}, Values{1, 2, 3, -1, 3, 0});
  EXPECT_NEAR(loss_of({.kind = "mse"}, targets), (9 + 0.25) / 6, kLossTolerance);
  // |d| = 3 is beyond delta, 0.5 is not.
  EXPECT_NEAR(loss_of({.kind = "huber", .delta = 2}, targets), (2 * 3 - 2 + 0.125) / 6,
              kLossTolerance);
  EXPECT_NEAR(loss_of({.kind = "smooth-l1", .delta = 2}, targets), (2 * 3 - 2 + 0.125) / 12,
              kLossTolerance);
}

TEST(Loss, BinaryCrossEntropy) {
  const Values targets = {1, 0, 1, 0, 0.5, 1};
  double expected = 0;
  for (size_t i = 0; i < 6; ++i) {
    const double p = 1 / (1 + std::exp(-kScores[i]));
    expected -= (targets[i] * std::log(p) + (1 - targets[i]) * std::log(1 - p)) / 6;
  }
  EXPECT_NEAR(loss_of({.kind = "bce"}, Tensor::of<double>({2, 3}, targets)), expected,
              kLossTolerance);
}

TEST(Loss, DivergenceIsZeroBetweenEqualsAndScaledByTheTemperature) {
  const LossOptions warm = {.kind = "kl", .temperature = 2};
  EXPECT_NEAR(loss_of(warm, Tensor::of<double>({2, 3}, kScores)), 0, kLossTolerance);
  // Uniform targets: log(1/3) - mean of log softmax(x / 2), times four.
  double expected = 0;
  for (size_t row = 0; row < 2; ++row) {
    double sum = 0;
    double scores = 0;
    for (size_t c = 0; c < 3; ++c) {
      sum += std::exp(kScores[row * 3 + c] / 2);
      scores += kScores[row * 3 + c] / 2;
    }
    expected += 4 * (std::log(sum) - scores / 3 - std::log(3)) / 2;
  }
  EXPECT_NEAR(loss_of(warm, Tensor::zeros({DType::kF64, {2, 3}})), expected, kLossTolerance);
}

TEST(Loss, EveryLossHasAGradient) {
  for (const std::string& kind : loss_names()) {
    testing::check_gradient(
        {kind, {{2, 3}}, [&](ops::Builder& b, const std::vector<ValueId>& x) {
           const Values probabilities = {0.2, 0.3, 0.5, 1, 0, 0};
           const ValueId targets = b.constant("targets", Tensor::of<double>({2, 3}, probabilities));
           return add_loss(b, {.kind = kind, .delta = 0.4, .temperature = 3}, x[0], targets);
         }});
  }
  testing::check_gradient({"smooth", {{2, 3}}, [](ops::Builder& b, const std::vector<ValueId>& x) {
                             const ValueId targets = b.constant("targets", labels_of({2, 0}));
                             return add_loss(b, {.label_smoothing = 0.2}, x[0], targets);
                           }});
  testing::check_gradient({"padded", {{2, 3}}, [](ops::Builder& b, const std::vector<ValueId>& x) {
                             const ValueId targets = b.constant("targets", labels_of({2, -1}));
                             return add_loss(b, {.label_smoothing = 0.2, .ignore_index = -1}, x[0],
                                             targets);
                           }});
}

TEST(Loss, CountsCorrectPredictions) {
  const auto correct = [](const Tensor& targets) {
    return value_of(kScores, [&](ops::Builder& b, ValueId x) {
      return add_correct(b, x, b.constant("targets", targets.clone()));
    });
  };
  EXPECT_EQ(correct(labels_of({2, 0})), 1);
  EXPECT_EQ(correct(labels_of({2, 2})), 2);
  EXPECT_EQ(correct(Tensor::of<double>({2, 3}, Values{0.6, 0.4, 0, 0, 0, 1})), 1);
}

TEST(Loss, RefusesWhatDoesNotFit) {
  const auto message = [](const LossOptions& options, const Tensor& targets) -> std::string {
    try {
      loss_of(options, targets);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const Tensor labels = labels_of({2, 0});
  EXPECT_NE(message({.kind = "hinge"}, labels).find("unknown loss 'hinge'; known: cross-entropy"),
            std::string::npos);
  EXPECT_NE(message({.label_smoothing = 1.5}, labels).find("outside [0, 1)"), std::string::npos);
  EXPECT_NE(message({.class_weights = {1, 2}}, labels).find("2 class weights for 3 classes"),
            std::string::npos);
  EXPECT_NE(message({.kind = "mse"}, labels).find("targets are i64[2], expected f64[2,3]"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::train

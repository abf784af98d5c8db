#include "train/task.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "base/error.h"
#include "data/dataset.h"
#include "data/text/token_text.h"
#include "ir/graph.h"
#include "train/class_weights.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/loss_evaluator.h"
#include "train/objective.h"
#include "train/span_evaluator.h"
#include "train/token_evaluator.h"
#include "train/token_sampler.h"
#include "train/top_k.h"
#include "train/train_config.h"
#include "train/training_network.h"

namespace trainyard::train {
namespace {

// Regression: how far from the numbers of the data are those that a network gives?
class NumberEvaluator final : public Evaluator {
 public:
  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    const std::span<const float> given = outputs[0]->values<float>();
    const std::span<const float> wanted = batch.numbers.values<float>();
    for (size_t i = 0; i < static_cast<size_t>(batch.valid); ++i) {
      const double number = static_cast<double>(wanted[i]);
      const double error = static_cast<double>(given[i]) - number;
      sums_[kRows] += 1;
      sums_[kSquares] += error * error;
      sums_[kNumbers] += number;
      sums_[kNumberSquares] += number * number;
    }
  }

  Evaluation result() const override {
    const double rows = std::max(1.0, sums_[kRows]);
    const double mean = sums_[kNumbers] / rows;
    const double variance = sums_[kNumberSquares] / rows - mean * mean;
    Evaluation result;
    result.images = static_cast<int64_t>(sums_[kRows]);
    result.scores = {{.name = "rmse", .value = std::sqrt(sums_[kSquares] / rows)}};
    // What is below this is rounding.
    constexpr double kLeastShare = 1e-12;
    if (variance > kLeastShare * mean * mean) {
      result.scores.push_back({.name = "r2", .value = 1 - sums_[kSquares] / rows / variance});
    }
    return result;
  }

  std::vector<double> sums() const override { return {sums_, sums_ + kCount}; }
  void set_sums(std::span<const double> sums) override {
    std::copy(sums.begin(), sums.end(), sums_);
  }

 private:
  enum Sum : size_t { kRows, kSquares, kNumbers, kNumberSquares, kCount };

  double sums_[kCount] = {};
};

// Scores "loss" and means of the objective, the loss decides; "rmse" and "r2", which is 1 less the
// share of the variance that is left; without "r2" where the numbers do not vary. Throws Error
// unless the first output has one number for each row.
std::unique_ptr<Evaluator> make_number_test(Graph& model, const Objective& objective) {
  const Value& output = model.value(model.outputs()[0]);
  const Shape& shape = output.type.shape;
  TY_REQUIRE(
      output.type.dtype == DType::kF32 && shape.rank() >= 1 && shape.num_elements() == shape[0],
      "output '{}' is {}, expected one number for each row", output.name, output.type.to_string());
  std::vector<std::unique_ptr<Evaluator>> parts;
  parts.push_back(make_loss_evaluator(model, objective, feed_classes));
  parts.push_back(std::make_unique<NumberEvaluator>());
  return join_evaluators(std::move(parts));
}

// A few lines that a language model writes after each epoch.
constexpr int64_t kPromptTokens = 16;
constexpr double kMostSeconds = 10;
constexpr double kWarmth = 0.8;

// The same network for one row.
Graph for_one_row(const TrainConfig& config, const data::Dataset& training, const Graph& trained) {
  Graph one = build_training_network(config, training, 1);
  for (const ValueId id : one.initializers()) {
    const ValueId from = trained.find_value(one.value(id).name);
    if (from.valid()) one.mutable_value(id).constant = trained.value(from).constant;
  }
  return one;
}

// From a network with its present weights to what it writes: config.sample_tokens tokens behind the
// first ones of the training text, the same choices each time, fewer where that takes longer than
// ten seconds. Both arguments must outlive it.
std::function<std::string(const Graph& trained)> sample_writer(const TrainConfig& config,
                                                               const data::Dataset& training) {
  return [&config, &training](const Graph& trained) {
    const data::TokenFacts& facts = *training.tokens();
    const auto length = static_cast<size_t>(facts.length);
    std::vector<int64_t> row(length);
    std::vector<int64_t> next(length);
    training.read_tokens(0, row, next);
    row.resize(static_cast<size_t>(std::min<int64_t>(kPromptTokens, (facts.length + 1) / 2)));
    TokenSampler sampler(for_one_row(config, training, trained), static_cast<int>(config.threads));
    const std::vector<int64_t> written = sampler.follow(row, config.sample_tokens,
                                                        {.temperature = kWarmth,
                                                         .seed = static_cast<uint64_t>(config.seed),
                                                         .seconds = kMostSeconds});
    row.insert(row.end(), written.begin(), written.end());
    return data::TokenText(facts).decode(row);
  };
}

constexpr std::string_view kCrossEntropyName = "cross-entropy";

// The test knows the cross-entropy itself, without smoothing and in double precision.
std::unique_ptr<Evaluator> judge_classes(Graph& model, const TrainConfig& config) {
  if (config.loss == kCrossEntropyName) return make_top_k(model, /*with_loss=*/true);
  std::vector<std::unique_ptr<Evaluator>> parts;
  // It may change the outputs, so it comes first; top-1 decides.
  auto loss = make_loss_evaluator(model, named_objective(config), feed_classes);
  parts.push_back(make_top_k(model, /*with_loss=*/false));
  parts.push_back(std::move(loss));
  return join_evaluators(std::move(parts));
}

// Where an answer is.
Task span_task(const TrainConfig& config) {
  TY_REQUIRE(config.loss == kSpan, "the data has spans: loss is '{}', expected {}", config.loss,
             kSpan);
  return {.objective = named_objective(config), .feed = feed_tokens, .evaluator = make_span_test};
}

Task token_task(const TrainConfig& config, const data::Dataset& training) {
  TY_REQUIRE(models_tokens(config.loss), "the data is text: loss is '{}', expected {} or {}",
             config.loss, kNextToken, kMaskedToken);
  // Of hidden tokens alone, a loss says nothing of the bytes of a text.
  const double bytes = config.loss == kNextToken ? training.tokens()->bytes_per_token : 0;
  Task task{.objective = named_objective(config),
            .feed = feed_tokens,
            .evaluator = [bytes](Graph& model) { return make_token_evaluator(model, bytes); }};
  if (config.loss == kNextToken && config.sample_tokens > 0) {
    task.sample = sample_writer(config, training);
  }
  return task;
}

}  // namespace

bool models_tokens(std::string_view loss) {
  return loss == kNextToken || loss == kMaskedToken;
}

Task task_for(const TrainConfig& config, const data::Dataset& training) {
  if (training.target_kind() == data::TargetKind::kTokens) {
    return token_task(config, training);
  }
  if (training.target_kind() == data::TargetKind::kSpan) return span_task(config);
  if (training.target_kind() == data::TargetKind::kNumber) {
    return number_task(config, training.table()->target.std);
  }
  return named_task(config, training.target_kind());
}

Objective named_objective(const TrainConfig& config, double target_scale) {
  return make_objective(config.loss, {.label_smoothing = config.label_smoothing,
                                      .auxiliary_weight = config.auxiliary_weight,
                                      .delta = config.delta,
                                      .temperature = config.temperature,
                                      .focus = config.focus,
                                      .class_weights = parse_class_weights(config.class_weights),
                                      .target_scale = target_scale,
                                      .mixed_targets = config.mixup > 0 || config.cutmix > 0});
}

Task number_task(const TrainConfig& config, double scale) {
  TY_REQUIRE(compares_numbers(config.loss),
             "the data has a number for each row: loss is '{}', expected mse, huber or smooth-l1 "
             "(or task=classes in the data set, if it stands for a class)",
             config.loss);
  const Objective objective = named_objective(config, scale);
  return {.objective = objective, .feed = feed_classes, .evaluator = [objective](Graph& model) {
            return make_number_test(model, objective);
          }};
}

Task named_task(const TrainConfig& config, data::TargetKind targets) {
  TY_REQUIRE(!models_tokens(config.loss) && config.loss != kSpan,
             "`loss` {} needs data with tokens, as tokens:FILE{}", config.loss,
             config.loss == kSpan ? ",spans=FILE" : "");
  TY_REQUIRE(targets == data::TargetKind::kClass || targets == data::TargetKind::kProbabilities,
             "`loss` {} needs data with a class or with probabilities for each picture",
             config.loss);
  TY_REQUIRE(targets == data::TargetKind::kClass || config.loss != kCrossEntropyName,
             "`loss` cross-entropy needs one class for each picture, but the data has "
             "probabilities; use soft-cross-entropy");
  Task task{.objective = named_objective(config), .feed = feed_classes, .evaluator = {}};
  if (targets == data::TargetKind::kClass) {
    task.evaluator = [config](Graph& model) { return judge_classes(model, config); };
  } else {
    task.evaluator = [objective = task.objective](Graph& model) {
      return make_loss_evaluator(model, objective, feed_classes);
    };
  }
  return task;
}

}  // namespace trainyard::train

#include "train/task.h"

#include "base/error.h"
#include "train/class_weights.h"
#include "train/loss_evaluator.h"
#include "train/number_evaluator.h"
#include "train/span_evaluator.h"
#include "train/token_evaluator.h"
#include "train/top_k.h"
#include "train/written_sample.h"

namespace trainyard::train {
namespace {

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
             "--loss {} needs data with tokens, as tokens:FILE{}", config.loss,
             config.loss == kSpan ? ",spans=FILE" : "");
  TY_REQUIRE(targets == data::TargetKind::kClass || targets == data::TargetKind::kProbabilities,
             "--loss {} needs data with a class or with probabilities for each picture",
             config.loss);
  TY_REQUIRE(targets == data::TargetKind::kClass || config.loss != kCrossEntropyName,
             "--loss cross-entropy needs one class for each picture, but the data has "
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

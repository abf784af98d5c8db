#include "train/objectives/loss.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::train {
namespace {

constexpr int64_t kClassAxis = 1;

class LossMaker {
 public:
  LossMaker(ops::Builder& builder, const LossOptions& options, ValueId scores, ValueId targets)
      : b_(builder), options_(options), scores_(scores), targets_(targets) {}

  ValueId cross_entropy() {
    TY_REQUIRE(b_.shape(scores_).rank() >= 2, "scores have shape {}, expected batch x classes",
               b_.shape(scores_).to_string());
    TY_REQUIRE(0 <= options_.label_smoothing && options_.label_smoothing < 1,
               "label smoothing {} is outside [0, 1)", options_.label_smoothing);
    if (is_float(b_.type(targets_).dtype)) return of_probabilities();
    TY_REQUIRE(options_.kind != "focal", "focal needs probabilities, not class indices");
    return of_indices();
  }

  ValueId mean_square() {
    require_same_type();
    const ValueId d = b_.add("Sub", {scores_, targets_});
    return mean(b_.add("Mul", {d, d}));
  }

  // With q = min(|d|, delta): q * |d| - q * q / 2 is d^2 / 2 up to delta and linear beyond.
  ValueId huber(double factor) {
    require_same_type();
    TY_REQUIRE(options_.delta > 0, "delta {} is not positive", options_.delta);
    const ValueId size = b_.add("Abs", {b_.add("Sub", {scores_, targets_})});
    const ValueId q = b_.add("Clip", {size, kNoValue, scalar(options_.delta)});
    const ValueId half = b_.add("Mul", {q, scalar(0.5)});
    return scaled(mean(b_.add("Mul", {q, b_.add("Sub", {size, half})})), factor);
  }

  // -t * log(p) - (1 - t) * log(1 - p) with p = sigmoid(x) is softplus(x) - x * t.
  ValueId binary() {
    require_same_type();
    const ValueId product = b_.add("Mul", {scores_, targets_});
    return mean(b_.add("Sub", {b_.add("Softplus", {scores_}), product}));
  }

  ValueId divergence() {
    require_same_type();
    TY_REQUIRE(options_.temperature > 0, "temperature {} is not positive", options_.temperature);
    const auto log_softmax = [&](ValueId x) {
      const ValueId cooled = scaled(x, 1.0 / options_.temperature);
      return b_.add("LogSoftmax", {cooled}, {{"axis", kClassAxis}});
    };
    const ValueId log_p = log_softmax(targets_);
    const ValueId gap = b_.add("Sub", {log_p, log_softmax(scores_)});
    const ValueId weighted = b_.add("Mul", {b_.add("Exp", {log_p}), gap});
    return scaled(sum(weighted), options_.temperature * options_.temperature / rows());
  }

 private:
  // (1 - e) * (-log p of the target) + e * (-mean of log p over the classes).
  ValueId of_indices() {
    const double e = options_.label_smoothing;
    TY_REQUIRE(e == 0 || options_.class_weights.empty(),
               "label smoothing does not go with class weights");
    std::vector<ValueId> inputs = {scores_, targets_};
    if (!options_.class_weights.empty()) inputs.push_back(class_weights());
    Attributes attributes = {{"reduction", std::string("mean")}};
    if (options_.ignore_index) attributes["ignore_index"] = *options_.ignore_index;
    const std::vector<ValueId> made = b_.add_multi("SoftmaxCrossEntropyLoss", std::move(inputs),
                                                   e > 0 ? 2 : 1, std::move(attributes));
    if (e == 0) return made[0];
    const ValueId evenly = options_.ignore_index ? mean_of_counted(made[1]) : mean(made[1]);
    return b_.add("Sub", {scaled(made[0], 1 - e), scaled(evenly, e)});
  }

  // The mean over the classes of all rows but those that are ignored.
  ValueId mean_of_counted(ValueId log_p) {
    const ValueId ignored = b_.constant(
        "ignored", cast(Tensor::scalar(*options_.ignore_index), b_.type(targets_).dtype));
    const ValueId counts = b_.add("Not", {b_.add("Equal", {targets_, ignored})});
    const ValueId share = b_.add("CastLike", {counts, scores_});
    const ValueId rows =
        b_.add("ReduceMean", {log_p},
               {{"axes", std::vector<int64_t>{kClassAxis}}, {"keepdims", int64_t{0}}});
    return b_.add("Div", {sum(b_.add("Mul", {rows, share})), sum(share)});
  }

  ValueId of_probabilities() {
    require_same_type();
    TY_REQUIRE(!options_.ignore_index, "an ignored index needs class indices, not probabilities");
    const double e = options_.label_smoothing;
    ValueId log_p = b_.add("LogSoftmax", {scores_}, {{"axis", kClassAxis}});
    if (options_.kind == "focal") log_p = b_.add("Mul", {log_p, focus_on_wrong(log_p)});
    if (!options_.class_weights.empty()) log_p = b_.add("Mul", {log_p, class_weights()});
    const ValueId cross = scaled(sum(b_.add("Mul", {log_p, targets_})), (e - 1) / rows());
    if (e == 0) return cross;
    return b_.add("Sub", {cross, scaled(mean(log_p), e)});
  }

  // (1 - p)^focus; rounding may make a difference negative.
  ValueId focus_on_wrong(ValueId log_p) {
    const ValueId left = b_.add("Sub", {scalar(1), b_.add("Exp", {log_p})});
    return b_.add("Pow", {b_.add("Relu", {left}), scalar(options_.focus)});
  }

  // Against probabilities rows are batch x classes, so the weights broadcast.
  ValueId class_weights() {
    const int64_t classes = b_.shape(scores_)[kClassAxis];
    TY_REQUIRE(static_cast<int64_t>(options_.class_weights.size()) == classes,
               "there are {} class weights for {} classes", options_.class_weights.size(), classes);
    Tensor weights = Tensor::of<float>({classes}, options_.class_weights);
    return b_.constant("class_weights", cast(weights, b_.type(scores_).dtype));
  }

  void require_same_type() {
    TY_REQUIRE(b_.type(targets_) == b_.type(scores_), "targets are {}, expected {} as the scores",
               b_.type(targets_).to_string(), b_.type(scores_).to_string());
  }

  // How many distributions over classes there are.
  double rows() const {
    const Shape& x = b_.shape(scores_);
    const int64_t count = x.num_elements() / x[kClassAxis];
    return static_cast<double>(count);
  }

  ValueId sum(ValueId x) { return b_.add("ReduceSum", {x}, {{"keepdims", int64_t{0}}}); }
  ValueId mean(ValueId x) {
    return scaled(sum(x), 1.0 / static_cast<double>(b_.shape(x).num_elements()));
  }
  ValueId scaled(ValueId x, double factor) {
    return factor == 1.0 ? x : b_.add("Mul", {x, scalar(factor)});
  }
  ValueId scalar(double value) {
    return b_.constant("factor", cast(Tensor::scalar(value), b_.type(scores_).dtype));
  }

  ops::Builder& b_;
  const LossOptions& options_;
  ValueId scores_;
  ValueId targets_;
};

using Make = ValueId (*)(LossMaker&, const LossOptions&);
struct LossName {
  std::string_view kind;
  Make make;
};
constexpr LossName kLosses[] = {
    {"cross-entropy", [](LossMaker& m, const LossOptions&) { return m.cross_entropy(); }},
    {"mse", [](LossMaker& m, const LossOptions&) { return m.mean_square(); }},
    {"huber", [](LossMaker& m, const LossOptions&) { return m.huber(1.0); }},
    {"smooth-l1", [](LossMaker& m, const LossOptions& o) { return m.huber(1.0 / o.delta); }},
    {"bce", [](LossMaker& m, const LossOptions&) { return m.binary(); }},
    {"focal", [](LossMaker& m, const LossOptions&) { return m.cross_entropy(); }},
    {"kl", [](LossMaker& m, const LossOptions&) { return m.divergence(); }},
};

}  // namespace

const std::vector<std::string>& loss_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const LossName& row : kLosses) names.emplace_back(row.kind);
    return names;
  }();
  return kNames;
}

ValueId add_loss(ops::Builder& builder, const LossOptions& options, ValueId scores,
                 ValueId targets) {
  LossMaker maker(builder, options, scores, targets);
  for (const LossName& row : kLosses) {
    if (row.kind == options.kind) return row.make(maker, options);
  }
  throw_error("unknown loss '{}'; known: {}", options.kind, fmt::join(loss_names(), ", "));
}

ValueId add_correct(ops::Builder& builder, ValueId scores, ValueId targets) {
  constexpr int64_t kOnnxInt64 = 7;  // TensorProto.INT64
  const auto largest = [&](ValueId x) {
    return builder.add("ArgMax", {x}, {{"axis", kClassAxis}, {"keepdims", int64_t{0}}});
  };
  ValueId labels = targets;
  if (is_float(builder.type(targets).dtype)) {
    labels = largest(targets);
  } else if (builder.type(targets).dtype != DType::kI64) {
    labels = builder.add("Cast", {targets}, {{"to", kOnnxInt64}});
  }
  const ValueId hits = builder.add("Equal", {largest(scores), labels});
  const ValueId ones = builder.add("Cast", {hits}, {{"to", kOnnxInt64}});
  return builder.add("ReduceSum", {ones}, {{"keepdims", int64_t{0}}});
}

}  // namespace trainyard::train

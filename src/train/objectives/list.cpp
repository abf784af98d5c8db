// The objectives by name.
#include "base/error.h"
#include "base/text.h"
#include "train/objective.h"

namespace trainyard::train {

extern const ObjectiveDef kBinary;
extern const ObjectiveDef kCrossEntropy;
extern const ObjectiveDef kDivergence;
extern const ObjectiveDef kFocal;
extern const ObjectiveDef kHuber;
extern const ObjectiveDef kMaskedTokenLoss;
extern const ObjectiveDef kMeanSquare;
extern const ObjectiveDef kNextTokenLoss;
extern const ObjectiveDef kSmoothL1;
extern const ObjectiveDef kSoftCrossEntropy;
extern const ObjectiveDef kSpanLoss;

namespace {

constexpr const ObjectiveDef* kObjectives[] = {
    &kCrossEntropy, &kSoftCrossEntropy, &kDivergence, &kBinary,        &kMeanSquare,
    &kHuber,        &kSmoothL1,         &kFocal,      &kNextTokenLoss, &kMaskedTokenLoss,
    &kSpanLoss,
};

}  // namespace

ValueId ObjectiveNodes::add_input(ops::Builder& builder, std::string name, TensorType type) {
  const ValueId value = builder.input(name, std::move(type));
  inputs.push_back({std::move(name), value});
  return value;
}

std::span<const ObjectiveDef* const> objective_list() {
  return kObjectives;
}

Objective make_objective(std::string_view name, const ObjectiveOptions& options) {
  std::vector<std::string> names;
  for (const ObjectiveDef* def : kObjectives) {
    if (def->name == name) return def->make(options);
    names.emplace_back(def->name);
  }
  throw_error("there is no loss '{}'; known: {}.{}", name, join(names, ", "),
              did_you_mean(name, names));
}

}  // namespace trainyard::train

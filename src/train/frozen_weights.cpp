#include "train/frozen_weights.h"

#include <cstring>
#include <set>

#include "analysis/parameters.h"
#include "base/error.h"
#include "ir/initializer.h"

namespace trainyard::train {
Graph with_frozen_numbers(Graph model, const TrainConfig& config) {
  if (config.freeze.empty() && !config.freeze_statistics) return model;
  for (const ValueId id : model.initializers()) {
    Value& value = model.mutable_value(id);
    value.constant = initializer_data(value, static_cast<uint64_t>(config.seed));
  }
  return model;
}

FrozenWeights::FrozenWeights(const Graph& model, std::span<const runtime::Port> states)
    : model_(model) {
  std::set<std::string_view> taken;
  for (const runtime::Port& state : states) taken.insert(state.name);
  for (const analysis::Parameter& parameter : analysis::find_parameters(model)) {
    const Value& value = model.value(parameter.value);
    if (is_float(value.type.dtype) && taken.insert(value.name).second) {
      ids_.push_back(parameter.value);
    }
  }
}

void FrozenWeights::add_types(std::vector<runs::NamedType>& types) const {
  for (const ValueId id : ids_) types.push_back({model_.value(id).name, model_.value(id).type});
}

void FrozenWeights::add_states(std::vector<runs::StateTensor>& states) const {
  for (const ValueId id : ids_) {
    const Value& value = model_.value(id);
    states.push_back({value.name, value.type, [&value] { return value.constant->clone(); }});
  }
}

void FrozenWeights::require_same(const runs::Checkpoint& checkpoint) const {
  for (const ValueId id : ids_) {
    const Value& value = model_.value(id);
    const Tensor saved = checkpoint.tensor(value.name);
    TY_REQUIRE(std::memcmp(saved.data(), value.constant->data(),
                           static_cast<size_t>(saved.num_bytes())) == 0,
               "'{}' is frozen and differs from the checkpoint's: resume with the weights that the "
               "run began with",
               value.name);
  }
}

}  // namespace trainyard::train

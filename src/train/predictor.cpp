#include "train/predictor.h"

#include "base/error.h"
#include "engine/compiler.h"

namespace trainyard::train {
namespace {

// Weights are states that no run changes.
runtime::Executable compile_with_weights(const Graph& model, const TrainingStep& step, int threads,
                                         std::shared_ptr<device::Device> device) {
  runtime::CompileOptions options;
  options.threads = threads;
  options.device = std::move(device);
  for (size_t i = 0; i < step.num_model_states(); ++i) {
    const std::string& name = step.states()[i].name;
    const ValueId id = model.find_value(name);
    TY_REQUIRE(id.valid(), "the network to use has no '{}', which the one in training has", name);
    options.states.push_back({id, kNoValue});
  }
  return runtime::compile(model, options);
}

}  // namespace

Predictor::Predictor(const Graph& model, const TrainingStep& step, int threads,
                     std::shared_ptr<device::Device> device)
    : executable_(compile_with_weights(model, step, threads, std::move(device))),
      context_(executable_) {
  copy_weights_from(step);
}

void Predictor::copy_weights_from(const TrainingStep& step) {
  for (size_t i = 0; i < executable_.states().size(); ++i) context_.set_state(i, step.state(i));
}

void Predictor::copy_weights_from(const Predictor& other) {
  for (size_t i = 0; i < executable_.states().size(); ++i) {
    context_.set_state(i, other.context_.state(i));
  }
}

void Predictor::move_weights_to(const TrainingStep& step, double share) {
  for (size_t i = 0; i < executable_.states().size(); ++i) {
    Tensor mixed = context_.state(i);
    const Tensor wanted = step.state(i);
    const std::span<const float> to = wanted.values<float>();
    const std::span<float> from = mixed.values<float>();
    const auto part = static_cast<float>(share);
    for (size_t k = 0; k < from.size(); ++k) from[k] += part * (to[k] - from[k]);
    context_.set_state(i, mixed);
  }
}

}  // namespace trainyard::train

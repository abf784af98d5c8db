#include "train/step_histograms.h"

#include <map>
#include <string>
#include <utility>

namespace trainyard::train {
namespace {

// Under what a result is written; empty: it is none that people look for.
std::string tag_of(const runtime::StepView& view, const std::string& output,
                   const std::map<std::string, std::string>& gradients) {
  if (const auto own = gradients.find(output); own != gradients.end()) {
    return "gradient/" + own->second;
  }
  const runtime::StepInfo& info = view.info();
  const bool of_network =
      info.phase == static_cast<uint8_t>(Phase::kForward) && !info.node.starts_with("loss.");
  return of_network ? "activation/" + info.node : std::string();
}

void write_output(const runtime::StepView& view, size_t i, const std::string& tag, int64_t at,
                  runs::EventWriter& events) {
  // In any order is good enough, and needs no copy.
  const std::span<const std::byte> bytes = view.elements(i);
  const auto count = static_cast<size_t>(view.output_shape(i).num_elements());
  if (bytes.size() == count * sizeof(float)) {
    events.write_histogram(at, tag, {reinterpret_cast<const float*>(bytes.data()), count});
    return;
  }
  const Tensor values = view.output(i);
  if (!values.empty() && values.dtype() == DType::kF32) {
    events.write_histogram(at, tag, values.values<float>());
  }
}

}  // namespace

StepHistograms::StepHistograms(TrainingStep& step, runs::EventWriter& events, int64_t at)
    : step_(step) {
  std::map<std::string, std::string> gradients;
  for (size_t i = 0; i < step.gradient_names().size(); ++i) {
    gradients.emplace(step.gradient_names()[i], step.states()[i].name);
  }
  step.set_observer([&events, at, gradients = std::move(gradients)](const runtime::StepView& view) {
    // Further outputs of a node are its statistics, or what its gradient needs.
    for (size_t i = 0; i < view.num_outputs(); ++i) {
      if (view.output_name(i).empty()) continue;
      const std::string tag = tag_of(view, view.output_name(i), gradients);
      if (tag.empty() || (i > 0 && tag.starts_with("activation/"))) continue;
      write_output(view, i, tag, at, events);
    }
  });
}

}  // namespace trainyard::train

#include "studies/calibration/step_samples.h"

#include <map>
#include <optional>
#include <string_view>

#include "train/training_graph.h"

namespace trainyard::measure {
namespace {

using predict::Family;
using predict::MeasuredSample;
using predict::OpProfile;
using predict::Pass;
using predict::Phase;
using predict::Term;

// What a step does for its operator.
enum class Role : uint8_t { kForward, kData, kWeights, kBias, kForks, kRest };

Role role_of_gradient(const runtime::StepInfo& step, const OpProfile& op) {
  if (step.op == "ReduceSum") return Role::kBias;
  if (step.op == "Add" || step.op == "Sum") return Role::kForks;
  if (op.work != predict::Work::kProduct) return Role::kRest;
  return step.op == "ConvGradWeight" ? Role::kWeights : Role::kData;
}

Role role_of_term(const Term& term, const OpProfile& op, Phase phase) {
  if (phase != Phase::kBackward) return Role::kForward;
  if (term.family == Family::kBias) return Role::kBias;
  if (term.family == Family::kForks || term.family == Family::kForksAfterNorm) return Role::kForks;
  if (op.work != predict::Work::kProduct) return Role::kRest;
  return term.pass == Pass::kWeights ? Role::kWeights : Role::kData;
}

// Nodes of the gradient of NAME are called so, with NAME behind it.
constexpr std::string_view kOfGradients = "grad.";

class Collector {
  using Key = std::pair<size_t, Role>;
  using Owned = std::map<Key, std::vector<size_t>>;

 public:
  Collector(const predict::NetworkProfile& profile, double batch,
            std::span<const runtime::StepInfo> steps, std::span<const double> seconds)
      : profile_(profile), batch_(batch), steps_(steps), seconds_(seconds) {
    for (size_t i = 0; i < steps.size(); ++i) {
      std::string_view name = steps[i].node;
      const bool backward = steps[i].phase >= static_cast<uint8_t>(train::Phase::kBackward);
      if (backward && name.starts_with(kOfGradients)) name.remove_prefix(kOfGradients.size());
      const std::optional<size_t> op = operator_named(name);
      if (!op) continue;
      const Role role = backward ? role_of_gradient(steps[i], profile.ops[*op]) : Role::kForward;
      owned_[{*op, role}].push_back(i);
    }
  }

  void add(Phase phase) {
    rows_.clear();
    for (size_t i = 0; i < profile_.ops.size(); ++i) {
      for (const Term& term : predict::operator_terms(profile_.ops[i], batch_, phase)) {
        add_term(i, term, role_of_term(term, profile_.ops[i], phase));
      }
    }
  }

  void add_update() {
    MeasuredSample sample{{predict::update_term(profile_.parameters)}, 0};
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].phase == static_cast<uint8_t>(train::Phase::kUpdate)) {
        sample.seconds += seconds_[i];
      }
    }
    samples_.push_back(std::move(sample));
  }

  std::vector<MeasuredSample> take() { return std::move(samples_); }

 private:
  // NAME itself, or what was derived from it: NAME.training, NAME.weight.reordered, NAME.add …
  std::optional<size_t> operator_named(std::string_view step) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < profile_.ops.size(); ++i) {
      const std::string& name = profile_.ops[i].name;
      if (!step.starts_with(name)) continue;
      if (step.size() > name.size() && step[name.size()] != '.') continue;
      if (!best || profile_.ops[*best].name.size() < name.size()) best = i;
    }
    return best;
  }

  // The steps with this role of the operator, or of the one that it was computed along with. The
  // latter stands before it in the profile.
  const Owned::value_type* find(size_t op, Role role) const {
    while (true) {
      const auto found = owned_.find({op, role});
      if (found != owned_.end()) return &*found;
      if (profile_.ops[op].chain == predict::Chain::kNone || op == 0) return nullptr;
      --op;
    }
  }

  void add_term(size_t op, const Term& term, Role role) {
    const auto* found = find(op, role);
    // The gradient of what comes before may do the sum as it reads.
    if (found == nullptr && role == Role::kForks) found = find(op, Role::kRest);
    if (found == nullptr) {
      samples_.push_back({{term}, 0});
      return;
    }
    const auto [row, fresh] = rows_.emplace(found->first, samples_.size());
    if (!fresh) {
      samples_[row->second].terms.push_back(term);
      return;
    }
    MeasuredSample sample{{term}, 0};
    for (const size_t step : found->second) sample.seconds += seconds_[step];
    samples_.push_back(std::move(sample));
  }

  const predict::NetworkProfile& profile_;
  double batch_;
  std::span<const runtime::StepInfo> steps_;
  std::span<const double> seconds_;
  Owned owned_;                 // steps by operator and role
  std::map<Key, size_t> rows_;  // samples by the same
  std::vector<MeasuredSample> samples_;
};

}  // namespace

std::vector<MeasuredSample> inference_samples(const predict::NetworkProfile& profile, double batch,
                                              std::span<const runtime::StepInfo> steps,
                                              std::span<const double> seconds) {
  Collector collector(profile, batch, steps, seconds);
  collector.add(Phase::kInference);
  return collector.take();
}

std::vector<MeasuredSample> training_samples(const predict::NetworkProfile& profile, double batch,
                                             std::span<const runtime::StepInfo> steps,
                                             std::span<const double> seconds) {
  Collector collector(profile, batch, steps, seconds);
  collector.add(Phase::kForward);
  collector.add(Phase::kBackward);
  collector.add_update();
  return collector.take();
}

}  // namespace trainyard::measure

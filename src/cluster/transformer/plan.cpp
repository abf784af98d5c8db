#include "cluster/transformer/plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"

namespace trainyard::transformer {
namespace {

// Wider groups gain nothing that narrower ones do not.
constexpr int64_t kWidestContext = 64;
constexpr int64_t kLargestMicroBatch = 64;

std::vector<int64_t> powers_of_two(int64_t most) {
  std::vector<int64_t> out;
  for (int64_t i = 1; i <= most; i *= 2) out.push_back(i);
  return out;
}

class Planner {
 public:
  Planner(const Transformer& model, const Machine& machine, const Factors& factors,
          const Mapping& wanted, size_t most)
      : model_(model),
        machine_(machine),
        step_(model, machine, factors, wanted.sequence),
        mapping_(wanted),
        most_(most) {}

  Plan run() {
    const Stopwatch watch;
    const int64_t workers = mapping_.workers;
    for (int64_t tensor = 1; tensor <= std::min(machine_.domain, workers); ++tensor) {
      if (workers % tensor != 0) continue;
      mapping_.tensor = tensor;
      for (int64_t stages = 1; stages <= std::min(model_.layers, workers / tensor); ++stages) {
        if (workers % (tensor * stages) != 0) continue;
        mapping_.pipeline = stages;
        try_contexts();
      }
    }
    plan_.seconds = watch.seconds();
    std::ranges::sort(plan_.best, {}, [](const PlannedMapping& one) { return one.time.total(); });
    return std::move(plan_);
  }

  // The mapping that needs least memory, for the error.
  const Memory& least() const { return least_; }
  const Mapping& least_mapping() const { return least_mapping_; }

 private:
  void try_contexts() {
    const int64_t left = mapping_.workers / (mapping_.tensor * mapping_.pipeline);
    for (const int64_t context : powers_of_two(std::min(left, kWidestContext))) {
      if (left % context != 0) continue;
      mapping_.context = context;
      const int64_t experts = std::max<int64_t>(model_.experts, 1);
      for (const int64_t expert : powers_of_two(experts)) {
        mapping_.expert = expert;
        try_micro_batches();
      }
    }
  }

  void try_micro_batches() {
    for (int64_t parts = 1; parts == 1 || (mapping_.pipeline > 1 && parts <= 16); ++parts) {
      mapping_.interleave = parts;
      // Uneven splits are left to those who write them by hand.
      if (model_.layers % (mapping_.pipeline * parts) != 0) continue;
      const int64_t each = mapping_.batch / std::max<int64_t>(mapping_.data(), 1);
      for (int64_t micro = 1; micro <= std::min(each, kLargestMicroBatch); ++micro) {
        if (each % micro != 0) continue;
        // Splitting several sequences is the same as splitting them less, one at a time.
        if (micro > 1 && mapping_.context > 1) break;
        mapping_.micro_batch = micro;
        if (!problem_of(model_, mapping_).empty()) continue;
        try_memory();
      }
    }
  }

  void try_memory() {
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      for (const int64_t zero : {1, 3}) {
        // Weights that are gathered in every micro batch do not go with a pipeline.
        if (zero == 3 && (mapping_.pipeline > 1 || mapping_.data() == 1)) continue;
        mapping_.recompute = recompute;
        mapping_.zero = zero;
        consider();
      }
    }
  }

  void consider() {
    ++plan_.tried;
    const Memory memory = memory_of(model_, mapping_);
    if (least_.total() == 0 || memory.total() < least_.total()) {
      least_ = memory;
      least_mapping_ = mapping_;
    }
    if (memory.total() > machine_.memory_bytes) return;
    ++plan_.fitting;
    const StepTime time = step_.step(mapping_);
    keep({mapping_, time, memory});
  }

  void keep(PlannedMapping&& one) {
    const double seconds = one.time.total();
    if (plan_.best.size() < most_) {
      plan_.best.push_back(std::move(one));
      return;
    }
    const auto worst = std::ranges::max_element(
        plan_.best, {}, [](const PlannedMapping& kept) { return kept.time.total(); });
    if (worst->time.total() > seconds) *worst = std::move(one);
  }

  const Transformer& model_;
  const Machine& machine_;
  const StepModel step_;
  Mapping mapping_;
  const size_t most_;
  Plan plan_;
  Memory least_;
  Mapping least_mapping_;
};

}  // namespace

Plan find_plan(const Transformer& model, const Machine& machine, const Factors& factors,
               const Mapping& wanted, size_t most) {
  Planner planner(model, machine, factors, wanted, most);
  Plan plan = planner.run();
  TY_REQUIRE(plan.tried > 0, "batch {} cannot be spread over {} workers; give a multiple",
             wanted.batch, wanted.workers);
  TY_REQUIRE(!plan.best.empty(),
             "{} does not fit {} x {} in any of {} mappings: the least, {}, needs {} of {}; the "
             "first part that does not fit is {}. Take more workers or another device",
             model.name, wanted.workers, machine.id, plan.tried, planner.least_mapping().text(),
             bytes_text(planner.least().total()), bytes_text(machine.memory_bytes),
             first_that_does_not_fit(planner.least(), machine.memory_bytes));
  return plan;
}

}  // namespace trainyard::transformer

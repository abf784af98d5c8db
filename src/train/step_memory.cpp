#include "train/step_memory.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "data/loader.h"

namespace trainyard::train {
namespace {

double flops_of(const runtime::Executable& step) {
  double flops = 0;
  for (const runtime::StepInfo& info : step.steps()) flops += static_cast<double>(info.cost.flops);
  return flops;
}

// Tries settings by compiling them.
class Fitter {
 public:
  Fitter(const Graph& model, int64_t limit, int64_t data_workers, StepOptions& options)
      : model_(model), data_workers_(data_workers), options_(options) {
    fit_.limit = limit;
  }

  MemoryFit run() {
    fit_.kept = attempt(0, 0);
    least_ = fit_.kept.total();
    if (fits(fit_.kept)) return fit_;
    const double flops = flops_;
    TY_REQUIRE(fit(),
               "memory: a step takes {} at least, with all activations recomputed that can "
               "be ({} with none), and the limit is {}. A smaller batch takes less, with "
               "accumulate for the same update{}",
               bytes_text(static_cast<double>(least_)),
               bytes_text(static_cast<double>(fit_.kept.total())),
               bytes_text(static_cast<double>(fit_.limit)),
               fit_.kept.states > fit_.limit ? "; but parameters and optimizer state alone take " +
                                                   bytes_text(static_cast<double>(fit_.kept.states))
                                             : "");
    fit_.more_flops = static_cast<double>(fit_.again.flops) / flops;
    return fit_;
  }

 private:
  bool fits(const StepMemory& memory) const { return memory.total() <= fit_.limit; }

  StepMemory attempt(int64_t least_bytes, size_t most) {
    options_.training.recompute_best = {.least_bytes = least_bytes, .most = most};
    const TrainingGraph made = make_step_graph(model_, options_);
    fit_.again = made.recomputed;
    const runtime::Executable step = compile_step(made, options_);
    flops_ = flops_of(step);
    return memory_of(step, data_workers_);
  }

  // Short blocks first: they cost least, but keep most values between them.
  bool fit() {
    constexpr size_t kAll = std::numeric_limits<size_t>::max();
    int64_t savable = 0;
    for (const int64_t parts : {0, 32, 16, 8, 4, 2}) {
      const int64_t least_bytes = parts == 0 ? 0 : savable / parts;
      const StepMemory memory = attempt(least_bytes, kAll);
      savable = std::max(savable, fit_.again.bytes);
      least_ = std::min(least_, memory.total());
      if (!fits(memory)) continue;
      find_fewest(least_bytes, fit_.again.blocks);
      return true;
    }
    return false;
  }

  // Ends with the last that was tried, which fits.
  void find_fewest(int64_t least_bytes, size_t enough) {
    size_t too_few = 0;
    while (enough - too_few > 1) {
      const size_t middle = (too_few + enough) / 2;
      (fits(attempt(least_bytes, middle)) ? enough : too_few) = middle;
    }
    attempt(least_bytes, enough);
  }

  const Graph& model_;
  int64_t data_workers_;
  StepOptions& options_;
  MemoryFit fit_;
  double flops_ = 0;  // of the last attempt
  int64_t least_ = 0;
};

}  // namespace

StepMemory memory_of(const runtime::Executable& step, int64_t data_workers) {
  StepMemory memory{.values = step.arena_bytes(),
                    .states = step.state_bytes(),
                    .constants = step.constant_bytes()};
  for (const runtime::Executable::Message& message : step.messages()) {
    memory.values += message.bytes;
  }
  for (const runtime::Port& input : step.inputs()) memory.batches += input.type.num_bytes();
  // The batch in use, and those that are prepared meanwhile.
  memory.batches *= 1 + data::Loader::slots(data_workers);
  return memory;
}

MemoryFit fit_memory(const Graph& model, int64_t limit, int64_t data_workers,
                     StepOptions& options) {
  return Fitter(model, limit, data_workers, options).run();
}

Json to_json(const StepMemory& memory, const std::optional<MemoryFit>& fit) {
  Json json = Json::object({{"step", memory.total()},
                            {"values", memory.values},
                            {"states", memory.states},
                            {"constants", memory.constants},
                            {"batches", memory.batches}});
  if (!fit) return json;
  json["limit"] = fit->limit;
  json["step_without_limit"] = fit->kept.total();
  json["blocks"] = static_cast<int64_t>(fit->again.possible);
  json["recomputed_blocks"] = static_cast<int64_t>(fit->again.blocks);
  json["more_flops"] = fit->more_flops;
  return json;
}

}  // namespace trainyard::train

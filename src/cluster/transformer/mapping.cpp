#include "cluster/transformer/mapping.h"

#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::transformer {
namespace {

template <typename Enum, size_t N>
Enum choice_of(std::string_view name, const std::array<std::string_view, N>& names,
               std::string_view what) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  throw_error("{} is '{}', expected {}", what, name,
              join(std::vector<std::string>(names.begin(), names.end()), ", "));
}

constexpr std::array<std::string_view, 3> kRecomputes = {"none", "selective", "full"};
constexpr std::array<std::string_view, 4> kOptimizers = {"adam", "adafactor", "muon", "sgd"};
constexpr std::array<std::string_view, 4> kOffloads = {"none", "optimizer", "activations", "both"};
constexpr int64_t kMostWorkers = int64_t{1} << 20;

// Both of tensor parallelism's conditions: heads are whole, and keys are split or repeated evenly.
bool splits_heads(const Transformer& model, int64_t tensor) {
  return model.heads % tensor == 0 &&
         (model.kv_heads % tensor == 0 || tensor % model.kv_heads == 0) && model.ffn % tensor == 0;
}

std::string ranges_problem(const Mapping& mapping) {
  const std::array<std::pair<const char*, int64_t>, 8> numbers = {
      {{"workers", mapping.workers},
       {"tensor", mapping.tensor},
       {"pipeline", mapping.pipeline},
       {"interleave", mapping.interleave},
       {"context", mapping.context},
       {"expert", mapping.expert},
       {"micro_batch", mapping.micro_batch},
       {"batch", mapping.batch}}};
  for (const auto& [name, value] : numbers) {
    if (value < 1 || value > kMostWorkers * 64) return fmt::format("{} is {}", name, value);
  }
  if (mapping.workers > kMostWorkers) return fmt::format("workers is {}", mapping.workers);
  if (mapping.zero < 0 || mapping.zero > 3) {
    return fmt::format("zero is {}, expected 0 to 3", mapping.zero);
  }
  return "";
}

std::string expert_problem(const Transformer& model, const Mapping& mapping) {
  if (mapping.expert == 1) return "";
  if (model.experts == 0) return fmt::format("expert {}: the model has no experts", mapping.expert);
  if (model.experts % mapping.expert != 0) {
    return fmt::format("expert {} does not divide the {} experts", mapping.expert, model.experts);
  }
  const int64_t group = mapping.workers / mapping.pipeline;
  if (group % mapping.expert != 0) {
    return fmt::format("expert {} does not divide the {} devices of a pipeline stage",
                       mapping.expert, group);
  }
  return "";
}

std::string pipeline_problem(const Transformer& model, const Mapping& mapping) {
  // The embedding and the head may count as layers, as in Llama 3.1 405B on 16 x 8 stages.
  const int64_t stages = mapping.pipeline * mapping.interleave;
  if (mapping.pipeline > model.layers || stages > model.layers + 2) {
    return fmt::format("pipeline {} x interleave {} is more than the {} layers", mapping.pipeline,
                       mapping.interleave, model.layers);
  }
  if (mapping.interleave > 1 && mapping.pipeline == 1) {
    return fmt::format("interleave {} needs a pipeline", mapping.interleave);
  }
  return "";
}

std::string trait_problem(const Transformer& model, const Mapping& mapping) {
  const int64_t ranks = mapping.data() * mapping.context;
  if (mapping.shard_group < 0 || (mapping.shard_group > 0 && ranks % mapping.shard_group != 0)) {
    return fmt::format("shard_group {} does not divide the {} data parallel ranks",
                       mapping.shard_group, ranks);
  }
  if (mapping.lora < 0 || mapping.lora > model.hidden) {
    return fmt::format("lora is {}, expected a rank of at most the hidden size {}", mapping.lora,
                       model.hidden);
  }
  if (mapping.zero_bubble && (mapping.pipeline == 1 || mapping.interleave > 1)) {
    return fmt::format("a zero-bubble schedule needs a pipeline without interleaving, not {} x {}",
                       mapping.pipeline, mapping.interleave);
  }
  return "";
}

std::string batch_problem(const Mapping& mapping) {
  const int64_t at_once = mapping.micro_batch * mapping.data();
  if (mapping.batch % at_once != 0) {
    return fmt::format("micro_batch {} x data {} does not divide the batch of {}",
                       mapping.micro_batch, mapping.data(), mapping.batch);
  }
  if (mapping.interleave > 1 && mapping.accumulation() % mapping.pipeline != 0) {
    return fmt::format("interleave {}: pipeline {} does not divide the {} micro batches",
                       mapping.interleave, mapping.pipeline, mapping.accumulation());
  }
  return "";
}

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> out;
  for (int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    out.push_back(i);
    if (i * i != number) out.push_back(number / i);
  }
  return out;
}

double steps_between(int64_t a, int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(std::max<int64_t>(b, 1))));
}

double distance(const Mapping& a, const Mapping& b) {
  return steps_between(a.tensor, b.tensor) + steps_between(a.pipeline, b.pipeline) +
         steps_between(a.context, b.context) + steps_between(a.expert, b.expert) +
         steps_between(a.interleave, b.interleave) + steps_between(a.micro_batch, b.micro_batch);
}

// Tries the values of the inner numbers around one split of the workers.
class Nearest {
 public:
  Nearest(const Transformer& model, const Mapping& wanted) : model_(model), wanted_(wanted) {}

  Mapping find() {
    for (const int64_t tensor : divisors(wanted_.workers)) {
      for (const int64_t pipeline : divisors(wanted_.workers / tensor)) {
        for (const int64_t context : divisors(wanted_.workers / (tensor * pipeline))) {
          try_split(tensor, pipeline, context);
        }
      }
    }
    return best_;
  }

 private:
  void try_split(int64_t tensor, int64_t pipeline, int64_t context) {
    Mapping mapping = wanted_;
    mapping.tensor = tensor;
    mapping.pipeline = pipeline;
    mapping.context = context;
    for (const int64_t expert : {wanted_.expert, int64_t{1}, wanted_.expert / 2}) {
      for (const int64_t interleave : {wanted_.interleave, int64_t{1}}) {
        for (int64_t micro = std::max<int64_t>(wanted_.micro_batch, 1); micro >= 1; micro /= 2) {
          mapping.expert = expert;
          mapping.interleave = interleave;
          mapping.micro_batch = micro;
          keep_if_nearer(mapping);
        }
      }
    }
  }

  void keep_if_nearer(const Mapping& mapping) {
    const double far = distance(mapping, wanted_);
    if (far >= least_ || !problem_of(model_, mapping).empty()) return;
    least_ = far;
    best_ = mapping;
  }

  const Transformer& model_;
  const Mapping wanted_;
  double least_ = 1e300;
  Mapping best_ = alone();

  Mapping alone() const {
    Mapping mapping = wanted_;
    mapping.tensor = mapping.pipeline = mapping.context = mapping.expert = 1;
    mapping.interleave = mapping.micro_batch = 1;
    const int64_t rounds = (wanted_.batch + wanted_.workers - 1) / wanted_.workers;
    mapping.batch = std::max<int64_t>(rounds, 1) * wanted_.workers;
    return mapping;
  }
};

}  // namespace

Recompute recompute_from_name(std::string_view name) {
  return choice_of<Recompute>(name, kRecomputes, "recompute");
}
std::string_view recompute_name(Recompute recompute) {
  return kRecomputes[static_cast<size_t>(recompute)];
}
Optimizer optimizer_from_name(std::string_view name) {
  return choice_of<Optimizer>(name, kOptimizers, "optimizer");
}
std::string_view optimizer_name(Optimizer optimizer) {
  return kOptimizers[static_cast<size_t>(optimizer)];
}

Offload offload_from_name(std::string_view name) {
  return choice_of<Offload>(name, kOffloads, "offload");
}
std::string_view offload_name(Offload offload) {
  return kOffloads[static_cast<size_t>(offload)];
}

std::string Mapping::text() const {
  std::string out;
  const auto add = [&out](std::string_view name, int64_t value) {
    if (value != 1) out += fmt::format("{} {}, ", name, value);
  };
  add("tensor", tensor);
  add("pipeline", pipeline);
  add("interleave", interleave);
  add("context", context);
  add("expert", expert);
  out += fmt::format("data {}, micro batch {}", data(), micro_batch);
  return out;
}

std::string problem_of(const Transformer& model, const Mapping& mapping) {
  if (std::string problem = ranges_problem(mapping); !problem.empty()) return problem;
  const int64_t group = mapping.tensor * mapping.pipeline * mapping.context;
  if (mapping.tensor > mapping.workers || group > mapping.workers || mapping.workers % group != 0) {
    return fmt::format("tensor {} x pipeline {} x context {} does not divide {} workers",
                       mapping.tensor, mapping.pipeline, mapping.context, mapping.workers);
  }
  if (!splits_heads(model, mapping.tensor)) {
    return fmt::format("tensor {} does not divide {} heads, {} key heads and a feed-forward of {}",
                       mapping.tensor, model.heads, model.kv_heads, model.ffn);
  }
  const int64_t sequence = mapping.sequence > 0 ? mapping.sequence : model.sequence;
  if (sequence % mapping.context != 0) {
    return fmt::format("context {} does not divide a sequence of {}", mapping.context, sequence);
  }
  for (std::string problem : {pipeline_problem(model, mapping), expert_problem(model, mapping),
                              trait_problem(model, mapping), batch_problem(mapping)}) {
    if (!problem.empty()) return problem;
  }
  return "";
}

Mapping nearest(const Transformer& model, const Mapping& mapping) {
  Mapping wanted = mapping;
  wanted.workers = std::clamp<int64_t>(wanted.workers, 1, kMostWorkers);
  return Nearest(model, wanted).find();
}

void check(const Transformer& model, const Mapping& mapping) {
  const std::string problem = problem_of(model, mapping);
  if (problem.empty()) return;
  const Mapping near = nearest(model, mapping);
  throw_error("{}. The nearest that can be: {} workers, {}, batch {}", problem, near.workers,
              near.text(), near.batch);
}

}  // namespace trainyard::transformer

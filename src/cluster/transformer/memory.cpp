#include "cluster/transformer/memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace trainyard::transformer {
namespace {

// The driver's context, the libraries' workspaces and the buffers of collectives.
constexpr double kDriver = 1.5 * kGibi;
// Layers whose activations stay on the device where the others are kept by the host.
constexpr double kLayersOnDevice = 2;
// What the allocator holds but cannot use, of activations.
constexpr double kFragmented = 0.02;
constexpr double kMostMicroBatch = 1 << 20;

double real(int64_t number) {
  return static_cast<double>(number);
}

bool is_half(Number number) {
  return number == Number::kHalf || number == Number::kFp8 || number == Number::kFp4;
}

double bytes_of(Number number) {
  return is_half(number) ? 2 : 4;
}

double product_bytes(Number number) {
  if (number == Number::kFp8) return 1;
  return number == Number::kFp4 ? 0.5625 : bytes_of(number);  // with a scale for 16 values
}

// Weights that are shared out are kept in single precision and gathered in half.
bool keeps_master(const Mapping& mapping) {
  return is_half(mapping.number) && (mapping.zero < 3 || mapping.lora > 0);
}

// Bytes per parameter: a master copy where weights are half precision, then the optimizer's own.
double optimizer_bytes(const Mapping& mapping) {
  const double master = keeps_master(mapping) ? 4 : 0;
  switch (mapping.optimizer) {
    case Optimizer::kAdam:
      return master + 8;
    case Optimizer::kAdafactor:
      return master;  // rows and columns alone
    case Optimizer::kMuon:
    case Optimizer::kSgd:
      return master + 4;
  }
  return master;
}

// Layers of a stage: the first has the most micro batches in flight.
double stage_layers(const Transformer& model, const Mapping& mapping) {
  const int64_t parts = mapping.pipeline * mapping.interleave;
  const int64_t each = std::max<int64_t>((model.layers + parts - 1) / parts, 1);
  return real(std::min(each * mapping.interleave, model.layers));
}

bool keeps_every_second(const Mapping& mapping) {
  return mapping.zero == 3 && mapping.flash && mapping.recompute == Recompute::kSelective;
}

struct Activation {
  double split = 0;  // what tensor parallelism splits always
  double whole = 0;  // what only sequence parallelism splits
};

// Bytes of a token in a layer with elements of `size` bytes: inputs of the norms and linear layers,
// queries, keys, values, the output of attention, what the feed-forward layer keeps.
Activation layer_activation(const Transformer& model, const Mapping& mapping, bool experts) {
  const double size = bytes_of(mapping.number);
  const double sequence = real(mapping.sequence > 0 ? mapping.sequence : model.sequence);
  Activation bytes;
  // Inputs of linear layers are kept as they are multiplied.
  const double kept = product_bytes(mapping.number);
  bytes.whole = 2 * (size + kept) * real(model.hidden);
  // Masks of the dropouts that older networks have.
  if (model.bias && !model.gated) bytes.whole += 2 * real(model.hidden);
  const double kv = real(model.is_latent() ? model.query_width() : model.kv_width());
  bytes.split = size * (real(model.query_width() + model.output_width()) + 2 * kv);
  // Attention needs its result in half precision, the projection after it in its own.
  if (kept < size) bytes.split += kept * real(model.output_width());
  const bool scores = !mapping.flash && mapping.recompute == Recompute::kNone;
  bytes.split += real(model.heads) * (scores ? (2 * size + 1) * sequence : 4);
  const double tensors = (model.gated ? 2 : 1) * size + kept;
  if (!experts) {
    bytes.split += tensors * real(model.ffn);
    return bytes;
  }
  const double routed = real(model.top_k) * real(model.expert_ffn) + real(model.shared_ffn);
  bytes.split += tensors * routed;
  bytes.whole += kept * real(model.top_k * model.hidden) + 4 * real(model.experts);
  return bytes;
}

double token_bytes(const Activation& activation, const Mapping& mapping) {
  const double tensor = real(mapping.tensor);
  return activation.split / tensor + activation.whole / (mapping.sequence_parallel ? tensor : 1);
}

// Of the device's tokens in one micro batch.
double tokens_of(const Transformer& model, const Mapping& mapping) {
  const int64_t sequence = mapping.sequence > 0 ? mapping.sequence : model.sequence;
  return real(mapping.micro_batch) * real(sequence) / real(mapping.context);
}

// Micro batches whose activations the first stage holds at a time.
double in_flight(const Mapping& mapping) {
  const double stages = real(mapping.pipeline);
  if (stages == 1) return 1;
  const double all = real(std::max<int64_t>(mapping.accumulation(), 1));
  if (mapping.interleave == 1) return std::min(stages, all);
  const double more = 1 + (stages - 1) / (stages * real(mapping.interleave));
  return std::min(stages * more, all);
}

// PyTorch's selective recomputation keeps what attention and every second product give.
double kept_by_operator(const Transformer& model, const Mapping& mapping, bool experts) {
  const double hidden = real(model.hidden);
  const double width =
      experts ? real(model.top_k * model.expert_ffn + model.shared_ffn) : real(model.ffn);
  const double products =
      real(model.query_width() + 2 * model.kv_width()) + 2 * hidden + (model.gated ? 2 : 1) * width;
  const double kept = hidden + real(model.output_width()) + 0.5 * products;
  return bytes_of(mapping.number) * kept / real(mapping.tensor);
}

double layer_bytes(const Transformer& model, const Mapping& mapping, bool experts) {
  if (keeps_every_second(mapping)) return kept_by_operator(model, mapping, experts);
  return token_bytes(layer_activation(model, mapping, experts), mapping);
}

// Of a token.
struct LayerBytes {
  double kept = 0;   // of an average layer until its backward pass
  double whole = 0;  // of the largest layer while it is computed
};

LayerBytes bytes_of_layers(const Transformer& model, const Mapping& mapping) {
  const double share = real(model.expert_layers()) / real(model.layers);
  const double dense = share < 1 ? layer_bytes(model, mapping, false) : 0;
  const double expert = share > 0 ? layer_bytes(model, mapping, true) : 0;
  LayerBytes bytes;
  bytes.whole = std::max(dense, expert);
  bytes.kept = (1 - share) * dense + share * expert;
  if (mapping.recompute == Recompute::kFull) {
    bytes.kept = bytes_of(mapping.number) * real(model.hidden) /
                 (mapping.sequence_parallel ? real(mapping.tensor) : 1);
  }
  return bytes;
}

double activation_bytes(const Transformer& model, const Mapping& mapping) {
  const LayerBytes bytes = bytes_of_layers(model, mapping);
  const double tokens = tokens_of(model, mapping);
  double layers = stage_layers(model, mapping) * in_flight(mapping);
  if (mapping.offloads_activations()) layers = std::min(layers, kLayersOnDevice);
  const bool again = mapping.recompute == Recompute::kFull;
  return tokens * (layers * bytes.kept + (again ? bytes.whole : 0));
}

double share_of(const Mapping& mapping, int64_t from, double ranks) {
  return mapping.zero >= from ? std::max(ranks, 1.0) : 1;
}

// Logits, their copy in single precision and the gradients. The last stage of a pipeline has them,
// beside the activations of one micro batch: what it needs more than the first counts.
double logit_bytes(const Transformer& model, const Mapping& mapping) {
  const double each =
      mapping.zero == 3 ? 4 + 2 * bytes_of(mapping.number) : 4 + bytes_of(mapping.number);
  const double bytes = each * tokens_of(model, mapping) * real(model.vocab) / real(mapping.tensor);
  if (mapping.pipeline == 1) return bytes;
  const double less = (in_flight(mapping) - 1) * micro_batch_activations(model, mapping);
  return std::max(bytes - less, 0.0);
}

// What is gathered of weights that are shared out: two layers, one of them ahead, with the gradient
// of one, and the head while its loss is computed.
double gathered_bytes(const Transformer& model, const Mapping& mapping,
                      const RankParameters& rank) {
  if (mapping.zero < 3 || mapping.data() * mapping.context == 1) return 0;
  const double head = real(model.vocab * model.hidden) / real(mapping.tensor);
  const double size = bytes_of(mapping.number);
  const double layer = std::max(rank.dense - 2 * head, rank.dense / 2) + rank.experts;
  return size * (3 * layer / std::max(rank.layers, 1.0) + 2 * head);
}

}  // namespace

RankParameters rank_parameters(const Transformer& model, const Mapping& mapping) {
  const Parameters count = count_parameters(model);
  const double layers = stage_layers(model, mapping);
  const double share = layers / real(model.layers);
  RankParameters rank;
  rank.layers = layers;
  rank.dense = share * real(count.attention + count.feed_forward + count.other);
  rank.dense += mapping.pipeline > 1 ? real(std::max(count.embedding, count.head))
                                     : real(count.embedding + count.head);
  rank.dense /= real(mapping.tensor);
  rank.experts = share * real(count.experts) / real(mapping.expert);
  return rank;
}

double adapter_parameters(const Transformer& model, int64_t rank) {
  const double query = real(model.query_width());
  const double attention =
      2 * real(model.hidden) + query + 2 * real(model.kv_width()) + real(model.output_width());
  const double in = model.gated ? 2 : 1;
  const auto pair = [&](int64_t width) {
    return width == 0 ? 0 : 2 * real(model.hidden) + (in + 1) * real(width);
  };
  const double with_experts = real(model.expert_layers());
  const double sides = real(model.layers) * attention +
                       (real(model.layers) - with_experts) * pair(model.ffn) +
                       with_experts * pair(model.shared_ffn);
  return real(rank) * sides;
}

TrainedParameters trained_parameters(const Transformer& model, const Parameters& count,
                                     const Mapping& mapping) {
  const double stages = real(mapping.pipeline);
  const double split = stages * real(mapping.tensor);
  if (mapping.lora > 0) return {adapter_parameters(model, mapping.lora) / split, 0};
  return {real(count.total - count.experts) / split,
          real(count.experts) / stages / real(mapping.expert)};
}

double micro_batch_activations(const Transformer& model, const Mapping& mapping) {
  return tokens_of(model, mapping) * stage_layers(model, mapping) *
         bytes_of_layers(model, mapping).kept;
}

Memory memory_of(const Transformer& model, const Mapping& mapping) {
  const RankParameters rank = rank_parameters(model, mapping);
  RankParameters trained = rank;
  if (mapping.lora > 0) {
    trained.dense = adapter_parameters(model, mapping.lora) * rank.layers / real(model.layers) /
                    real(mapping.tensor);
    trained.experts = 0;
  }
  // Ranks that hold the same parameters and can share them out.
  const double expert_ranks = real(mapping.workers / mapping.pipeline) / real(mapping.expert);
  const auto shared = [&](int64_t from, const RankParameters& parameters) {
    return parameters.dense / share_of(mapping, from, real(mapping.sharers())) +
           parameters.experts / share_of(mapping, from, expert_ranks);
  };
  Memory memory;
  const bool single = mapping.zero == 3 && mapping.lora == 0;
  memory.weights = (single ? 4 : bytes_of(mapping.number)) * shared(3, rank);
  // Sums of gradients are kept in single precision.
  memory.gradients = 4 * shared(2, trained);
  memory.optimizer = optimizer_bytes(mapping) * shared(1, trained);
  memory.activations = activation_bytes(model, mapping);
  memory.logits = logit_bytes(model, mapping);
  memory.buffers = gathered_bytes(model, mapping, rank);
  memory.driver = kDriver + kFragmented * memory.activations;
  if (mapping.offloads_optimizer()) memory.host += std::exchange(memory.optimizer, 0);
  if (mapping.offloads_activations()) {
    memory.host += std::max(
        micro_batch_activations(model, mapping) * in_flight(mapping) - memory.activations, 0.0);
  }
  return memory;
}

std::string_view first_that_does_not_fit(const Memory& memory, double device_bytes) {
  const std::array<std::pair<std::string_view, double>, 7> parts = {
      {{"weights", memory.weights},
       {"gradients", memory.gradients},
       {"optimizer", memory.optimizer},
       {"activations", memory.activations},
       {"logits", memory.logits},
       {"buffers", memory.buffers},
       {"driver and libraries", memory.driver}}};
  double sum = 0;
  for (const auto& [name, bytes] : parts) {
    sum += bytes;
    if (sum > device_bytes) return name;
  }
  return "";
}

int64_t largest_micro_batch(const Transformer& model, const Mapping& mapping, double device_bytes) {
  const auto fits = [&](int64_t micro) {
    Mapping tried = mapping;
    tried.micro_batch = micro;
    tried.batch = micro * mapping.data() * std::max<int64_t>(mapping.accumulation(), 1);
    return memory_of(model, tried).total() <= device_bytes;
  };
  if (!fits(1)) return 0;
  int64_t good = 1;
  int64_t bad = 2;
  while (bad < static_cast<int64_t>(kMostMicroBatch) && fits(bad)) {
    good = bad;
    bad *= 2;
  }
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace trainyard::transformer

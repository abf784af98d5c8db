#include "cluster/transformer/memory.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard::transformer {
namespace {

// The driver's context, the libraries' workspaces and the buffers of collectives.
constexpr double kLibraries = 1.5 * kGibi;
// What the allocator cannot use, of activations.
constexpr double kFragmented = 0.05;
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

// Bytes per parameter: a master copy where weights are half precision, then the optimizer's own.
double optimizer_bytes(const Mapping& mapping) {
  const double master = is_half(mapping.number) ? 4 : 0;
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
  bytes.whole = 4 * size * real(model.hidden);
  // Masks of the dropouts that older networks have.
  if (model.bias && !model.gated) bytes.whole += 2 * real(model.hidden);
  const double kv = real(model.is_latent() ? model.query_width() : model.kv_width());
  bytes.split = size * (real(model.query_width() + model.output_width()) + 2 * kv);
  const bool scores = !mapping.flash && mapping.recompute == Recompute::kNone;
  bytes.split += real(model.heads) * (scores ? (2 * size + 1) * sequence : 4);
  const double tensors = model.gated ? 3 : 2;
  if (!experts) {
    bytes.split += tensors * size * real(model.ffn);
    return bytes;
  }
  const double routed = real(model.top_k) * real(model.expert_ffn) + real(model.shared_ffn);
  bytes.split += tensors * size * routed;
  bytes.whole += size * real(model.top_k * model.hidden) + 4 * real(model.experts);
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

double activation_bytes(const Transformer& model, const Mapping& mapping) {
  const double layers = stage_layers(model, mapping);
  const double share = real(model.expert_layers()) / real(model.layers);
  const double dense = token_bytes(layer_activation(model, mapping, false), mapping);
  const double expert =
      share > 0 ? token_bytes(layer_activation(model, mapping, true), mapping) : 0;
  const double layer = (1 - share) * dense + share * expert;
  const double tokens = tokens_of(model, mapping);
  if (mapping.recompute != Recompute::kFull) return layers * layer * tokens * in_flight(mapping);
  const double input = bytes_of(mapping.number) * real(model.hidden) /
                       (mapping.sequence_parallel ? real(mapping.tensor) : 1);
  return tokens * (layers * input * in_flight(mapping) + std::max(dense, expert));
}

// Weights in fp8 stand beside those of which they are made.
double weight_bytes(const Mapping& mapping) {
  return bytes_of(mapping.number);
}

double share_of(const Mapping& mapping, int64_t from, double ranks) {
  return mapping.zero >= from ? std::max(ranks, 1.0) : 1;
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

Memory memory_of(const Transformer& model, const Mapping& mapping) {
  const RankParameters rank = rank_parameters(model, mapping);
  // Ranks that hold the same parameters and can share them out.
  const double dense_ranks = real(mapping.data() * mapping.context);
  const double expert_ranks = real(mapping.workers / mapping.pipeline) / real(mapping.expert);
  const auto shared = [&](int64_t from) {
    return rank.dense / share_of(mapping, from, dense_ranks) +
           rank.experts / share_of(mapping, from, expert_ranks);
  };
  Memory memory;
  memory.weights = weight_bytes(mapping) * shared(3);
  // Sums of gradients are kept in single precision.
  memory.gradients = 4 * shared(2);
  memory.optimizer = optimizer_bytes(mapping) * shared(1);
  memory.activations = activation_bytes(model, mapping);
  if (mapping.pipeline == 1) {
    memory.logits = (4 + bytes_of(mapping.number)) * tokens_of(model, mapping) * real(model.vocab) /
                    real(mapping.tensor);
  }
  memory.buffers = kLibraries + kFragmented * memory.activations;
  if (mapping.zero == 3 && mapping.data() > 1) {
    // Two layers are gathered at a time, one of them ahead.
    const double layer = (rank.dense + rank.experts) / std::max(rank.layers, 1.0);
    memory.buffers += 2 * bytes_of(mapping.number) * layer;
  }
  return memory;
}

std::string_view first_that_does_not_fit(const Memory& memory, double device_bytes) {
  const std::array<std::pair<std::string_view, double>, 6> parts = {
      {{"weights", memory.weights},
       {"gradients", memory.gradients},
       {"optimizer", memory.optimizer},
       {"activations", memory.activations},
       {"logits", memory.logits},
       {"buffers", memory.buffers}}};
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

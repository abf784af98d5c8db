#include "cluster/transformer/step_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cluster/transformer/memory.h"

namespace trainyard::transformer {
namespace {

constexpr double kHalfBytes = 2;
constexpr double kAmperePeak = 312e12;
constexpr double kSoftmaxLag = 0.3;
// Gradient, master copy and two moments are read, the last three and the weight written.
constexpr double kUpdateBytes = 30;
// What a device's share of the processors moves, and the link to them where none is known
// (assumed).
constexpr double kHostMemoryPerDevice = 25e9;
constexpr double kSlowestHostLink = 12e9;

double count_of(int64_t number) {
  return static_cast<double>(number);
}

double element_bytes(Number number) {
  return number == Number::kFp32 || number == Number::kTf32 ? 4 : kHalfBytes;
}

// What of an exchange stays visible behind `busy` seconds of computation: with a power of 1 all of
// it, with a large one what is longer than the computation.
double visible(double busy, double exchange, double power) {
  if (exchange <= 0) return 0;
  const double longer = std::max(busy, exchange);
  const double ratio = std::min(busy, exchange) / longer;
  return longer * std::pow(1 + std::pow(ratio, power), 1 / power) - busy;
}

// How often a layer's forward pass is computed in a step, backward counted twice.
double passes_of(const Mapping& mapping, Pass pass) {
  if (pass == Pass::kForward) return 1;
  return mapping.recompute == Recompute::kFull ? 4 : 3;
}

// The same of products with weights: those that are not trained need no gradients.
double weight_passes_of(const Mapping& mapping, Pass pass) {
  const bool frozen = pass == Pass::kTraining && mapping.lora > 0;
  return passes_of(mapping, pass) - (frozen ? 1 : 0);
}

}  // namespace

double StepTime::total() const {
  return matmul + attention + memory + launch + head + tensor + context + expert + bubble +
         pipeline + data + optimizer + offload + other;
}

std::string_view StepTime::largest() const {
  const std::array<std::pair<std::string_view, double>, 13> parts = {
      {{"matrix units", matmul + head},
       {"attention", attention},
       {"memory bandwidth", memory},
       {"launches", launch},
       {"tensor exchange", tensor},
       {"context exchange", context},
       {"expert exchange", expert},
       {"pipeline bubble", bubble},
       {"pipeline exchange", pipeline},
       {"data exchange", data},
       {"optimizer", optimizer},
       {"offloading", offload},
       {"fixed cost of a step", other}}};
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; })->first;
}

StepModel::StepModel(const Transformer& model, const Machine& machine, const Factors& factors,
                     int64_t sequence)
    : model_(model),
      machine_(machine),
      factors_(factors),
      sequence_(sequence),
      expert_share_(count_of(model.expert_layers()) / count_of(model.layers)),
      count_(count_parameters(model)),
      flops_(token_flops(model, sequence)) {
  const int generation = generation_factor(machine.generation);
  if (generation >= 0) generation_ = factors[static_cast<size_t>(generation)];
  if (machine.low_power) generation_ *= factors[kLowPower];
}

double StepModel::rate(Number number) const {
  double share = factors_[kMatmul] * generation_;
  if (number == Number::kFp8) share *= factors_[kFp8];
  if (number == Number::kFp4) share *= factors_[kFp4];
  return machine_.peak(number) * share;
}

double StepModel::product(double rows, double columns, double inner, double rate) const {
  const double edge = factors_[kEdge] * (1 / rows + 1 / columns + 1 / inner);
  return 2 * rows * columns * inner / rate * (1 + edge);
}

double StepModel::dense_ffn(const Mapping& mapping, double tokens) const {
  const double width = count_of(model_.ffn) / count_of(mapping.tensor);
  const double hidden = count_of(model_.hidden);
  const double speed = rate(mapping.number);
  return product(tokens, width * (model_.gated ? 2 : 1), hidden, speed) +
         product(tokens, hidden, width, speed);
}

// Experts are not split by tensor parallelism where they are spread; a rank then has its share of
// the tokens.
double StepModel::expert_ffn(const Mapping& mapping, double tokens) const {
  const double hidden = count_of(model_.hidden);
  const double tensor = count_of(mapping.tensor);
  const bool spread = mapping.expert > 1;
  const double width = count_of(model_.expert_ffn) / (spread ? 1 : tensor);
  const double visits = tokens * count_of(model_.top_k) / (spread ? tensor : 1);
  const double own = count_of(model_.experts) / count_of(mapping.expert);
  const double rows = std::max(visits / own, 1.0);
  const double speed = rate(mapping.number) * factors_[kGrouped];
  double seconds = own * (product(rows, width * (model_.gated ? 2 : 1), hidden, speed) +
                          product(rows, hidden, width, speed));
  if (model_.shared_ffn > 0) {
    const double shared = count_of(model_.shared_ffn) / tensor;
    const double dense = rate(mapping.number);
    seconds += product(tokens, 2 * shared, hidden, dense) + product(tokens, hidden, shared, dense);
  }
  return seconds;
}

// Forward, of one layer.
double StepModel::linear_seconds(const Mapping& mapping, double tokens) const {
  const double tensor = count_of(mapping.tensor);
  const double hidden = count_of(model_.hidden);
  const double speed = rate(mapping.number);
  double seconds = product(tokens, hidden, count_of(model_.output_width()) / tensor, speed);
  if (model_.is_latent()) {
    const double rest =
        count_of(dense_layer(model_).attention) / hidden - count_of(model_.output_width());
    seconds += product(tokens, rest / tensor, hidden, speed);
  } else {
    const double width = count_of(model_.query_width() + 2 * model_.kv_width()) / tensor;
    seconds += product(tokens, width, hidden, speed);
  }
  if (expert_share_ < 1) seconds += (1 - expert_share_) * dense_ffn(mapping, tokens);
  if (expert_share_ > 0) seconds += expert_share_ * expert_ffn(mapping, tokens);
  return seconds;
}

double StepModel::attention_seconds(const Mapping& mapping, double tokens) const {
  const double seen = count_of(sequence_) * (model_.causal && mapping.flash ? 0.5 : 1);
  const double flops = 2 * tokens * seen * count_of(model_.query_width() + model_.output_width()) /
                       count_of(mapping.tensor);
  const Number number = mapping.number >= Number::kFp8 ? Number::kHalf : mapping.number;
  // The exponentials of softmax have units of their own, which grew less than the matrix units.
  const double slow =
      number == Number::kHalf ? std::pow(machine_.peak(number) / kAmperePeak, -kSoftmaxLag) : 1;
  return flops / (rate(number) * factors_[kAttention] * slow);
}

// Bytes that norms, sums and activations move forward.
double StepModel::memory_seconds(const Mapping& mapping, double tokens) const {
  const double tensor = count_of(mapping.tensor);
  const double size = element_bytes(mapping.number);
  // A norm reads and writes, a sum reads two and writes; together they read two and write two.
  const double around = mapping.fuses ? 6 : 10;
  double elements = around * count_of(model_.hidden) / (mapping.sequence_parallel ? tensor : 1);
  elements += 2 * count_of(model_.query_width() + 2 * model_.kv_width()) / tensor;
  const double routed =
      count_of(model_.top_k) * (count_of(model_.expert_ffn) * 3 + 4 * count_of(model_.hidden));
  const double activation = (model_.gated ? 3 : 2) / (mapping.fuses ? 2.0 : 1.0);
  elements +=
      ((1 - expert_share_) * activation * count_of(model_.ffn) + expert_share_ * routed) / tensor;
  return tokens * elements * size / (machine_.bytes_per_s * factors_[kMemory]);
}

// Of the scores of attention, where they are stored.
double StepModel::scores_seconds(const Mapping& mapping, double tokens) const {
  if (mapping.flash) return 0;
  const double elements =
      8 * count_of(model_.heads) * count_of(sequence_) / count_of(mapping.tensor);
  return tokens * elements * element_bytes(mapping.number) /
         (machine_.bytes_per_s * factors_[kMemory]);
}

double StepModel::head_seconds(const Mapping& mapping, double tokens) const {
  const double width = count_of(model_.vocab) / count_of(mapping.tensor);
  const Number number = mapping.number >= Number::kFp8 ? Number::kHalf : mapping.number;
  return product(tokens, width, count_of(model_.hidden), rate(number)) +
         tokens * width * 8 / (machine_.bytes_per_s * factors_[kMemory]);
}

// Members of a group lie `stride` devices apart.
double StepModel::group_bandwidth(int64_t stride, int64_t members) const {
  if (stride * members <= machine_.domain) return machine_.inside.bytes_per_s;
  const double in_domain = std::max(count_of(machine_.domain / std::max<int64_t>(stride, 1)), 1.0);
  return std::min(machine_.inside.bytes_per_s, machine_.between.bytes_per_s * in_domain);
}

// One all-reduce, or a reduce-scatter and an all-gather.
double StepModel::tensor_seconds(const Mapping& mapping, double tokens) const {
  if (mapping.tensor == 1) return 0;
  const double members = count_of(mapping.tensor);
  const double bytes = tokens * count_of(model_.hidden) * element_bytes(mapping.number);
  return 2 * (members - 1) / members * bytes /
             (group_bandwidth(1, mapping.tensor) * factors_[kTensorLink]) +
         factors_[kTensorDelay];
}

// To the experts and back, one pass of a layer.
double StepModel::expert_seconds(const Mapping& mapping, double tokens) const {
  if (mapping.expert == 1) return 0;
  const double members = count_of(mapping.expert);
  const double bytes = tokens / count_of(mapping.tensor) * count_of(model_.top_k) *
                       count_of(model_.hidden) * kHalfBytes / members;
  // Tokens for members of the same domain take the fast link.
  const double near = count_of(std::min(mapping.expert, machine_.domain));
  const double seconds = bytes * ((near - 1) / machine_.inside.bytes_per_s +
                                  (members - near) / machine_.between.bytes_per_s);
  return 2 * (seconds / factors_[kExpertLink] + factors_[kTensorDelay]);
}

// Keys and values of the other ranks, behind attention.
double StepModel::context_seconds(const Mapping& mapping, double tokens) const {
  if (mapping.context == 1) return 0;
  const double bytes = count_of(mapping.context - 1) * tokens * 2 * count_of(model_.kv_width()) /
                       count_of(mapping.tensor) * kHalfBytes;
  const double exchange =
      bytes / (group_bandwidth(mapping.tensor, mapping.context) * factors_[kTensorLink]);
  return visible(attention_seconds(mapping, tokens), exchange, 3);
}

// Of the host, for one pass over a layer. Where no tokens are dropped, it waits to learn how many
// each expert gets.
double StepModel::launch_seconds(const Mapping& mapping) const {
  if (expert_share_ == 0 || mapping.drops_tokens) return factors_[kHost];
  const double own = count_of(model_.experts) / count_of(mapping.expert);
  return factors_[kHost] + expert_share_ * own * factors_[kExpertHost];
}

// Sets the parts of one micro batch on one (average) stage.
void StepModel::add_layers(const Mapping& mapping, Pass pass, double tokens, StepTime& time) const {
  const double stages = count_of(mapping.pipeline);
  const double layers = count_of(model_.layers) / stages;
  const double passes = passes_of(mapping, pass);
  const double work = layers * passes;
  const double weights = weight_passes_of(mapping, pass);
  time.matmul = layers * weights * linear_seconds(mapping, tokens);
  time.attention = work * attention_seconds(mapping, tokens);
  // Selective recomputation computes the scores once more.
  const double again = mapping.recompute == Recompute::kSelective && !mapping.flash ? 4.0 / 3 : 1;
  time.attention *= again;
  time.memory = work * (memory_seconds(mapping, tokens) + again * scores_seconds(mapping, tokens));
  const double device = time.matmul + time.attention + time.memory;
  time.launch = visible(device, work * launch_seconds(mapping), 4);
  // Two exchanges in each direction; computing again repeats those of the forward pass.
  const double rounds = pass == Pass::kForward ? 2 : (passes == 4 ? 6 : 4);
  time.tensor = layers * rounds * tensor_seconds(mapping, tokens);
  time.context = work * context_seconds(mapping, tokens);
  time.expert = layers * expert_share_ * rounds / 2 * expert_seconds(mapping, tokens);
  const double head = pass == Pass::kForward ? 1 : (mapping.lora > 0 ? 2 : 3);
  time.head = head * head_seconds(mapping, tokens);
}

// Repeats the micro batch and adds what a pipeline waits for.
void StepModel::add_pipeline(const Mapping& mapping, Pass pass, double tokens,
                             StepTime& time) const {
  const double stages = count_of(mapping.pipeline);
  const double rounds = count_of(mapping.accumulation());
  const double layers = time.total() - time.head;
  const double parts = stages * count_of(mapping.interleave);
  const bool even = model_.layers % static_cast<int64_t>(parts) == 0;
  const double most = even ? layers
                           : layers * std::ceil(count_of(model_.layers) / stages) /
                                 (count_of(model_.layers) / stages);
  const double mean = layers + time.head / stages;
  const double slowest = stages == 1 ? mean : std::max(most, even ? layers + time.head : mean);
  for (double* part : {&time.matmul, &time.attention, &time.memory, &time.launch, &time.tensor,
                       &time.context, &time.expert}) {
    *part *= rounds;
  }
  time.head *= rounds / stages;
  if (stages == 1) return;
  // Gradients of weights, a third of the work, fill all but a third of what stages wait.
  const double waits = mapping.zero_bubble ? 1.0 / 3 : 1 / count_of(mapping.interleave);
  time.bubble = rounds * (slowest - mean) + (stages - 1) * waits * mean;
  const double bytes = tokens * count_of(model_.hidden) * element_bytes(mapping.number) /
                       (mapping.sequence_parallel ? count_of(mapping.tensor) : 1);
  const double link = mapping.workers <= machine_.domain ? machine_.inside.bytes_per_s
                                                         : machine_.between.bytes_per_s;
  const double sends = (pass == Pass::kForward ? 1 : 2) * count_of(mapping.interleave);
  time.pipeline =
      (rounds + stages - 1) * sends * (factors_[kPipe] * bytes / link + factors_[kPipeDelay]);
}

// `times` passes of parameters of `size` bytes around a group.
double StepModel::exchange_seconds(double times, double parameters, int64_t stride, int64_t members,
                                   double size) const {
  if (members <= 1 || parameters <= 0) return 0;
  const double share = count_of(members - 1) / count_of(members);
  return times * share * parameters * size /
         (group_bandwidth(stride, members) * factors_[kDataLink]);
}

// Weights that are shared out move in every micro batch, forward and backward, and with them, where
// they are trained, gradients.
double StepModel::weights_exchange(const Mapping& mapping, double rounds) const {
  const double stages = count_of(mapping.pipeline);
  const double size = element_bytes(mapping.number);
  const double times = (mapping.lora > 0 ? 2 : 3) * rounds;
  const double dense = count_of(count_.total - count_.experts) / stages / count_of(mapping.tensor);
  const double experts = count_of(count_.experts) / stages / count_of(mapping.expert);
  const int64_t replicas = mapping.workers / mapping.pipeline / mapping.expert;
  double seconds = exchange_seconds(times, dense, mapping.tensor, mapping.sharers(), size) +
                   exchange_seconds(times, experts, mapping.expert, replicas, size);
  const int64_t groups = mapping.data() * mapping.context / mapping.sharers();
  // Groups that each have the whole sum their gradients.
  seconds += exchange_seconds(2, dense / count_of(mapping.sharers()),
                              mapping.tensor * mapping.sharers(), groups, size);
  return seconds;
}

// What data parallel ranks exchange in a step.
double StepModel::data_exchange(const Mapping& mapping, double rounds) const {
  if (mapping.zero == 3) return weights_exchange(mapping, rounds);
  const TrainedParameters trained = trained_parameters(model_, count_, mapping);
  const double size = element_bytes(mapping.number);
  const int64_t replicas = mapping.workers / mapping.pipeline / mapping.expert;
  return exchange_seconds(2, trained.dense, mapping.tensor, mapping.data() * mapping.context,
                          size) +
         exchange_seconds(2, trained.experts, mapping.expert, replicas, size);
}

// `own`: parameters that a device updates.
void StepModel::add_offload(const Mapping& mapping, double own, StepTime& time) const {
  const double link = std::max(machine_.host_bytes_per_s, kSlowestHostLink);
  if (mapping.offloads_optimizer()) {
    // Gradients go, weights come, and a processor moves what the optimizer moves.
    time.optimizer = own * kUpdateBytes / kHostMemoryPerDevice;
    time.offload += own * (4 + kHalfBytes) / link;
  }
  if (mapping.offloads_activations()) {
    const double moved =
        2 * micro_batch_activations(model_, mapping) * count_of(mapping.accumulation());
    const double busy = time.matmul + time.attention + time.memory + time.launch;
    time.offload += visible(busy, moved / link, 3);
  }
}

void StepModel::add_update(const Mapping& mapping, StepTime& time) const {
  const double rounds = count_of(mapping.accumulation());
  const double exchange = data_exchange(mapping, rounds);
  const double busy = time.matmul + time.attention + time.memory + time.launch + time.head;
  // Gradients are exchanged behind the last backward pass alone, weights behind all of it.
  const double behind = mapping.zero == 3 ? busy : busy * 2 / 3 / rounds;
  time.data = visible(behind, exchange, 1 + factors_[kOverlap]);
  const TrainedParameters trained = trained_parameters(model_, count_, mapping);
  const double shared = count_of(mapping.workers / mapping.pipeline / mapping.expert);
  const bool shares = mapping.zero > 0;
  const double own = trained.dense / (shares ? count_of(mapping.sharers()) : 1) +
                     trained.experts / (shares ? std::max(shared, 1.0) : 1);
  time.optimizer = own * kUpdateBytes / (machine_.bytes_per_s * factors_[kMemory]);
  add_offload(mapping, own, time);
  time.other = factors_[kStep];
}

StepTime StepModel::step(const Mapping& mapping, Pass pass) const {
  const double tokens =
      count_of(mapping.micro_batch) * count_of(sequence_) / count_of(mapping.context);
  StepTime time;
  add_layers(mapping, pass, tokens, time);
  add_pipeline(mapping, pass, tokens, time);
  if (pass == Pass::kTraining) {
    add_update(mapping, time);
  } else {
    time.other = factors_[kStep];
  }
  return time;
}

double StepModel::tokens(const Mapping& mapping) const {
  return count_of(mapping.batch) * count_of(sequence_);
}

double StepModel::mfu(const Mapping& mapping, double step_seconds) const {
  // Weights that are not trained need no gradients of their own.
  const double spared = mapping.lora > 0 ? flops_.linear + flops_.head : 0;
  return tokens(mapping) * (flops_.training() - spared) /
         (step_seconds * count_of(mapping.workers) * machine_.peak(mapping.number));
}

double StepModel::hfu(const Mapping& mapping, double step_seconds) const {
  double again = 0;
  if (mapping.recompute == Recompute::kFull) again = flops_.linear + flops_.attention;
  if (mapping.recompute == Recompute::kSelective && !mapping.flash) again = flops_.attention;
  return mfu(mapping, step_seconds) * (1 + again / flops_.training());
}

}  // namespace trainyard::transformer

// How a training is spread over devices, and whether it can be.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cluster/predict/catalog.h"
#include "cluster/transformer/model.h"

namespace trainyard::transformer {

inline constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;

// Half is bf16 or fp16: both are as fast. The last two hold weights in half precision.
enum class Number : uint8_t { kFp32, kTf32, kHalf, kFp8, kFp4 };
inline constexpr int kNumbers = 5;
// fp32, tf32, bf16, fp16, fp8, nvfp4. Throws Error listing them.
Number number_from_name(std::string_view name);
std::string_view number_name(Number number);

struct Machine {
  std::string id;
  std::string generation;
  std::array<double, kNumbers> peaks = {};  // FLOP/s; 0: it has none
  double memory_bytes = 0;
  double bytes_per_s = 0;
  predict::LinkSpeed inside;    // between devices of a domain
  predict::LinkSpeed between;   // of one device, to other domains
  int64_t domain = 8;           // devices that share the fast link
  double host_bytes_per_s = 0;  // to the memory of the host
  bool low_power = false;       // at most 75 W, which is too little for the clock of its peak

  double peak(Number number) const { return peaks[static_cast<size_t>(number)]; }
};

// By the names of the catalog or those under which results are published. Throws Error with the
// nearest names.
Machine machine_of(const predict::Catalog& catalog, std::string_view name);
// False if there is no such device.
bool is_machine(const predict::Catalog& catalog, std::string_view name);

// Nothing is computed again, the scores of attention, or each layer from its input.
enum class Recompute : uint8_t { kNone, kSelective, kFull };
Recompute recompute_from_name(std::string_view name);
std::string_view recompute_name(Recompute recompute);

// What is kept in the host's memory.
enum class Offload : uint8_t { kNone, kOptimizer, kActivations, kBoth };
Offload offload_from_name(std::string_view name);
std::string_view offload_name(Offload offload);

enum class Optimizer : uint8_t { kAdam, kAdafactor, kMuon, kSgd };
Optimizer optimizer_from_name(std::string_view name);
std::string_view optimizer_name(Optimizer optimizer);

struct Mapping {
  int64_t workers = 1;
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t interleave = 1;  // parts of the network on each stage
  int64_t context = 1;
  int64_t expert = 1;
  int64_t micro_batch = 1;
  int64_t batch = 1;     // sequences of a step, of all devices
  int64_t sequence = 0;  // tokens; 0: the model's
  int64_t zero = 1;      // what data parallel ranks share out: 1 optimizer, 2 gradients, 3 weights
  bool sequence_parallel = true;  // between the parts that tensor parallelism splits
  bool flash = true;              // attention that never stores its scores
  Recompute recompute = Recompute::kNone;
  Optimizer optimizer = Optimizer::kAdam;
  Number number = Number::kHalf;
  // Devices of a group that share out what `zero` says, every group the whole of it; 0: all data
  // parallel ranks are one group.
  int64_t shard_group = 0;
  // Rank of the adapters that alone are trained (LoRA); 0: all weights are.
  int64_t lora = 0;
  // Gradients of weights are computed where a pipeline would wait.
  bool zero_bubble = false;
  Offload offload = Offload::kNone;
  // Experts take a fixed number of tokens and drop the rest.
  bool drops_tokens = false;
  // What follows a product element by element is computed with it, sums along with norms.
  bool fuses = false;

  bool offloads_optimizer() const {
    return offload == Offload::kOptimizer || offload == Offload::kBoth;
  }
  bool offloads_activations() const {
    return offload == Offload::kActivations || offload == Offload::kBoth;
  }
  int64_t data() const { return workers / (tensor * pipeline * context); }
  // Micro batches of a step on each device.
  int64_t accumulation() const { return batch / (micro_batch * data()); }
  // Ranks that share out one copy of the dense parameters.
  int64_t sharers() const {
    const int64_t all = data() * context;
    return shard_group > 0 && shard_group < all ? shard_group : all;
  }
  // "tensor 4, pipeline 2, data 8, micro batch 1"; what is 1 is left out, but for data.
  std::string text() const;
};

// What is wrong with it, empty if nothing is.
std::string problem_of(const Transformer& model, const Mapping& mapping);
// Throws Error with the problem and the nearest mapping that can be.
void check(const Transformer& model, const Mapping& mapping);
// The valid mapping whose numbers are nearest, for the same workers, batch and sequence; that with
// nothing but data parallelism and any batch where there is none.
Mapping nearest(const Transformer& model, const Mapping& mapping);

}  // namespace trainyard::transformer

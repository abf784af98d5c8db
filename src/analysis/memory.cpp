#include "analysis/memory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/parameters.h"
#include "analysis/saved_for_backward.h"
#include "analysis/storage.h"
#include "base/integers.h"
#include "ir/graph.h"
#include "ops/math/scalar_functions.h"
#include "ops/op_def.h"

namespace trainyard::analysis {
namespace {

// The live values of one training step: forward in the order of the nodes, backward in reverse.
struct TrainingMemory {
  int64_t saved =
      0;      // bytes the forward pass leaves for the backward pass (analysis/saved_for_backward.h)
  Peak peak;  // values and their gradients; see simulate_training
  bool peak_in_backward = false;
};

// Gradients flow from every graph output to every trainable parameter, and nowhere else. Views and
// sums pass their gradient on without a copy, activations overwrite it where nobody else needs it;
// a value with several consumers adds their contributions up one by one.
//
// In general, gradients of parameters are apart: there is memory for all of them. Here (in this
// engine) they are part of the peak, each from when it is made; concatenations and their gradients
// are not copied; and convolutions by Winograd's minimal filtering transform their weights.
enum class MemoryOf : uint8_t { kAnyTrainer, kThisEngine };

// By index of the value: is it a trainable parameter, or computed from one?
std::vector<bool> find_trained(const Graph& graph) {
  std::vector<bool> trained(graph.value_limit(), false);
  for (const Parameter& parameter : find_parameters(graph)) {
    if (parameter.trainable()) trained[static_cast<size_t>(parameter.value.index)] = true;
  }
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.valid() && trained[static_cast<size_t>(input.index)];
    });
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      trained[static_cast<size_t>(output.index)] = any && is_float(graph.value(output).type.dtype);
    }
  }
  return trained;
}

// Gradients of values; several values may hold one gradient.
class Gradients {
 public:
  explicit Gradients(const Graph& graph) : graph_(graph), of_(graph.value_limit(), -1) {}

  int64_t live() const { return live_; }
  bool has(ValueId id) const { return of_[static_cast<size_t>(id.index)] >= 0; }
  bool is_shared(ValueId id) const { return gradients_[at(id)].holders > 1; }

  void add(ValueId id) {
    const TensorType& type = graph_.value(id).type;
    const int64_t bytes = type.shape.is_static() ? type.num_bytes() : 0;
    of_[static_cast<size_t>(id.index)] = static_cast<int32_t>(gradients_.size());
    gradients_.push_back({bytes, 1});
    live_ += bytes;
  }

  void share(ValueId id, ValueId with) {
    of_[static_cast<size_t>(id.index)] = of_[static_cast<size_t>(with.index)];
    ++gradients_[at(id)].holders;
  }

  void drop(ValueId id) {
    Gradient& gradient = gradients_[at(id)];
    if (--gradient.holders == 0) live_ -= gradient.bytes;
    of_[static_cast<size_t>(id.index)] = -1;
  }

 private:
  struct Gradient {
    int64_t bytes = 0;
    int holders = 0;
  };
  size_t at(ValueId id) const { return static_cast<size_t>(of_[static_cast<size_t>(id.index)]); }

  const Graph& graph_;
  std::vector<int32_t> of_;  // by index of the value; -1: none
  std::vector<Gradient> gradients_;
  int64_t live_ = 0;
};

bool passes_gradient_on(const NodeView& node, size_t input, MemoryOf trainer) {
  if (ops::is_view(node)) return input == 0;
  if (trainer == MemoryOf::kThisEngine && joins_channels(node)) return true;
  const bool sum = node.op() == "Add" || node.op() == "Sum" || (node.op() == "Sub" && input == 0);
  return sum && node.input_type(input) == node.output_type(0);
}

// Bytes that a convolution by Winograd's minimal filtering needs for a moment: its weights as seen
// by tiles of 4x4 outputs, 36 numbers for 9. Where they are large and the tiles are few, they are
// made bit by bit.
int64_t transformed_weights(const NodeView& node) {
  constexpr int64_t kPoints = 36;
  constexpr int64_t kFewestChannels = 16;
  constexpr int64_t kLargeWeights = 2 << 20;
  constexpr int64_t kFewTiles = 5 << 17;  // floats
  if (node.op() != "Conv" || node.attr_int("group", 1) != 1) return 0;
  const Shape& weights = node.input_shape(1);
  const Shape& y = node.output_shape(0);
  if (!weights.is_static() || !y.is_static() || !node.input_shape(0).is_static()) return 0;
  const std::optional<ops::Window> window = ops::op_of(node).window(node);
  const std::vector<int64_t> ones = {1, 1};
  if (window->kernel != std::vector<int64_t>{3, 3} || window->strides != ones ||
      window->dilations != ones || std::min(weights[0], weights[1]) < kFewestChannels) {
    return 0;
  }
  // Of the convolution or of the gradient of its input, whichever has more.
  const int64_t channels = std::max(weights[0], weights[1]);
  const int64_t tiles = y[0] * divide_up(y[2], 4) * divide_up(y[3], 4) * kPoints * channels;
  const int64_t floats = kPoints * weights[0] * weights[1];
  const bool late = floats >= kLargeWeights && tiles <= kFewTiles;
  return (late ? tiles : floats) * static_cast<int64_t>(sizeof(float));
}

class Simulation {
 public:
  Simulation(const Graph& graph, MemoryOf trainer)
      : graph_(graph),
        trainer_(trainer),
        ids_(graph.node_ids()),
        trained_(find_trained(graph)),
        storage_(plan_storage(
            graph, trainer == MemoryOf::kThisEngine ? Reuse::kTrainingHere : Reuse::kTraining)),
        gradients_(graph),
        kept_(storage_.buffers.size(), false),
        extra_(ids_.size(), 0),
        freed_(ids_.size(), 0) {}

  TrainingMemory run() {
    find_kept();
    forward();
    for (const ValueId id : graph_.outputs()) {
      if (is_trained(id) && !gradients_.has(id)) gradients_.add(id);
    }
    for (int64_t i = static_cast<int64_t>(ids_.size()) - 1; i >= 0; --i) backward(i);
    return result_;
  }

 private:
  bool is_trained(ValueId id) const {
    return id.valid() && trained_[static_cast<size_t>(id.index)];
  }

  void find_kept() {
    for (size_t i = 0; i < ids_.size(); ++i) {
      const NodeView node(graph_, ids_[i]);
      if (!node.has_output(0) || !is_trained(node.output(0))) continue;
      const SavedForBackward saved = saved_for_backward(node, trained_);
      extra_[i] = saved.extra_bytes;
      freed_[i] += saved.extra_bytes;
      result_.saved += saved.extra_bytes;
      for (const ValueId id : saved.values) keep(id, i);
    }
  }

  // Backward runs in reverse, so the first node that keeps a value is the last to need it.
  void keep(ValueId id, size_t node) {
    const auto b = static_cast<size_t>(storage_.buffer_of[static_cast<size_t>(id.index)]);
    if (kept_[b]) return;
    kept_[b] = true;
    const Buffer& buffer = storage_.buffers[b];
    result_.saved += buffer.bytes;
    const bool belongs_to_caller = buffer.dies == storage_.num_nodes;
    if (!belongs_to_caller) freed_[node] += buffer.bytes;
  }

  int64_t scratch(size_t position) const {
    return trainer_ == MemoryOf::kThisEngine ? transformed_weights({graph_, ids_[position]}) : 0;
  }

  void note_peak(int64_t bytes, int64_t node, bool in_backward) {
    if (bytes <= result_.peak.bytes) return;
    result_.peak = {bytes, node};
    result_.peak_in_backward = in_backward;
  }

  void forward() {
    std::vector<int64_t> change(ids_.size() + 2, 0);  // on entering node i; entry 0: the inputs
    for (size_t b = 0; b < storage_.buffers.size(); ++b) {
      const Buffer& buffer = storage_.buffers[b];
      change[static_cast<size_t>(buffer.born + 1)] += buffer.bytes;
      const bool freed = !kept_[b] && buffer.dies < storage_.num_nodes;
      if (freed) change[static_cast<size_t>(buffer.dies + 2)] -= buffer.bytes;
    }
    live_ = change[0];
    for (size_t i = 0; i < ids_.size(); ++i) {
      live_ += change[i + 1] + extra_[i];
      note_peak(live_ + scratch(i), static_cast<int64_t>(i), false);
    }
    live_ += change.back();
  }

  // Adds the node's part to the gradient of one of its inputs; returns bytes needed for a moment.
  int64_t contribute(const NodeView& node, size_t input, ValueId y) {
    const ValueId x = node.input(input);
    if (gradients_.has(x) && !gradients_.is_shared(x)) {
      return passes_gradient_on(node, input, trainer_) ? 0 : graph_.value(x).type.num_bytes();
    }
    if (gradients_.has(x)) {  // the sum must not overwrite what others hold
      gradients_.drop(x);
      gradients_.add(x);
      return 0;
    }
    const bool activation = ops::find_unary(node.op()) != nullptr || node.op() == "Clip";
    if (passes_gradient_on(node, input, trainer_) || (activation && !gradients_.is_shared(y))) {
      gradients_.share(x, y);
    } else {
      gradients_.add(x);
    }
    return 0;
  }

  void backward(int64_t position) {
    const NodeView node(graph_, ids_[static_cast<size_t>(position)]);
    std::vector<ValueId> arrived;
    for (const ValueId output : node.node().outputs) {
      if (output.valid() && gradients_.has(output)) arrived.push_back(output);
    }
    int64_t momentary = arrived.empty() ? 0 : scratch(static_cast<size_t>(position));
    for (size_t i = 0; i < node.num_inputs() && !arrived.empty(); ++i) {
      if (!is_trained(node.node().inputs[i])) continue;
      const bool is_parameter = !graph_.value(node.input(i)).producer.valid();
      if (!is_parameter) {
        momentary = std::max(momentary, contribute(node, i, arrived[0]));
      } else if (trainer_ == MemoryOf::kThisEngine && !gradients_.has(node.input(i))) {
        gradients_.add(node.input(i));
      }
    }
    note_peak(live_ + gradients_.live() + momentary, position, true);
    for (const ValueId output : arrived) gradients_.drop(output);
    live_ -= freed_[static_cast<size_t>(position)];
  }

  const Graph& graph_;
  MemoryOf trainer_;
  std::vector<NodeId> ids_;
  std::vector<bool> trained_;
  Storage storage_;
  Gradients gradients_;
  std::vector<bool> kept_;      // by buffer
  std::vector<int64_t> extra_;  // by node: bytes of masks, indices, statistics it leaves
  std::vector<int64_t> freed_;  // by node: bytes its backward pass is the last to need
  int64_t live_ = 0;            // bytes of values
  TrainingMemory result_;
};

TrainingMemory simulate_training(const Graph& graph, MemoryOf trainer) {
  return Simulation(graph, trainer).run();
}

std::string node_name(const Graph& graph, int64_t position) {
  if (position < 0) return "";
  return graph.node(graph.node_ids()[static_cast<size_t>(position)]).name;
}

void add_weights(const Graph& graph, MemoryUse& use) {
  std::vector<bool> is_parameter(graph.value_limit(), false);
  for (const Parameter& parameter : find_parameters(graph)) {
    is_parameter[static_cast<size_t>(parameter.value.index)] = true;
    const int64_t bytes = graph.value(parameter.value).type.num_bytes();
    (parameter.trainable() ? use.trainable : use.statistics) += bytes;
  }
  for (const ValueId id : graph.initializers()) {
    if (!is_parameter[static_cast<size_t>(id.index)]) {
      use.constants += graph.value(id).type.num_bytes();
    }
  }
  use.gradients = use.trainable;
}

ActivationPeak inference_peak(const Graph& graph, Reuse reuse) {
  const Peak peak = peak_of(plan_storage(graph, reuse));
  return {.bytes = peak.bytes, .node = node_name(graph, peak.node)};
}

}  // namespace

std::string_view optimizer_name(Optimizer optimizer) {
  static constexpr std::array<std::string_view, 3> kNames = {"sgd", "momentum", "adam"};
  return kNames[static_cast<size_t>(optimizer)];
}

int64_t MemoryUse::optimizer_state(Optimizer optimizer) const {
  static constexpr std::array<int64_t, 3> kCopies = {0, 1, 2};
  return kCopies[static_cast<size_t>(optimizer)] * trainable;
}

MemoryUse analyze_memory(const Graph& graph) {
  MemoryUse use;
  add_weights(graph, use);
  for (const ValueId id : graph.inputs()) {
    const TensorType& type = graph.value(id).type;
    if (type.shape.is_static()) use.inputs += type.num_bytes();
  }
  use.inference = inference_peak(graph, Reuse::kViews);
  use.inference_in_place = inference_peak(graph, Reuse::kInPlace);
  const auto peak = [&](const TrainingMemory& training) -> ActivationPeak {
    return {.bytes = training.peak.bytes,
            .node = node_name(graph, training.peak.node),
            .backward = training.peak_in_backward};
  };
  const TrainingMemory training = simulate_training(graph, MemoryOf::kAnyTrainer);
  use.saved_for_backward = training.saved;
  use.training = peak(training);
  use.training_here = peak(simulate_training(graph, MemoryOf::kThisEngine));
  return use;
}

}  // namespace trainyard::analysis

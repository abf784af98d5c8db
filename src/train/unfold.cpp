#include "train/unfold.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "train/evaluate.h"

namespace trainyard::train {
namespace {

// Of one channel.
struct ChannelSums {
  double values = 0;
  double squares = 0;
};

struct NormalizedLayer {
  std::vector<ChannelSums> channels;
  double count = 0;  // values of each channel
};

// Adds up what goes into the layers; there is nothing to score.
class LayerSums final : public Evaluator {
 public:
  explicit LayerSums(std::vector<NormalizedLayer>& layers) : layers_(layers) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    for (size_t i = 0; i < layers_.size(); ++i) add_layer(layers_[i], *outputs[i], batch.valid);
    images_ += batch.valid;
  }

  Evaluation result() const override {
    Evaluation result;
    result.images = images_;
    return result;
  }
  std::vector<double> sums() const override { return {}; }
  void set_sums(std::span<const double>) override {}

 private:
  static void add_layer(NormalizedLayer& layer, const Tensor& output, int64_t pictures) {
    const Shape& shape = output.shape();
    const auto plane = static_cast<size_t>(shape.num_elements() / (shape[0] * shape[1]));
    const float* value = output.values<float>().data();
    for (int64_t i = 0; i < pictures; ++i) {
      for (ChannelSums& channel : layer.channels) {
        for (size_t p = 0; p < plane; ++p, ++value) {
          const auto number = static_cast<double>(*value);
          channel.values += number;
          channel.squares += number * number;
        }
      }
    }
    layer.count += static_cast<double>(pictures) * static_cast<double>(plane);
  }

  std::vector<NormalizedLayer>& layers_;
  int64_t images_ = 0;
};

// Scale, shift, mean and variance, as the operator has them after its input.
constexpr size_t kParameters = 4;

void unfold(const Graph& model, const Node& node, const NormalizedLayer& layer,
            std::map<std::string, Tensor>& out) {
  const double epsilon = static_cast<double>(std::get<float>(node.attributes.at("epsilon")));
  std::vector<const Value*> values;
  std::vector<Tensor> changed;
  for (size_t i = 1; i <= kParameters; ++i) {
    values.push_back(&model.value(node.inputs[i]));
    TY_REQUIRE(values.back()->constant != nullptr, "'{}' has no numbers yet", values.back()->name);
    changed.push_back(values.back()->constant->clone());
  }
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    const auto number = [&](size_t i) -> float& { return changed[i].values<float>()[c]; };
    const double mean = layer.channels[c].values / layer.count;
    const double variance = std::max(0.0, layer.channels[c].squares / layer.count - mean * mean);
    const double slope =
        static_cast<double>(number(0)) / std::sqrt(static_cast<double>(number(3)) + epsilon);
    const double shift =
        static_cast<double>(number(1)) + slope * (mean - static_cast<double>(number(2)));
    number(0) = static_cast<float>(slope * std::sqrt(variance + epsilon));
    number(1) = static_cast<float>(shift);
    number(2) = static_cast<float>(mean);
    number(3) = static_cast<float>(variance);
  }
  for (size_t i = 0; i < kParameters; ++i) out.emplace(values[i]->name, std::move(changed[i]));
}

}  // namespace

std::map<std::string, Tensor> unfolded_normalization(const Graph& model, data::Loader& loader,
                                                     int threads) {
  std::vector<NodeId> nodes;
  std::vector<NormalizedLayer> layers;
  std::vector<ValueId> inputs;
  for (const NodeId id : model.node_ids()) {
    const Node& node = model.node(id);
    if (node.op != "BatchNormalization") continue;
    const auto channels = static_cast<size_t>(model.value(node.inputs[1]).type.shape[0]);
    nodes.push_back(id);
    inputs.push_back(node.inputs[0]);
    layers.push_back({.channels = std::vector<ChannelSums>(channels)});
  }
  TY_REQUIRE(!nodes.empty(), "{} has no normalization", model.name());
  evaluate(
      model, loader,
      [&](Graph& judged) {
        judged.set_outputs(inputs);
        return std::make_unique<LayerSums>(layers);
      },
      threads);
  std::map<std::string, Tensor> unfolded;
  for (size_t i = 0; i < nodes.size(); ++i)
    unfold(model, model.node(nodes[i]), layers[i], unfolded);
  return unfolded;
}

}  // namespace trainyard::train

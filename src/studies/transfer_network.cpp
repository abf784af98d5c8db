#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "ops/builder.h"
#include "studies/transfer.h"

namespace trainyard::recipes {
namespace {

constexpr const char* kLogits = "logits";

// The linear layer whose scores the first output is.
NodeId find_head(const Graph& graph) {
  TY_REQUIRE(!graph.outputs().empty(), "{} has no outputs", graph.name());
  NodeId id = graph.value(graph.outputs()[0]).producer;
  if (id.valid() && graph.node(id).op == "Softmax") {
    id = graph.value(graph.node(id).inputs[0]).producer;
  }
  TY_REQUIRE(
      id.valid() && graph.node(id).op == "Gemm",
      "{} ends in {}, expected a linear layer (Gemm) that could be replaced by one for other "
      "classes; take a network whose classifier ends in one, such as resnet18",
      graph.name(), id.valid() ? graph.node(id).op : "an input");
  const Shape& features = graph.value(graph.node(id).inputs[0]).type.shape;
  TY_REQUIRE(features.rank() == 2 && features.is_static(),
             "{}: the last layer reads {}, expected images x numbers", graph.name(),
             features.to_string());
  return id;
}

// Nodes whose results nobody reads any more, and their weights.
// From the end, since a node may lose its last reader on the way.
void drop_unused(Graph& graph) {
  const std::vector<NodeId> ids = graph.node_ids();
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const std::vector<ValueId> outputs = graph.node(*id).outputs;
    const bool used = std::any_of(outputs.begin(), outputs.end(), [&](ValueId value) {
      return value.valid() && (!graph.value(value).consumers.empty() || graph.is_output(value));
    });
    if (!used) graph.erase_node(*id);
  }
  for (const ValueId id : graph.initializers()) {
    if (graph.value(id).consumers.empty()) graph.erase_value(id);
  }
}

std::vector<std::vector<std::string>> layers_of(const Graph& graph,
                                                const std::string& head_weight) {
  std::vector<std::vector<std::string>> layers;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const bool begins = node.op == "Conv" || node.op == "Gemm" || node.op == "MatMul";
    if (!begins && node.op != "BatchNormalization") continue;
    // Scale and shift only; mean and variance are statistics, which are not trained.
    const size_t last = node.op == "BatchNormalization" ? 3 : node.inputs.size();
    std::vector<std::string> names;
    for (size_t i = 1; i < last; ++i) {
      const Value& value = graph.value(node.inputs[i]);
      if (value.kind == ValueKind::kInitializer) names.push_back(value.name);
    }
    // A node with computed operands alone, such as the products of attention, is no layer.
    if (names.empty() || names[0] == head_weight) continue;
    if (begins || layers.empty()) layers.emplace_back();
    layers.back().insert(layers.back().end(), names.begin(), names.end());
  }
  return layers;
}

}  // namespace

TransferNetwork replace_head(Graph graph, int64_t classes) {
  TY_REQUIRE(classes >= 2, "the target has {} classes, expected 2 or more", classes);
  const NodeId head = find_head(graph);
  const ValueId features = graph.node(head).inputs[0];
  const int64_t numbers = graph.value(features).type.shape[1];
  TransferNetwork network;
  network.features = graph.value(features).name;
  // The names may belong to a head of before, which is still there.
  network.head_weight = graph.unique_name("head.weight");
  network.head_bias = graph.unique_name("head.bias");
  ops::Builder builder(graph);
  // The rule of a fresh layer: the old head's weights mean other classes.
  const ValueId weight = builder.parameter(network.head_weight, {classes, numbers},
                                           init_xavier_uniform(numbers, classes));
  const ValueId bias = builder.parameter(network.head_bias, {classes}, init_constant(0));
  const ValueId logits = builder.add("Gemm", {features, weight, bias}, {{"transB", int64_t{1}}},
                                     graph.unique_name("head"));
  graph.set_outputs({logits});
  drop_unused(graph);
  // Unless something else is named so.
  if (!graph.find_value(kLogits).valid()) graph.rename_value(logits, kLogits);
  graph.sort();
  network.layers = layers_of(graph, network.head_weight);
  network.graph = std::move(graph);
  return network;
}

// Weights of what is dropped go too, so the key of cached features does not depend on the head.
Graph features_of(const TransferNetwork& network) {
  Graph graph = network.graph;
  graph.set_outputs({graph.find_value(network.features)});
  drop_unused(graph);
  return graph;
}

std::string TransferMode::text() const {
  if (kind == Kind::kPartial) return fmt::format("partial:{}", layers);
  return kind == Kind::kFinetune ? "finetune" : "features";
}

TransferMode parse_transfer_mode(const std::string& text) {
  constexpr std::string_view kPartial = "partial:";
  if (text == "finetune") return {TransferMode::Kind::kFinetune, 0};
  if (text == "features") return {TransferMode::Kind::kFeatures, 0};
  if (text.starts_with(kPartial)) {
    const auto layers = parse_number<int64_t>(std::string_view(text).substr(kPartial.size()));
    TY_REQUIRE(layers && *layers >= 1, "'{}': expected a number of layers from 1, as partial:3",
               text);
    return {TransferMode::Kind::kPartial, *layers};
  }
  const std::vector<std::string> names = {"finetune", "features", "partial:N"};
  throw_error("'{}' is no mode; expected finetune, features or partial:N.{}", text,
              did_you_mean(text, names));
}

std::vector<std::string> frozen_parameters(const TransferNetwork& network,
                                           const TransferMode& mode) {
  if (mode.kind == TransferMode::Kind::kFinetune) return {};
  const auto trained = static_cast<size_t>(mode.layers);
  TY_REQUIRE(trained < network.layers.size(),
             "{} would train all of the {} layers; that is finetune", mode.text(),
             network.layers.size());
  std::vector<std::string> frozen;
  for (size_t i = 0; i + trained < network.layers.size(); ++i) {
    frozen.insert(frozen.end(), network.layers[i].begin(), network.layers[i].end());
  }
  return frozen;
}

std::string discriminative_rates(const TransferNetwork& network, double factor) {
  if (factor == 1) return {};
  std::vector<std::string> shares;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    // The head has depth 0, so the layer next to it learns at `factor` of the rate.
    const auto depth = static_cast<double>(network.layers.size() - i);
    for (const std::string& name : network.layers[i]) {
      shares.push_back(fmt::format("{}={}", name, std::pow(factor, depth)));
    }
  }
  return join(shares, ",");
}

std::string fitting_steps(const data::Dataset& set, const Shape& input) {
  // Of the shorter side, the middle that is looked at: 224 of 256, as ImageNet's networks are used.
  constexpr double kMiddle = 0.875;
  const data::PictureShape& picture = set.shape();
  std::vector<std::string> steps;
  // Batch x channels x height x width.
  const int64_t channels = input[1];
  const int64_t height = input[2];
  const int64_t width = input[3];
  if (!picture.is_fixed()) {
    const auto side =
        static_cast<int64_t>(std::lround(static_cast<double>(std::max(height, width)) / kMiddle));
    steps.push_back(fmt::format("resize:{}", side));
    steps.push_back(fmt::format("center:{}x{}", height, width));
  } else if (picture.height != height || picture.width != width) {
    steps.push_back(fmt::format("resize:{}x{}", height, width));
  }
  if (picture.channels != channels) {
    TY_REQUIRE(channels == 1 || channels == 3,
               "the network takes {} channels, the pictures have {}", channels, picture.channels);
    steps.push_back(fmt::format("channels:{}", channels));
  }
  steps.emplace_back("normalize");
  return join(steps, ",");
}

}  // namespace trainyard::recipes

#include "rl/agents/q_network.h"

#include <cmath>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "models/network.h"
#include "ops/builder.h"

namespace trainyard::rl {
namespace {

// Uniform within 1 / sqrt(inputs), as the layers of PyTorch begin: small first values matter here,
// since targets are made of them.
InitRule by_inputs(int64_t inputs) {
  return {InitRule::Kind::kUniform, 1 / std::sqrt(static_cast<double>(inputs))};
}

class QNetworkMaker {
 public:
  QNetworkMaker(Graph& graph, const RlConfig& config, const EnvSpec& spec, int64_t batch)
      : builder_(graph), config_(config), spec_(spec), batch_(batch) {}

  void make() {
    std::vector<int64_t> dims = {batch_};
    dims.insert(dims.end(), spec_.shape.dims().begin(), spec_.shape.dims().end());
    ValueId x = builder_.input("observation", {DType::kF32, Shape(dims)});
    if (spec_.encoding == Encoding::kBytes) {
      x = builder_.add("Mul", {x, builder_.constant_scalar("scale", 1.0F / 255)}, {}, "scaled");
    }
    if (!spec_.reach.empty()) {
      Tensor factors(DType::kF32, Shape{static_cast<int64_t>(spec_.reach.size())});
      const std::span<float> to = factors.values<float>();
      for (size_t i = 0; i < to.size(); ++i) to[i] = 1 / spec_.reach[i];
      x = builder_.add("Mul", {x, builder_.constant("factors", std::move(factors))}, {}, "scaled");
    }
    if (spec_.shape.rank() == 3) x = convolved(x);
    const std::vector<int64_t> hidden = parse_hidden(config_.hidden);
    for (size_t i = 0; i < hidden.size(); ++i) {
      const std::string name = "fc" + std::to_string(i + 1);
      x = relu(linear(x, name, hidden[i]), name);
    }
    const ValueId q = config_.dueling ? dueling(x) : linear(x, "head", spec_.actions);
    builder_.graph().set_outputs({q});
    builder_.graph().rename_value(q, "q_values");
  }

 private:
  ValueId relu(ValueId x, const std::string& name) {
    return builder_.add("Relu", {x}, {}, name + ".relu");
  }

  ValueId linear(ValueId x, const std::string& name, int64_t units) {
    const int64_t inputs = builder_.shape(x)[1];
    const ValueId weight = builder_.parameter(name + ".weight", {units, inputs}, by_inputs(inputs));
    const ValueId bias = builder_.parameter(name + ".bias", {units}, by_inputs(inputs));
    return builder_.add("Gemm", {x, weight, bias}, {{"transB", int64_t{1}}}, name);
  }

  struct Filters {
    int64_t count, side, stride;
  };

  // Without padding.
  ValueId conv(ValueId x, const std::string& name, const Filters& filters) {
    const int64_t channels = builder_.shape(x)[1];
    const InitRule rule = by_inputs(channels * filters.side * filters.side);
    const ValueId weight = builder_.parameter(
        name + ".weight", {filters.count, channels, filters.side, filters.side}, rule);
    const ValueId bias = builder_.parameter(name + ".bias", {filters.count}, rule);
    const std::vector<int64_t> kernel = {filters.side, filters.side};
    const std::vector<int64_t> strides = {filters.stride, filters.stride};
    return relu(builder_.add("Conv", {x, weight, bias},
                             {{"kernel_shape", kernel}, {"strides", strides}}, name),
                name);
  }

  // Large pictures as Mnih et al. 2015 have it, small ones as Young and Tian 2019.
  ValueId convolved(ValueId x) {
    const int64_t side = std::min(spec_.shape[1], spec_.shape[2]);
    constexpr int64_t kLarge = 36;
    constexpr Filters kSmall{16, 3, 1};
    TY_REQUIRE(side >= kSmall.side, "`model` auto takes pictures of at least {}x{}, {} has {}",
               kSmall.side, kSmall.side, spec_.name, spec_.shape.to_string());
    if (side < kLarge) {
      x = conv(x, "conv", kSmall);
    } else {
      x = conv(x, "conv1", {32, 8, 4});
      x = conv(x, "conv2", {64, 4, 2});
      x = conv(x, "conv3", {64, 3, 1});
    }
    return builder_.add("Flatten", {x}, {}, "flatten");
  }

  // V + A - mean of A.
  ValueId dueling(ValueId x) {
    const ValueId value = linear(x, "value", 1);
    const ValueId advantage = linear(x, "advantage", spec_.actions);
    const std::vector<int64_t> axes = {1};
    const ValueId mean =
        builder_.add("ReduceMean", {advantage}, {{"axes", axes}}, "advantage.mean");
    return builder_.add("Sub", {builder_.add("Add", {value, advantage}, {}, "value.sum"), mean}, {},
                        "dueling");
  }

  ops::Builder builder_;
  const RlConfig& config_;
  const EnvSpec& spec_;
  int64_t batch_;
};

void require_fits(const Graph& graph, const RlConfig& config, const EnvSpec& spec, int64_t batch) {
  std::vector<int64_t> wanted = {batch};
  wanted.insert(wanted.end(), spec.shape.dims().begin(), spec.shape.dims().end());
  TY_REQUIRE(graph.inputs().size() == 1 && graph.outputs().size() == 1,
             "{} has {} inputs and {} outputs, expected one of each", config.model,
             graph.inputs().size(), graph.outputs().size());
  const TensorType& in = graph.value(graph.inputs()[0]).type;
  const TensorType expected_in{DType::kF32, Shape(wanted)};
  TY_REQUIRE(in == expected_in, "{} takes {}, an observation of {} is {}", config.model,
             in.to_string(), spec.name, expected_in.to_string());
  const TensorType& out = graph.value(graph.outputs()[0]).type;
  const TensorType expected_out{DType::kF32, Shape{batch, spec.actions}};
  TY_REQUIRE(out == expected_out, "{} gives {}, expected {}: a value for each of the {} actions",
             config.model, out.to_string(), expected_out.to_string(), spec.actions);
}

}  // namespace

std::vector<int64_t> parse_hidden(const std::string& text) {
  std::vector<int64_t> units;
  for (const std::string& part : split(text, ',')) {
    if (text.empty()) break;
    const auto count = parse_number<int64_t>(part);
    TY_REQUIRE(count && *count >= 1 && *count <= 65536,
               "hidden '{}': expected numbers of units such as 256,256", text);
    units.push_back(*count);
  }
  return units;
}

Graph make_q_network(const RlConfig& config, const EnvSpec& spec, int64_t batch) {
  if (config.model == "auto") {
    Graph graph("q-network");
    QNetworkMaker(graph, config, spec, batch).make();
    return graph;
  }
  network::Request request{.model = config.model, .batch = batch};
  if (!network::is_path(config.model)) request.classes = spec.actions;
  Graph graph = network::load(request);
  require_fits(graph, config, spec, batch);
  return graph;
}

}  // namespace trainyard::rl

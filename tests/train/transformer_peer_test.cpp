// Loss and gradients of tiny transformers against PyTorch's in float64
// (tools/make_transformer_fixture.py), on the reference kernels.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "models/zoo/model.h"
#include "ops/autodiff/differentiate.h"
#include "ops/passes/pass.h"
#include "train/objective.h"

namespace trainyard::train {
namespace {

constexpr double kPeerTolerance = 1e-9;

bool is_weight(const Graph& graph, ValueId id) {
  return graph.value(id).constant == nullptr;
}

// The numbers of the script: by the place of the name among all.
Tensor filled(const std::string& name, const Shape& shape, size_t place) {
  Tensor tensor(DType::kF64, shape);
  const bool scale = shape.rank() == 1 && name.ends_with(".weight");
  for (size_t i = 0; i < tensor.values<double>().size(); ++i) {
    const double angle = 1 + 0.37 * static_cast<double>(i) + 1.3 * static_cast<double>(place);
    tensor.values<double>()[i] = 0.2 * std::sin(angle) + (scale ? 1 : 0);
  }
  return tensor;
}

// All f32 become f64. Returns the weights by name.
std::map<std::string, ValueId> to_double(Graph& graph) {
  std::map<std::string, ValueId> weights;
  for (const ValueId id : graph.initializers()) {
    if (is_weight(graph, id)) weights[graph.value(id).name] = id;
  }
  for (size_t i = 0; i < graph.value_limit(); ++i) {
    Value& value = graph.mutable_value(ValueId{static_cast<int32_t>(i)});
    if (value.type.dtype != DType::kF32) continue;
    value.type.dtype = DType::kF64;
    if (value.constant) {
      value.constant = std::make_shared<const Tensor>(cast(*value.constant, DType::kF64));
    }
  }
  size_t place = 0;
  for (const auto& [name, id] : weights) {
    Value& value = graph.mutable_value(id);
    value.constant = std::make_shared<const Tensor>(filled(name, value.type.shape, place++));
  }
  return weights;
}

std::vector<int64_t> whole_numbers(const Json& list) {
  std::vector<int64_t> numbers;
  for (const Json& item : list.items()) numbers.push_back(item.as_int());
  return numbers;
}

struct Sums {
  double sum = 0;
  double squares = 0;
};
Sums sums_of(const Tensor& tensor) {
  Sums sums;
  for (const double g : tensor.values<double>()) {
    sums.sum += g;
    sums.squares += g * g;
  }
  return sums;
}

// With `fused`, experts are computed for the tokens that chose them alone.
void compare(const Json& peer, bool fused = false) {
  constexpr int64_t kPeerRows = 2;
  constexpr int64_t kLength = 6;
  const std::string model = peer.at("model").as_string();
  Graph graph =
      models::build_model(model, {.batch = kPeerRows,
                                  .length = kLength,
                                  .vocabulary = 11,
                                  .end_of_text = peer.at("end_of_text").as_int(),
                                  .sizes = {.layers = 2,
                                            .hidden = 8,
                                            .heads = 2,
                                            .kv_heads = model.starts_with("llama") ? 1 : 2,
                                            .inner = peer.at("inner").as_int(),
                                            .experts = model == "llama-moe" ? 4 : 0,
                                            .active = model == "llama-moe" ? 2 : 0},
                                  .token_scores = models::find_model(model)->has_token_scores,
                                  .auxiliary = models::find_model(model)->has_auxiliary});
  ops::Builder builder(graph);
  const std::vector<ValueId> heads(graph.outputs().begin(), graph.outputs().end());
  const ObjectiveNodes made =
      make_objective(kNextToken, {.auxiliary_weight = 0.01})(builder, heads);
  const std::map<std::string, ValueId> weights = to_double(graph);
  if (fused) {
    for (const passes::Pass& pass : passes::before_gradients_passes().passes) pass.run(graph, {});
    int64_t found = 0;
    for (const NodeId id : graph.node_ids()) found += graph.node(id).op == "GatedExperts" ? 1 : 0;
    EXPECT_EQ(found, 2);
  }
  std::vector<ValueId> wanted;
  for (const auto& [name, id] : weights) wanted.push_back(id);
  std::vector<ValueId> outputs = {made.loss};
  for (const ValueId id : autodiff::differentiate(graph, made.loss, wanted)) outputs.push_back(id);
  graph.set_outputs(outputs);
  graph.sort();
  runtime::CompileOptions options;
  options.threads = 1;
  options.reference_only = true;
  runtime::ExecutionContext context(runtime::compile(std::move(graph), options));
  const std::vector<Tensor> inputs = [&] {
    std::vector<Tensor> both;
    both.push_back(Tensor::of<int64_t>({kPeerRows, kLength}, whole_numbers(peer.at("tokens"))));
    both.push_back(Tensor::of<int64_t>({kPeerRows, kLength}, whole_numbers(peer.at("wanted"))));
    return both;
  }();
  const std::vector<Tensor> results = runtime::run_once(context, inputs);
  EXPECT_NEAR(element_as_double(results[0], 0), peer.at("loss").as_number(), kPeerTolerance);
  ASSERT_EQ(weights.size(), peer.at("gradients").members().size());
  size_t next = 1;
  for (const auto& [name, id] : weights) {
    const Tensor& gradient = results[next++];
    const Json& figures = peer.at("gradients").at(name);
    const Sums sums = sums_of(gradient);
    EXPECT_NEAR(sums.sum, figures.items()[0].as_number(), kPeerTolerance) << name;
    EXPECT_NEAR(sums.squares, figures.items()[1].as_number(), kPeerTolerance) << name;
    EXPECT_NEAR(element_as_double(gradient, 0), figures.items()[2].as_number(), kPeerTolerance)
        << name;
    EXPECT_NEAR(element_as_double(gradient, 1), figures.items()[3].as_number(), kPeerTolerance)
        << name;
  }
}

TEST(TransformerPeer, LossAndGradientsAreThoseOfPyTorch) {
  const std::string path = std::string(TY_TRAIN_DIR) + "/transformers.json";
  const Json peer = Json::parse(read_file(path), path);
  for (const Json& one : peer.at("cases").items()) {
    SCOPED_TRACE(one.at("model").as_string());
    compare(one);
    if (one.at("model").as_string() == "llama-moe") compare(one, /*fused=*/true);
  }
}

}  // namespace
}  // namespace trainyard::train

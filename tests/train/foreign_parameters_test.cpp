// What training changes in a network whose file does not say what its weights are.
#include <gtest/gtest.h>

#include "analysis/parameters.h"
#include "engine/bench.h"
#include "models/zoo/model.h"
#include "ops/builder.h"
#include "train/run_training.h"
#include "train/training_step.h"

namespace trainyard::train {
namespace {

ValueId some(ops::Builder& b, const std::string& name, Shape shape, uint64_t seed) {
  Tensor data(DType::kF32, std::move(shape));
  runtime::fill_random(data, seed);
  return b.constant(name, std::move(data));
}

// Patches with a class token before them and their positions, as exporters write it.
Graph small_transformer() {
  Graph graph;
  ops::Builder b(graph);
  ValueId x = b.input("x", {DType::kF32, {2, 3, 4}});
  x = b.add("Sub", {x, some(b, "mean", {4}, 1)});
  x = b.add("MatMul", {x, some(b, "patch.weight", {4, 6}, 2)});
  const int64_t rows[] = {2, 1, 6};
  const ValueId token =
      b.add("Expand", {some(b, "token", {1, 1, 6}, 3), b.constant_ints("rows", rows)});
  x = b.add("Concat", {token, x}, {{"axis", int64_t{1}}});
  x = b.add("Add", {x, some(b, "positions", {1, 4, 6}, 4)});
  x = b.add("Mul", {x, b.constant_scalar("half", 0.5F)});
  const int64_t flat[] = {2, 24};
  x = b.add("Reshape", {x, b.constant_ints("flat", flat)});
  graph.set_outputs({b.add("MatMul", {x, some(b, "head.weight", {24, 3}, 5)})});
  return graph;
}

TEST(ForeignParameters, TokensAndPositionsAreTrained) {
  const Graph graph = small_transformer();
  StepOptions options;
  options.threads = 1;
  TrainingStep step(graph, options);
  runtime::fill_random(step.input(0), 7);
  for (int64_t& label : step.input(kLabelsInput).values<int64_t>()) label = 1;
  step.run(0.1);
  std::vector<std::string> trained;
  for (size_t i = 0; i < step.num_parameters(); ++i) {
    trained.push_back(step.states()[i].name);
    const Tensor now = step.state(i);
    const Tensor& before = *graph.value(graph.find_value(trained.back())).constant;
    EXPECT_FALSE(std::equal(now.values<float>().begin(), now.values<float>().end(),
                            before.values<float>().begin()))
        << trained.back();
  }
  EXPECT_EQ(trained,
            (std::vector<std::string>{"patch.weight", "token", "positions", "head.weight"}));
  EXPECT_EQ(untrained_note(graph), "not trained, as constants and no weights: 'mean' f32[4]");
}

// The zoo's own parameters are those that its operators name, and no others.
TEST(ForeignParameters, OfTheZooAreThoseOfTheirOperators) {
  for (const models::ModelDef* def : models::all_models()) {
    const std::string name(def->name);
    const Graph graph = models::build_model(name, {});
    std::vector<std::string> named;
    for (const NodeId id : graph.node_ids()) {
      const NodeView node(graph, id);
      const ops::OpDef& op = ops::op_of(node);
      for (size_t i = 0; i < node.num_inputs(); ++i) {
        const ops::ParamRole role = ops::param_role(op, i);
        if (role != ops::ParamRole::kWeight && role != ops::ParamRole::kBias) continue;
        if (!node.has_input(i) || node.input_value(i).kind != ValueKind::kInitializer) continue;
        if (!is_float(node.input_type(i).dtype)) continue;
        // Single numbers are settings of a formula, such as the factor of a loss.
        if (node.input_type(i).shape.num_elements() == 1) continue;
        if (std::find(named.begin(), named.end(), node.input_value(i).name) == named.end()) {
          named.push_back(node.input_value(i).name);
        }
      }
    }
    std::vector<std::string> found;
    for (const analysis::Parameter& p : analysis::find_parameters(graph)) {
      if (p.trainable()) found.push_back(graph.value(p.value).name);
    }
    EXPECT_EQ(found, named) << name;
  }
}

}  // namespace
}  // namespace trainyard::train

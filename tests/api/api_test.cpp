// The public face as a program uses it.
#include <algorithm>
#include <array>
#include <fstream>

#include <gtest/gtest.h>

#include "api/prediction/prediction.h"
#include "api/session.h"
#include "api/training/training.h"
#include "base/error.h"

namespace trainyard::api {
namespace {

namespace fs = std::filesystem;

const TensorType kUnknown{DType::kF32, Shape({-1})};

// y = |x| + x, with the types of results left open.
Graph twice_positive() {
  Graph graph("twice_positive");
  const ValueId x = graph.add_input("x", {DType::kF32, Shape({3})});
  const std::array<std::string, 1> size = {"size"};
  const std::array<std::string, 1> sum = {"sum"};
  const std::array types = {kUnknown};
  const NodeId abs = graph.add_node("abs", "Abs", {x}, {}, size, types);
  const NodeId add = graph.add_node("add", "Add", {graph.node(abs).outputs[0], x}, {}, sum, types);
  graph.set_outputs({graph.node(add).outputs[0]});
  return graph;
}

TEST(Model, TakesGraphsThatProgramsBuild) {
  Session session(Model(twice_positive()), 1);
  EXPECT_EQ(session.outputs()[0].type.shape, Shape({3}));
  Tensor x(TensorType{DType::kF32, Shape({3})});
  std::ranges::copy(std::array{-1.F, 2.F, 0.5F}, x.values<float>().begin());
  session.run(std::span(&x, 1));
  const auto y = session.output(0).values<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{0, 4, 1}));
}

TEST(Model, RefusesGraphsThatAreWrong) {
  Graph graph = twice_positive();
  graph.add_input("x2", {DType::kF32, Shape({4})});
  const NodeId add = graph.find_node("add");
  graph.set_node_input(add, 1, graph.find_value("x2"));
  EXPECT_THROW(Model{std::move(graph)}, Error);
}

TEST(Model, OfAGraphHasItsShapesAlone) {
  const Model model(twice_positive());
  EXPECT_THROW(model.with_shapes({{"x", Shape({5})}}), Error);
  Session session(model, 1);
  const Tensor longer(TensorType{DType::kF32, Shape({5})});
  EXPECT_THROW(session.run(std::span(&longer, 1)), Error);
}

TEST(Model, IsSavedAndComesBackTheSame) {
  const fs::path file = fs::path(testing::TempDir()) / "api_lenet5.onnx";
  const Model model("lenet5");
  model.save(file);
  EXPECT_TRUE(check_model_file(file).empty());
  int64_t here = 0;
  int64_t there = 0;
  for (const LayerCost& layer : model.layers()) here += layer.parameters;
  for (const LayerCost& layer : Model(file.string()).layers()) there += layer.parameters;
  EXPECT_EQ(here, 61'706);
  EXPECT_EQ(there, here);
  const auto names = model_names();
  EXPECT_NE(std::ranges::find(names, "lenet5"), names.end());
}

TEST(TrainingStep, LowersTheLossOfOneBatch) {
  TrainingStep step(Model("lenet5", {.batch = 4}), {.threads = 1});
  std::ranges::fill(step.input("image").values<float>(), 0.25F);
  const Port target = step.inputs().back();
  Tensor& classes = step.input(target.name);
  for (int64_t& one : classes.values<int64_t>()) one = 3;
  step.run(0.1);
  const double before = step.loss();
  for (int i = 0; i < 5; ++i) step.run(0.1);
  EXPECT_LT(step.loss(), before);
  EXPECT_THROW(step.input("nobody"), Error);
  EXPECT_THROW(step.state(step.states().size()), Error);
}

constexpr const char* kSettings =
    "model: lenet5\ndata: \"synthetic:1x28x28,classes=4,size=32\"\nepochs: 2\nbatch: 8\nthreads: "
    "1\n";

TEST(Train, LeavesARunAndResumesOneThatStopped) {
  const fs::path folder = fs::path(testing::TempDir()) / "api_run";
  fs::remove_all(folder);
  int64_t steps = 0;
  const TrainingHooks stop{.on_step = [&](int64_t, double) { ++steps; },
                           .should_stop = [&] { return steps >= 2; }};
  EXPECT_TRUE(train(kSettings, folder, stop).interrupted);
  const TrainingSummary summary = train(kSettings, folder);
  EXPECT_FALSE(summary.interrupted);
  EXPECT_EQ(summary.steps, 8);
  EXPECT_TRUE(summary.test_scores.contains("top1"));
  EXPECT_TRUE(fs::exists(folder / "model.onnx"));
}

TEST(Train, KeepsFoldersThatAreNoRuns) {
  const fs::path folder = fs::path(testing::TempDir()) / "api_no_run";
  fs::create_directories(folder);
  std::ofstream(folder / "letter.txt") << "dear";
  EXPECT_THROW(train(kSettings, folder), Error);
  EXPECT_TRUE(fs::exists(folder / "letter.txt"));
  EXPECT_THROW(train("workers: 2\n", fs::path(testing::TempDir()) / "api_two"), Error);
  EXPECT_THROW(train("no_such_setting: 2\n", fs::path(testing::TempDir()) / "api_typo"), Error);
}

TEST(Predict, MoreWorkersAreFasterTogetherAndUnknownDevicesAreRefused) {
  const auto rows = predict(Model("resnet50"), {.device = "a100", .batch = 64, .workers = {1, 8}});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_GT(rows[1].images_per_s, 4 * rows[0].images_per_s);
  EXPECT_GT(rows[1].exposed_communication_s, 0);
  EXPECT_THROW(predict(Model("lenet5"), {.device = "a1000"}), Error);
}

}  // namespace
}  // namespace trainyard::api

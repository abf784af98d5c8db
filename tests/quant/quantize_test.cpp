#include "quant/quantize.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/network.h"
#include "quant/layer_time.h"
#include "support/error_message.h"

namespace trainyard::quant {
namespace {

// A network of the zoo beside made-up pictures.
struct Bench {
  explicit Bench(int64_t batch = 4, const std::string& model = "lenet5",
                 const std::string& data = "synthetic:1x28x28,classes=10,size=24")
      : set(data::open_dataset(data, data::Split::kTrain)),
        loader(*set, {.batch = batch, .workers = 0, .augmentations = "normalize"}),
        graph(network::load({.model = model, .batch = batch, .image = set->shape().height})) {}

  Quantized run(Settings settings) {
    settings.threads = 1;
    settings.calibration_images = 10;
    settings.test_images = 12;
    return quantize(graph, settings, {&loader, &loader, set->num_classes()},
                    [](double, std::string_view) {});
  }

  void fill(const std::string& name, float value) {
    const ValueId id = graph.find_value(name);
    ASSERT_TRUE(id.valid()) << name;
    Tensor data(DType::kF32, graph.value(id).type.shape);
    for (float& x : data.values<float>()) x = value;
    graph.mutable_value(id).constant = std::make_shared<const Tensor>(std::move(data));
  }
  std::string weights_of(size_t layer) const {
    const Plan plan = make_plan(prepare(graph, 0).graph, {});
    const NodeId node = graph.find_node(prepare(graph, 0).graph.node(plan.layers[layer]).name);
    return graph.value(graph.node(node).inputs[1]).name;
  }

  std::unique_ptr<data::Dataset> set;
  data::Loader loader;
  Graph graph;
};

TEST(Quantize, ScalesDoNotDependOnTheBatch) {
  std::vector<std::vector<double>> scales;
  for (const int64_t batch : {1, 4, 5}) {
    Bench bench(batch);
    scales.emplace_back();
    for (const LayerResult& layer : bench.run({}).result.layers) {
      scales.back().push_back(layer.input_scale);
      scales.back().push_back(layer.input.sigma);
    }
  }
  // The numbers themselves may differ by the rounding of another kernel.
  for (size_t i = 0; i < scales[0].size(); ++i) {
    EXPECT_NEAR(scales[1][i], scales[0][i], 1e-5 * scales[0][i]) << i;
    EXPECT_NEAR(scales[2][i], scales[0][i], 1e-5 * scales[0][i]) << i;
  }
}

TEST(Quantize, TellsLayersStepsAndBits) {
  Bench bench;
  Settings settings;
  settings.parts = true;
  settings.sensitivity = true;
  settings.study_bits = {8, 2};
  settings.histograms = true;
  settings.correct_biases = true;
  const QuantizeResult result = bench.run(settings).result;
  EXPECT_EQ(result.calibration_images, 10);
  EXPECT_EQ(result.test_images, 12);
  ASSERT_EQ(result.layers.size(), 5U);
  for (const LayerResult& layer : result.layers) {
    EXPECT_FALSE(layer.kept_float) << layer.name;
    EXPECT_GT(layer.weight_sqnr_db, 30) << layer.name;
    EXPECT_GT(layer.activation_sqnr_db, 25) << layer.name;
    EXPECT_GT(layer.sensitivity.value_or(0), 0) << layer.name;
    EXPECT_EQ(layer.weights.bars.counts.size(), 64U);
    EXPECT_EQ(layer.input.saturated, 0) << layer.name;
    // What flows out is counted before a Relu cuts off its negative half.
    EXPECT_LT(layer.output.min, 0) << layer.name;
    EXPECT_EQ(layer.output.bars.counts.size(), 64U);
    EXPECT_LT(layer.weights.beyond, 0.02) << layer.name;
  }
  ASSERT_EQ(result.steps.size(), 7U);
  EXPECT_EQ(result.steps[0].what, "float");
  EXPECT_EQ(result.steps.back().what, "int8");
  EXPECT_GT(*result.steps.back().output_sqnr_db, 20);
  // Rounding biases as well is another network.
  EXPECT_EQ(result.steps[3].what, "weights and activations");
  EXPECT_EQ(result.steps[4].what, "weights, activations and biases");
  EXPECT_NE(*result.steps[3].output_sqnr_db, *result.steps[4].output_sqnr_db);
  ASSERT_EQ(result.bits.size(), 4U);
  EXPECT_GT(*result.bits[1].output_sqnr_db, *result.bits[3].output_sqnr_db + 10);
}

TEST(Quantize, KeepsNamedLayersInFloat) {
  Bench bench;
  Settings settings;
  settings.keep_float = {"conv*"};
  const QuantizeResult result = bench.run(settings).result;
  EXPECT_TRUE(result.layers[0].kept_float);
  EXPECT_EQ(result.layers[0].reason, "asked for");
  EXPECT_FALSE(result.layers.back().kept_float);
  settings.keep_float = {"fcc1"};
  EXPECT_NE(message_of([&] { bench.run(settings); }).find("Did you mean"), std::string::npos);
}

// Which layers are slower depends on the machine, but every choice must follow from its times.
TEST(Quantize, KeepsInFloatWhatIsFasterThereBetweenInt8Layers) {
  const Bench bench;
  const Graph graph = prepare(bench.graph, 0).graph;
  const Plan plan = make_plan(graph, {});
  const auto times = time_layers(graph, plan, {}, /*threads=*/1, /*seconds=*/0.001);
  ASSERT_EQ(times.size(), plan.layers.size());
  for (const auto& [id, time] : times) {
    const std::string& name = graph.node(id).name;
    EXPECT_GT(time.float_s, 0) << name;
    EXPECT_GT(time.int8_s, 0) << name;
    EXPECT_GT(time.between_s, 0) << name;
  }
  Settings settings;
  settings.keep_slow_layers = true;
  const QuantizeResult result = Bench().run(settings).result;
  for (const LayerResult& layer : result.layers) {
    EXPECT_GT(layer.predicted_int8_us, 0) << layer.name;
    EXPECT_EQ(layer.kept_float, layer.reason.starts_with("predicted slower in int8")) << layer.name;
  }
}

TEST(Quantize, HoldsTheAccuracyOrKeepsEverythingInFloat) {
  Bench bench;
  Settings settings;
  settings.sensitivity = true;
  settings.max_drop = 0;
  // Two bits lose pictures of a network that has learned nothing, so layers have to stay.
  settings.weight_bits = 2;
  settings.activations.bits = 2;
  const QuantizeResult result = bench.run(settings).result;
  EXPECT_GE(*result.after.top1, *result.before.top1);
  for (const LayerResult& layer : result.layers) EXPECT_EQ(layer.kept_float, !layer.reason.empty());
}

TEST(Quantize, NetworksOfDepthwiseLayersAreEqualized) {
  Bench bench(2, "mobilenet_v2", "synthetic:3x32x32,classes=4,size=4");
  Settings settings;
  settings.equalize = true;
  settings.per_channel = false;
  const QuantizeResult result = bench.run(settings).result;
  ASSERT_FALSE(result.notices.empty());
  EXPECT_NE(result.notices[0].find("Relu"), std::string::npos);
}

TEST(Quantize, WeightsThatAreAllZeroWork) {
  Bench bench;
  bench.fill(bench.weights_of(1), 0.0F);
  const QuantizeResult result = bench.run({}).result;
  // What follows sees one number, and says so.
  EXPECT_GT(result.layers[1].largest_scale, 0);
  EXPECT_FALSE(result.notices.empty());
}

TEST(Quantize, WeightsThatAreNoNumbersAreNamed) {
  Bench bench;
  bench.fill(bench.weights_of(1), std::nanf(""));
  const std::string message = message_of([&] { bench.run({}); });
  EXPECT_NE(message.find("NaN or infinite"), std::string::npos) << message;
}

TEST(Quantize, NetworksWithoutLayersAreRefused) {
  Bench bench;
  Graph graph("empty");
  const ValueId x = graph.add_input("x", {DType::kF32, {4, 1, 28, 28}});
  graph.set_outputs({x});
  EXPECT_NE(message_of([&] {
              quantize(graph, {}, {}, [](double, std::string_view) {});
            }).find("nothing to quantize"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::quant

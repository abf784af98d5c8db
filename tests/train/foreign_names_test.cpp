// A network from elsewhere may call its nodes, inputs and weights what we call ours: nothing in
// training may be found by such a name.
#include <gtest/gtest.h>

#include "dist/threads.h"
#include "engine/bench.h"
#include "models/network.h"
#include "models/onnx/export.h"
#include "ops/builder.h"
#include "support/temporary_folder.h"
#include "train/servers/parameter_training.h"
#include "train/trainer.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

constexpr int64_t kForeignClasses = 4;

struct Names {
  std::string input, conv, weight, bias, norm, scale, shift, mean, variance, relu, flat, ratio,
      dropped, head, head_weight, head_bias;
};

const Names kInnocent = {.input = "picture",
                         .conv = "a",
                         .weight = "a_weight",
                         .bias = "a_bias",
                         .norm = "b",
                         .scale = "b_scale",
                         .shift = "b_shift",
                         .mean = "b_mean",
                         .variance = "b_variance",
                         .relu = "c",
                         .flat = "d",
                         .ratio = "e_ratio",
                         .dropped = "e",
                         .head = "f",
                         .head_weight = "f_weight",
                         .head_bias = "f_bias"};

const Names kOurs = {.input = "labels",
                     .conv = "update.momentum",
                     .weight = "learning_rate",
                     .bias = "updates",
                     .norm = "grad.labels",
                     .scale = "step",
                     .shift = "continues",
                     .mean = "optimizer.momentum.learning_rate",
                     .variance = "optimizer.mean.step",
                     .relu = "loss",
                     .flat = "grad.loss",
                     .ratio = "share",
                     .dropped = "loss.mul",
                     .head = "targets",
                     .head_weight = "optimizer.accumulated.updates",
                     .head_bias = "correct"};

// The masks of dropout are drawn by the name of its node, so that one has the same name in both:
// the name that training gives to a node of its own.
constexpr const char* kDropoutNode = "a.training";

ValueId numbers(ops::Builder& b, const std::string& name, Shape shape, uint64_t seed) {
  Tensor data(DType::kF32, std::move(shape));
  runtime::fill_random(data, seed);
  for (float& value : data.values<float>()) value *= 0.2F;
  return b.constant(name, std::move(data));
}

Graph foreign_network(const Names& names, double dropout) {
  Graph graph;
  ops::Builder b(graph);
  const auto filled = [&](const std::string& name, int64_t size, float value) {
    Tensor data(DType::kF32, Shape{size});
    for (float& number : data.values<float>()) number = value;
    return b.constant(name, std::move(data));
  };
  constexpr int64_t kChannels = 4;
  ValueId x = b.input(names.input, {DType::kF32, {1, 1, 8, 8}});
  x = b.add("Conv",
            {x, numbers(b, names.weight, {kChannels, 1, 3, 3}, 1),
             numbers(b, names.bias, {kChannels}, 2)},
            {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"strides", std::vector<int64_t>{2, 2}}},
            names.conv);
  x = b.add("BatchNormalization",
            {x, filled(names.scale, kChannels, 1), filled(names.shift, kChannels, 0),
             filled(names.mean, kChannels, 0), filled(names.variance, kChannels, 1)},
            {{"epsilon", 1e-5F}, {"momentum", 0.9F}}, names.norm);
  x = b.add("Relu", {x}, {}, names.relu);
  x = b.add("Flatten", {x}, {{"axis", int64_t{1}}}, names.flat);
  if (dropout > 0) {
    const ValueId ratio = b.constant_scalar(names.ratio, static_cast<float>(dropout));
    x = b.add("Dropout", {x, ratio}, {}, kDropoutNode);
    graph.rename_value(x, names.dropped);
  }
  x = b.add("Gemm",
            {x, numbers(b, names.head_weight, {kForeignClasses, b.shape(x)[1]}, 3),
             numbers(b, names.head_bias, {kForeignClasses}, 4)},
            {{"transB", int64_t{1}}}, names.head);
  graph.set_outputs({x});
  return graph;
}

struct ForeignCase {
  const char* optimizer;
  double dropout;
  int64_t accumulate;
  int64_t workers;
  int64_t servers;
};

// The losses of all steps, then the scores of the test.
std::vector<double> losses_of(const Names& names, const ForeignCase& c) {
  const TemporaryFolder folder("foreign_names");
  const std::filesystem::path file = folder.path() / "network.onnx";
  onnx_io::ExportOptions options;
  options.batch_name = "batch";
  onnx_io::export_model(foreign_network(names, c.dropout), file, options);
  TrainConfig config;
  config.model = file.string();
  config.data = "synthetic:1x8x8,classes=4,size=64";
  config.augment = "normalize";
  config.epochs = 3;
  config.batch = 16;
  config.threads = 1;
  config.stall_warning = 0;
  config.learning_rate = 0.02;
  config.optimizer = c.optimizer;
  config.accumulate = c.accumulate;
  config.workers = c.workers;
  config.servers = c.servers;
  check(config);
  const auto training = data::open_dataset(config.data, data::Split::kTrain);
  const auto test = data::open_dataset(config.data, data::Split::kTest);
  const auto directory = runs::RunDirectory::create(folder.path(), "run", "network", "synthetic");
  std::vector<double> losses;
  dist::run_in_threads({.ranks = c.workers + c.servers}, [&](dist::Communicator& comm) {
    const Graph model = network::load(
        {.model = config.model, .batch = own_batch(config, {.rank = 0, .workers = c.workers})});
    const bool leads = comm.rank() == 0;
    TrainHooks hooks;
    if (leads) hooks.on_step = [&](const StepReport& r) { losses.push_back(r.step_loss); };
    const runs::RunDirectory* own = leads ? &directory : nullptr;
    const TrainResult result =
        c.servers > 0
            ? train_with_servers(comm, config, model, *training, *test, own, hooks).training
            : Trainer(config, model, *training, *test, comm).run(own, hooks);
    if (!leads) return;
    for (const Score& score : result.epochs.back().test.scores) losses.push_back(score.value);
  });
  return losses;
}

TEST(ForeignNames, TrainAsAnyOthers) {
  for (const ForeignCase& c : {ForeignCase{"sgd", 0, 1, 1, 0}, ForeignCase{"sgd", 0, 2, 1, 0},
                               ForeignCase{"sgd", 0, 1, 2, 0}, ForeignCase{"sgd", 0, 2, 2, 0},
                               ForeignCase{"adam", 0.5, 1, 1, 0}, ForeignCase{"adam", 0.5, 2, 1, 0},
                               ForeignCase{"adam", 0.5, 1, 2, 0}, ForeignCase{"adam", 0.5, 2, 2, 0},
                               ForeignCase{"adam", 0.5, 1, 1, 1}}) {
    const std::string name =
        fmt::format("{}, dropout {}, accumulate {}, {} workers, {} servers", c.optimizer, c.dropout,
                    c.accumulate, c.workers, c.servers);
    const std::vector<double> innocent = losses_of(kInnocent, c);
    ASSERT_GE(innocent.size(), 12U) << name;
    EXPECT_EQ(losses_of(kOurs, c), innocent) << name;
    EXPECT_NE(innocent[0], innocent[innocent.size() / 2]) << name;
  }
}

}  // namespace
}  // namespace trainyard::train

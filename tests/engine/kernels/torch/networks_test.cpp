// Networks computed by libtorch on the processors, beside our own engine.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/device/device_list.h"
#include "engine/host_nodes.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

// Relative to the largest output.
constexpr double kTorchTolerance = 1e-4;

std::vector<std::vector<float>> outputs_on(Graph graph,
                                           const std::shared_ptr<device::Device>& device) {
  CompileOptions options;
  options.threads = 1;
  options.device = device;
  const Executable executable = compile(std::move(graph), options);
  ExecutionContext context(executable);
  fill_inputs(context, executable, /*seed=*/7);
  // The second run finds what the first left behind.
  context.run();
  context.run();
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < context.num_outputs(); ++i) {
    const auto values = context.output(i).values<float>();
    all.emplace_back(values.begin(), values.end());
  }
  return all;
}

double relative_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  double largest = 0;
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]}));
    const double apart = std::abs(double{found[i]} - double{expected[i]});
    worst = apart <= worst ? worst : std::isnan(apart) ? HUGE_VAL : apart;
  }
  return worst / largest;
}

struct SmallNetwork {
  const char* name;
  models::ModelOptions options = {};
};

class TorchNetworks : public testing::TestWithParam<SmallNetwork> {};

TEST_P(TorchNetworks, GiveWhatOurEngineGives) {
  const auto device = device::open_device("torch:cpu");
  const auto expected =
      outputs_on(models::build_model(GetParam().name, GetParam().options), nullptr);
  const auto found = outputs_on(models::build_model(GetParam().name, GetParam().options), device);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    EXPECT_LT(relative_difference(found[i], expected[i]), kTorchTolerance) << "output " << i;
  }
}

TEST_P(TorchNetworks, LeaveNothingToTheProcessors) {
  CompileOptions options;
  options.device = device::open_device("torch:cpu");
  const Executable executable =
      compile(models::build_model(GetParam().name, GetParam().options), options);
  EXPECT_EQ(host_nodes_text(executable), "");
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, TorchNetworks,
    testing::Values(SmallNetwork{"mlp", {.batch = 3}}, SmallNetwork{"lenet5", {.batch = 2}},
                    SmallNetwork{"resnet20-cifar", {.batch = 2}},
                    SmallNetwork{"squeezenet1_0", {.image = 64}},
                    SmallNetwork{"mobilenet_v3_small", {.image = 64}},
                    SmallNetwork{"shufflenet_v2", {.image = 64}},
                    SmallNetwork{"efficientnet_b0", {.image = 64}},
                    SmallNetwork{"googlenet", {.image = 64}},
                    SmallNetwork{"ssd300-mobilenet_v1-lite", {}}, SmallNetwork{"dqn-nature", {}}),
    [](const testing::TestParamInfo<SmallNetwork>& network) {
      std::string name = network.param.name;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

// What libtorch has no form for runs here, and somebody is told.
TEST(TorchFallback, IsNamedAndGivesTheSame) {
  const auto make = [] {
    Graph graph;
    ops::Builder b(graph);
    const ValueId x = b.input("x", {DType::kF32, {2, 6}});
    const ValueId hard = b.add("Hardmax", {b.add("Relu", {x})});
    graph.set_outputs({b.add("Add", {hard, x})});
    return graph;
  };
  const auto device = device::open_device("torch:cpu");
  EXPECT_EQ(outputs_on(make(), device), outputs_on(make(), nullptr));
  CompileOptions options;
  options.device = device;
  const std::vector<HostNodes> left = nodes_left_to_host(compile(make(), options));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].op, "Hardmax");
  EXPECT_EQ(left[0].reason, "it has no such kernel");
  EXPECT_NE(host_nodes_text(compile(make(), options)).find("torch:cpu: Hardmax (1"),
            std::string::npos);
}

// What libtorch throws comes out as a failure that names the node.
TEST(TorchFailure, NamesNodeAndReason) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId table = b.input("table", {DType::kF32, {4, 2}});
  const ValueId picks = b.input("picks", {DType::kI64, {3}});
  graph.set_outputs(b.add_multi("Gather", {table, picks}, 1, {}, "pick"));
  CompileOptions options;
  options.device = device::open_device("torch:cpu");
  ExecutionContext context(compile(std::move(graph), options));
  context.input(1).values<int64_t>()[1] = 99;
  try {
    context.run();
    FAIL() << "row 99 of 4";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string_view(failure.what()).find("'pick' (Gather)"), std::string_view::npos)
        << failure.what();
  }
}

// bf16 has 8 bits: results differ from f32's, and by no more than such products may.
TEST(TorchPrecisions, RoundProducts) {
  const auto make = [] { return models::build_model("lenet5", {.batch = 2}); };
  const auto full = outputs_on(make(), device::open_device("torch:cpu,f32"));
  const auto rounded = outputs_on(make(), device::open_device("torch:cpu,bf16"));
  const double apart = relative_difference(rounded[0], full[0]);
  EXPECT_GT(apart, 1e-4);
  EXPECT_LT(apart, 3e-2);
}

TEST(TorchPrecisions, AreRefusedWhereTheyAreNone) {
  EXPECT_THROW(device::open_device("torch:cpu,tf32"), Failure);  // of NVIDIA's GPUs alone
  EXPECT_THROW(device::open_device("torch:cpu,f8"), Error);
}

TEST(TorchDevices, AreListed) {
  const device::DeviceList list = device::list_devices();
  EXPECT_EQ(list.torch_missing, "");
  const auto found = device::find_devices(list, "torch:cpu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(list.devices[found[0]].name, "torch:cpu");
  EXPECT_NE(list.devices[found[0]].platform.find("libtorch"), std::string::npos);
  EXPECT_GT(list.devices[found[0]].memory_bytes, 0);
  try {
    device::find_devices(list, "torch:tpu");
    FAIL() << "found torch:tpu";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("libtorch finds no other"),
              std::string_view::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace trainyard::runtime

#include "cluster/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/predict/exchange.h"
#include "cluster/predict/peak.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::predict {
namespace {

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::built_in();
  return kCatalog;
}

const Network& network(const std::string& name) {
  static Networks networks([](const std::string& wanted) { return models::build_model(wanted); });
  return networks.get(name);
}

Request request(const std::string& name, const std::string& device) {
  Request request;
  request.network = &network(name);
  request.device = &catalog().device(device);
  request.stack = &catalog().default_stack(*request.device);
  request.cluster.inside = catalog().link(request.device->inside);
  request.cluster.between = catalog().link("25gbe");
  request.cluster.comm = &find_comm_model("ring");
  request.dataset_images = 1e6;
  request.usd_per_hour = 1;
  request.percent = {0.62, 0.72};
  return request;
}

TEST(Profile, CountsWhatTheNetworkHolds) {
  const NetworkProfile& profile = network("vgg16").profile;
  EXPECT_EQ(profile.parameters, 138357544);
  EXPECT_EQ(profile.input, 3 * 224 * 224);
  EXPECT_FALSE(profile.ops.front().data_gradient);
  EXPECT_NEAR(profile.macs, 15.47e9, 0.01e9);
}

// x of time x batch x 12 or batch x time x 12, as two exporters write it, and an LSTM.
Graph recurrent_graph(const Shape& x, bool transposed) {
  Graph graph("recurrent");
  ops::Builder b(graph);
  ValueId value = b.input("x", {DType::kF32, x});
  if (transposed) value = b.add("Transpose", {value}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  const ValueId w = b.constant("w", Tensor(TensorType{DType::kF32, {1, 32, 12}}));
  const ValueId r = b.constant("r", Tensor(TensorType{DType::kF32, {1, 32, 8}}));
  graph.set_outputs({b.add("LSTM", {value, w, r}, {{"hidden_size", int64_t{8}}})});
  return graph;
}

void expect_same_amounts(const NetworkProfile& a, const NetworkProfile& b) {
  ASSERT_EQ(a.ops.size(), b.ops.size());
  EXPECT_EQ(a.input, b.input);
  EXPECT_EQ(a.macs, b.macs);
  EXPECT_EQ(a.parameters, b.parameters);
  for (size_t i = 0; i < a.ops.size(); ++i) {
    EXPECT_EQ(a.ops[i].input, b.ops[i].input) << a.ops[i].name;
    EXPECT_EQ(a.ops[i].output, b.ops[i].output) << a.ops[i].name;
    EXPECT_EQ(a.ops[i].rows, b.ops[i].rows) << a.ops[i].name;
    EXPECT_EQ(a.ops[i].backward, b.ops[i].backward) << a.ops[i].name;
  }
}

TEST(Profile, AnyBatchGivesTheAmountsOfOneImage) {
  const NetworkProfile one = profile_graph(models::build_model("resnet18"));
  const NetworkProfile four = profile_graph(models::build_model("resnet18", {.batch = 4}));
  expect_same_amounts(one, four);
  EXPECT_NEAR(four.training_bytes, one.training_bytes, 0.01 * one.training_bytes);
}

TEST(Profile, RecurrentLayersHaveTheirBatchSecond) {
  const NetworkProfile one = profile_graph(recurrent_graph({50, 1, 12}, false));
  EXPECT_EQ(one.input, 50 * 12);
  expect_same_amounts(one, profile_graph(recurrent_graph({50, 4, 12}, false)));
  const NetworkProfile turned = profile_graph(recurrent_graph({4, 50, 12}, true));
  EXPECT_EQ(turned.input, 50 * 12);
  EXPECT_EQ(turned.macs, one.macs);
}

TEST(Profile, InputsOfOtherBatchesAreRefused) {
  Graph graph("two");
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {4, 8}});
  const ValueId y = b.input("y", {DType::kF32, {3, 8}});
  graph.set_outputs({b.add("MatMul", {x, b.add("Transpose", {y})})});
  try {
    profile_graph(graph);
    FAIL();
  } catch (const Error& problem) {
    const std::string text = problem.what();
    EXPECT_NE(text.find("a batch of 3, but 'x' has a batch of 4"), std::string::npos) << text;
  }
}

// Scores of attention go through memory in frameworks without a fused kernel.
TEST(Roofline, StoredScoresOfAttentionCostTime) {
  const Network& net = network("vit_b_16");
  const Device& device = catalog().device("a100");
  Stack stack = catalog().default_stack(device);
  const auto seconds = [&](bool flash) {
    stack.flash_attention = flash;
    const Roofline roofline(device, stack, Precision::kFp16);
    return predict_step(net.profile, roofline, 64, Mode::kTraining).total();
  };
  EXPECT_LT(seconds(true), seconds(false));
}

// The stack is the same in every precision, so a narrower one is never predicted slower. One thing
// speaks against it: mixed precision converts the weights in each step, which a step that mostly
// waits for the host pays for without a gain.
TEST(Precisions, NarrowerIsNeverSlowerOnAnyDevice) {
  constexpr double kRounding = 1 + 1e-9;
  constexpr double kBatch = 64;
  for (const Device& device : catalog().devices()) {
    const Stack& stack = catalog().default_stack(device);
    std::vector<Precision> order = {Precision::kFp32};
    if (device.tf32 > 0) order.push_back(Precision::kTf32);
    if (uses_matrix_units(device, stack, Precision::kFp16)) order.push_back(Precision::kFp16);
    for (const models::ModelDef* model : models::all_models()) {
      const NetworkProfile& profile = network(std::string(model->name)).merged;
      for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
        double before = std::numeric_limits<double>::infinity();
        for (const Precision precision : order) {
          const Roofline roofline(device, stack, precision);
          const StepTime step = predict_step(profile, roofline, kBatch, mode);
          const bool waits_for_host = 2 * step.host > step.device;
          if (precision == Precision::kFp16 && waits_for_host) continue;
          EXPECT_LE(step.total(), before * kRounding)
              << model->name << " on " << device.id << " with " << stack.id << " in "
              << precision_name(precision)
              << (mode == Mode::kTraining ? ", training" : ", inference");
          before = step.total();
        }
      }
    }
  }
}

TEST(Profile, MergedProfilesTakeTheSameTime) {
  const Network& net = network("resnet50");
  EXPECT_LT(net.merged.ops.size(), net.profile.ops.size() / 2);
  const Device& device = catalog().device("v100");
  const Roofline roofline(device, catalog().default_stack(device), Precision::kFp32);
  const double one = predict_step(net.profile, roofline, 32, Mode::kTraining).total();
  EXPECT_NEAR(predict_step(net.merged, roofline, 32, Mode::kTraining).total(), one, 1e-9 * one);
}

TEST(Profile, UngroupedConvolutionsMultiplyOutAllChannels) {
  // conv2, conv4 and conv5 of AlexNet have two groups each.
  EXPECT_NEAR(network("alexnet:ungrouped").profile.macs / network("alexnet").profile.macs, 1.57,
              0.01);
  EXPECT_GT(network("alexnet:ungrouped").profile.parameters, network("alexnet").profile.parameters);
}

TEST(OpTime, TheFirstConvolutionHasNoDataGradient) {
  const Device& device = catalog().device("k80");
  const Roofline roofline(device, catalog().default_stack(device), Precision::kFp32);
  const NetworkProfile& profile = network("vgg16").profile;
  EXPECT_EQ(roofline.training(profile.ops[0], 8).data_gradient.seconds, 0);
  EXPECT_GT(roofline.training(profile.ops[0], 8).weight_gradient.seconds, 0);
}

TEST(OpTime, AlgorithmsDependOnShapeAndStack) {
  const Device& device = catalog().device("titan-x-maxwell");
  const NetworkProfile& profile = network("vgg16").profile;
  const auto last_conv = std::find_if(profile.ops.rbegin(), profile.ops.rend(),
                                      [](const OpProfile& op) { return op.is_conv; });
  const auto algorithm = [&](const char* stack) {
    const Roofline roofline(device, catalog().stack(stack), Precision::kFp32);
    return roofline.inference(*last_conv, 16).algorithm;
  };
  EXPECT_EQ(algorithm("torch-cudnn5.1"), ConvAlgorithm::kWinograd);
  EXPECT_EQ(algorithm("caffe-native"), ConvAlgorithm::kProduct);
}

TEST(OpTime, DoublePrecisionHasNoWinograd) {
  const Device& device = catalog().device("titan-xp");
  const Stack& stack = catalog().stack("pytorch-1.4-cuda10.2-b12");
  const NetworkProfile& profile = network("vgg16").profile;
  const auto last_conv = std::find_if(profile.ops.rbegin(), profile.ops.rend(),
                                      [](const OpProfile& op) { return op.is_conv; });
  const auto algorithm = [&](Precision precision) {
    return Roofline(device, stack, precision).inference(*last_conv, 16).algorithm;
  };
  EXPECT_EQ(algorithm(Precision::kFp32), ConvAlgorithm::kWinograd);
  EXPECT_EQ(algorithm(Precision::kFp64), ConvAlgorithm::kProduct);
}

TEST(OpTime, DepthwiseConvolutionsLoseLessWhereArithmeticIsSlow) {
  const Device& device = catalog().device("titan-xp");  // a 32nd of the peak in double precision
  const Stack& stack = catalog().stack("pytorch-1.4-cuda10.2-b12");
  const NetworkProfile& profile = network("mobilenet_v2").profile;
  const auto depthwise = std::find_if(profile.ops.begin(), profile.ops.end(),
                                      [](const OpProfile& op) { return op.groups > 1; });
  const auto share = [&](Precision precision) {
    const Roofline roofline(device, stack, precision);
    return 2 * depthwise->macs * 64 / roofline.inference(*depthwise, 64).seconds / roofline.peak();
  };
  EXPECT_GT(share(Precision::kFp64), 3 * share(Precision::kFp32));
}

// What a product waits for beside arithmetic is hidden where arithmetic is slow.
TEST(OpTime, FewUnitsForDoublePrecisionAreKeptBusy) {
  const Stack& stack = catalog().stack("pytorch-1.4-cuda10.2-b12");
  const NetworkProfile& profile = network("vgg16").profile;
  const auto last_conv = std::find_if(profile.ops.rbegin(), profile.ops.rend(),
                                      [](const OpProfile& op) { return op.is_conv; });
  const auto share = [&](Device device, double units) {
    device.fp64 = units * device.fp32;
    const Roofline roofline(device, stack, Precision::kFp64);
    return 2 * last_conv->macs * 64 / roofline.inference(*last_conv, 64).seconds / roofline.peak();
  };
  const Device& device = catalog().device("v100");
  EXPECT_GT(share(device, 1.0 / 64), 1.2 * share(device, 1.0 / 2));
  EXPECT_LE(share(device, 1.0 / 64), 1);
}

TEST(OpTime, LargeCachesServeWhatTheyHold) {
  const Device& large = catalog().device("rtx-4060-ti");  // 32 MB
  Device small = large;
  small.cache_bytes = 4e6;
  const Stack& stack = catalog().default_stack(large);
  const NetworkProfile& profile = network("resnet50").profile;
  const auto time = [&](const Device& device, double batch) {
    const Roofline roofline(device, stack, Precision::kFp16);
    return predict_step(profile, roofline, batch, Mode::kTraining).device;
  };
  EXPECT_LT(time(large, 8), 0.8 * time(small, 8));
  EXPECT_GT(time(large, 1024), 0.95 * time(small, 1024));
}

TEST(Step, EveryTensorsUpdateIsIssued) {
  const Device& device = catalog().device("p100");
  Stack stack = catalog().stack("mxnet-0.9");
  const NetworkProfile& profile = network("resnet50").profile;
  const auto host = [&](double kernels, bool updates) {
    stack.update_kernels = kernels;
    const Roofline roofline(device, stack, Precision::kFp32);
    return predict_step(profile, roofline, 1, Mode::kTraining, updates).host;
  };
  const double one = host(1, true) - host(1, false);
  EXPECT_GT(one, 0);
  EXPECT_NEAR(host(3, true) - host(3, false), 3 * one, 1e-9);
}

TEST(Step, GradientsAreZeroedWithoutUpdate) {
  const Device& device = catalog().device("rtx-2080-ti");
  Stack stack = catalog().stack("pytorch-1.4-cuda10.0-b12");
  const NetworkProfile& profile = network("resnet50").profile;
  const auto host = [&](double kernels, Mode mode, bool updates) {
    stack.zero_kernels = kernels;
    const Roofline roofline(device, stack, Precision::kFp32);
    return predict_step(profile, roofline, 12, mode, updates).host;
  };
  EXPECT_NEAR(host(1, Mode::kTraining, false) - host(0, Mode::kTraining, false),
              profile.parameter_tensors * stack.for_class("gpu").launch_us * 1e-6 *
                  stack.host_factor_for(device.id),
              1e-9);
  EXPECT_EQ(host(1, Mode::kTraining, true), host(0, Mode::kTraining, true));
  EXPECT_EQ(host(1, Mode::kInference, true), host(0, Mode::kInference, true));
}

TEST(Step, MixedPrecisionConvertsEveryWeightInEveryStep) {
  const Device& device = catalog().device("v100");
  Stack stack = catalog().stack("ngc-pytorch-21.03");
  const NetworkProfile& profile = network("vgg16").profile;
  const auto step = [&](bool casts, Precision precision) {
    stack.casts_weights = casts;
    return predict_step(profile, Roofline(device, stack, precision), 1, Mode::kInference);
  };
  EXPECT_GT(step(true, Precision::kFp16).host, step(false, Precision::kFp16).host);
  // 138 million weights, six bytes each, through 900 GB/s at most.
  EXPECT_GT(step(true, Precision::kFp16).device, step(false, Precision::kFp16).device + 0.9e-3);
  EXPECT_EQ(step(true, Precision::kFp32).total(), step(false, Precision::kFp32).total());
}

TEST(OpTime, EnginesConcatenateInPlaceAndReadSinglePrecision) {
  const Device& device = catalog().device("t4");
  const Stack& engine = catalog().stack("paddle-inference-trt-t4");
  const Stack& framework = catalog().stack("ngc-tensorflow-19.08");
  const NetworkProfile& profile = network("squeezenet1_0").profile;
  const auto concat = std::find_if(profile.ops.begin(), profile.ops.end(),
                                   [](const OpProfile& op) { return op.op == "Concat"; });
  ASSERT_NE(concat, profile.ops.end());
  const Roofline half(device, engine, Precision::kFp16);
  EXPECT_EQ(half.inference(*concat, 8).kernels, 0);
  EXPECT_GT(Roofline(device, framework, Precision::kFp16).inference(*concat, 8).kernels, 0);
  const Roofline single(device, engine, Precision::kFp32);
  EXPECT_GT(half.copy_seconds(profile.input, 8), 0);
  EXPECT_EQ(half.copy_seconds(profile.input, 8), single.copy_seconds(profile.input, 8));
}

TEST(OpTime, FrameworksNormalizeInAKernelOfItsOwn) {
  const Device& device = catalog().device("v100");
  const NetworkProfile& profile = network("resnet50").profile;
  const auto norm = std::find_if(profile.ops.begin(), profile.ops.end(),
                                 [](const OpProfile& op) { return op.op == "BatchNormalization"; });
  ASSERT_NE(norm, profile.ops.end());
  const auto kernels = [&](std::string_view stack) {
    const Roofline roofline(device, catalog().stack(stack), Precision::kFp16);
    return roofline.inference(*norm, 8).kernels;
  };
  EXPECT_EQ(kernels("ngc-pytorch-21.03"), 1);
  EXPECT_LT(kernels("ngc-tensorflow-19.06-xla"), 1);
  EXPECT_LT(kernels("ngc-paddle-23.12-trt"), 0.2);
}

TEST(OpTime, MatrixUnitsFillThreeChannelsUpToEight) {
  const Device& device = catalog().device("a100");
  const Stack& stack = catalog().stack("ngc-pytorch-21.03");
  const Roofline roofline(device, stack, Precision::kFp16);
  OpProfile first = network("vgg16").profile.ops.front();
  ASSERT_EQ(first.inner, 27);
  OpProfile eight = first;
  eight.inner = 72;
  eight.macs *= 72.0 / 27;
  // As long as with eight channels, but for what these read.
  EXPECT_GT(roofline.inference(first, 64).seconds, 0.75 * roofline.inference(eight, 64).seconds);
  EXPECT_LE(roofline.inference(first, 64).seconds, 1.2 * roofline.inference(eight, 64).seconds);
}

TEST(OpTime, CoresWaitForOneAnother) {
  const Device& many = catalog().device("c5.18xlarge");
  Device one = many;  // of the same peak and bandwidth
  one.cores = 1;
  const Stack& stack = catalog().stack("mxnet-1.2");
  const Efficiency& figures = stack.for_class("cpu");
  const NetworkProfile& profile = network("resnet50").profile;
  const auto step = [&](const Device& device) {
    return predict_step(profile, Roofline(device, stack, Precision::kFp32), 32, Mode::kInference);
  };
  EXPECT_NEAR(step(many).device / step(one).device, 1 + 35 * figures.serial, 1e-9);
  EXPECT_NEAR(step(many).host / step(one).host, 1 + 35 * figures.kernel_us / figures.launch_us,
              1e-9);
}

TEST(Device, FasterMatrixUnitsWaitLongerForTheirOperands) {
  const Device& volta = catalog().device("v100");
  const Device& ampere = catalog().device("a100");
  EXPECT_NEAR(volta.matrix_load(), 1, 0.01);
  EXPECT_NEAR(ampere.matrix_load(), 2, 0.01);
  EXPECT_NEAR(catalog().device("rtx-3090").matrix_load(), 0.5, 0.01);
  EXPECT_EQ(catalog().device("k80").matrix_load(), 1);
  EXPECT_GT(catalog().factors().feeding, 0);
  DeviceFactors none = catalog().factors();
  none.feeding = 0;
  Catalog without = catalog();
  without.set_factors(none);
  EXPECT_NEAR(ampere.matrix_factor / without.device("a100").matrix_factor,
              std::pow(ampere.matrix_load(), -catalog().factors().feeding), 1e-9);
  EXPECT_EQ(ampere.vector_factor, without.device("a100").vector_factor);
}

TEST(OpTime, DepthwiseConvolutionsAreFarFromThePeak) {
  const Device& device = catalog().device("v100");
  const Roofline roofline(device, catalog().default_stack(device), Precision::kFp32);
  const auto share = [&](const std::string& name) {
    const NetworkProfile& profile = network(name).profile;
    const double seconds = predict_step(profile, roofline, 64, Mode::kInference).total();
    return 2 * profile.macs * 64 / seconds / device.fp32;
  };
  EXPECT_LT(share("mobilenet_v2"), 0.5 * share("resnet50"));
}

TEST(Predict, LargerBatchesAreFasterPerImageAndNeedMoreMemory) {
  Request r = request("resnet50", "p100");
  double speed = 0;
  double memory = 0;
  for (const int64_t batch : {1, 4, 16, 64}) {
    r.batch = batch;
    const Row row = predict(r).front();
    EXPECT_GT(row.images_per_s, speed);
    EXPECT_GT(row.memory_bytes, memory);
    speed = row.images_per_s;
    memory = row.memory_bytes;
  }
}

TEST(Predict, RunningOutOfMemoryIsTheLimitInWords) {
  Request r = request("vgg16", "k80");
  r.batch = 512;
  const Row row = predict(r).front();
  EXPECT_FALSE(row.fits);
  EXPECT_NE(row.limit.find("memory: needs"), std::string::npos);
}

TEST(Predict, ScalingStaysBelowIdealAndCostsMore) {
  Request r = request("vgg16", "p100");
  r.workers = {1, 2, 8, 16, 64};
  r.batch = 32;
  const std::vector<Row> rows = predict(r);
  EXPECT_DOUBLE_EQ(rows[0].speedup.value(), 1);
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i].speedup.value(), static_cast<double>(rows[i].workers));
    EXPECT_LE(rows[i].exposed_comm, rows[i].comm + 1e-12);
    EXPECT_GE(rows[i].cost_usd, rows[0].cost_usd);
    EXPECT_EQ(rows[i].global_batch, 32 * rows[i].workers);
  }
  // Across hosts the network is slower than NVLink.
  EXPECT_LT(rows[3].efficiency.value(), rows[2].efficiency.value());
}

TEST(Predict, SpeedupIsOverTheFewestWorkersThatFit) {
  Request r = request("vgg16", "k80");
  r.scaling = Scaling::kStrong;
  r.batch = 512;
  r.workers = {1, 16, 8, 2};
  const std::vector<Row> rows = predict(r);
  ASSERT_FALSE(rows[0].fits);
  ASSERT_FALSE(rows[3].fits);
  ASSERT_TRUE(rows[2].fits);
  EXPECT_FALSE(rows[0].speedup.has_value());
  EXPECT_FALSE(rows[3].efficiency.has_value());
  EXPECT_DOUBLE_EQ(rows[2].speedup.value(), 1);
  EXPECT_DOUBLE_EQ(rows[2].efficiency.value(), 1);
  EXPECT_DOUBLE_EQ(rows[1].speedup.value(), rows[1].images_per_s / rows[2].images_per_s);
  EXPECT_DOUBLE_EQ(rows[1].efficiency.value(), rows[1].speedup.value() / 2);
  for (const Row& row : rows) EXPECT_EQ(row.base_workers, 8);
}

TEST(Predict, WhereNothingFitsSpeedupIsOverOneWorker) {
  Request r = request("vgg16", "k80");
  r.batch = 512;
  r.workers = {2, 4};
  for (const Row& row : predict(r)) {
    EXPECT_FALSE(row.fits);
    EXPECT_EQ(row.base_workers, 1);
    EXPECT_GT(row.speedup.value(), 1);
  }
}

TEST(Predict, StrongScalingSharesTheBatch) {
  Request r = request("resnet50", "v100");
  r.scaling = Scaling::kStrong;
  r.batch = 100;
  r.workers = {1, 3};
  const std::vector<Row> rows = predict(r);
  EXPECT_EQ(rows[1].batch_per_worker, 34);
  EXPECT_EQ(rows[1].global_batch, 100);
  EXPECT_NE(uneven_batch_note(100, 3).find("34 images"), std::string::npos);
  EXPECT_EQ(uneven_batch_note(99, 3), "");
  r.workers = {200};
  EXPECT_THROW(predict(r), Error);
}

TEST(Predict, WrongRequestsAreRefused) {
  Request r = request("lenet5", "k80");
  r.workers = {0};
  EXPECT_THROW(predict(r), Error);
  r.workers = {1};
  r.batch = 0;
  EXPECT_THROW(predict(r), Error);
  r.batch = 1;
  r.precision = Precision::kInt8;
  EXPECT_THROW(predict(r), Error);
  r.model = Model::kPaleo;
  r.precision = Precision::kFp32;
  r.workers = {2};
  EXPECT_THROW(predict(r), Error);  // PALEO has no ring
}

TEST(Predict, DoublePrecisionNeedsItsPeak) {
  Request r = request("lenet5", "k80");
  r.precision = Precision::kFp64;
  Device without = *r.device;
  without.fp64 = 0;
  r.device = &without;
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    r.mode = mode;
    EXPECT_THROW(predict(r), Error) << static_cast<int>(mode);
  }
}

TEST(Predict, TheInputPipelineCanBeTheLimit) {
  Request r = request("alexnet-one-tower", "v100");
  r.batch = 256;
  r.input_images_per_s = 100;
  const Row row = predict(r).front();
  EXPECT_EQ(row.limit, "input pipeline");
  EXPECT_DOUBLE_EQ(row.images_per_s, 100);
}

TEST(Predict, HalfPrecisionIsFasterWhereThereAreMatrixUnits) {
  Request r = request("resnet50", "v100");
  r.batch = 64;
  const double single = predict(r).front().images_per_s;
  r.precision = Precision::kFp16;
  EXPECT_GT(predict(r).front().images_per_s, 1.3 * single);
}

TEST(Predict, PaleoFromAGraphIsNearPaleosOwnFile) {
  // PALEO's own VGG16 has fully connected layers as convolutions; forward FLOPs are the same.
  Request r = request("vgg16", "titan-x-maxwell");
  r.model = Model::kPaleo;
  r.percent = {1, 1};
  r.batch = 128;
  r.cluster.comm = &find_comm_model("tree");
  const Row row = predict(r).front();
  const double compute_ms = 3961.956 / 6.144;  // GFLOP of batch 128 over PALEO's peak
  EXPECT_GT(row.forward * 1e3, compute_ms);
  EXPECT_LT(row.forward * 1e3, 1.2 * compute_ms);
}

TEST(Exchange, BucketsHoldEveryGradientAndBecomeReadyInOrder) {
  const Device& device = catalog().device("p100");
  const Roofline roofline(device, catalog().default_stack(device), Precision::kFp32);
  const NetworkProfile& profile = network("resnet50").profile;
  const auto buckets = gradient_buckets(profile, roofline, 32, Precision::kFp32, 16e6);
  double bytes = 0;
  double ready = 0;
  for (const GradientBucket& bucket : buckets) {
    EXPECT_GE(bucket.ready, ready);
    ready = bucket.ready;
    bytes += bucket.bytes;
  }
  EXPECT_NEAR(bytes, 4 * profile.parameters, 1);
  EXPECT_GT(buckets.size(), 3u);
  const Topology topology{.workers = 4, .per_host = 4, .inside = {1e9, 0}, .between = {1e9, 0}};
  const CommModel& ring = find_comm_model("ring");
  const Exchange late = predict_exchange(buckets, 0.1, topology, ring, /*overlaps=*/false);
  const Exchange early = predict_exchange(buckets, 0.1, topology, ring, /*overlaps=*/true);
  EXPECT_DOUBLE_EQ(late.exposed, late.busy);
  EXPECT_LT(early.exposed, late.exposed);
}

TEST(Peak, TheoryIsFlopsOverThePublishedPeak) {
  const Device& device = catalog().device("k80");
  const auto rows = peak_rows(network("vgg16"), "vgg16", device, catalog().default_stack(device),
                              Model::kTrainyard, 32);
  EXPECT_NEAR(rows.front().single_s, 2 * 15.47e9 / 4.37e12, 1e-5);
  bool lu = false;
  for (const PeakRow& row : rows) lu = lu || row.counted_by == "Lu et al.";
  EXPECT_TRUE(lu);
}

TEST(Peak, PracticeInDoublePrecisionIsHeldAgainstItsOwnPeak) {
  for (const char* id : {"k80", "k80-board"}) {
    const Device& device = catalog().device(id);
    for (const Model model : {Model::kPaleo, Model::kTrainyard}) {
      const auto rows = peak_rows(network("resnet50"), "resnet50", device,
                                  catalog().default_stack(device), model, 1);
      for (const PeakRow& row : rows) {
        if (row.practical_origin == "published") {
          EXPECT_EQ(row.practical_double, 0);
          continue;
        }
        EXPECT_LT(row.practical_double, row.practical);
        EXPECT_GT(row.double_ratio(), 0.05);
        EXPECT_LT(row.double_ratio(), 1);
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::predict

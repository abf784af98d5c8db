#include "models/zoo/model.h"

#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/printer.h"
#include "ops/inference.h"

namespace trainyard::models {
namespace {

std::string error_of(std::string_view model, const ModelOptions& options) {
  try {
    build_model(model, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void for_every_model(const std::function<void(const ModelDef&)>& check) {
  for (const ModelDef* model : all_models()) {
    SCOPED_TRACE(model->name);
    check(*model);
  }
}

TEST(EveryModel, VerifiesCleanlyAtBatch1And7) {
  for_every_model([](const ModelDef& model) {
    for (const int64_t batch : {1, 7}) {
      const Graph graph = build_model(model.name, {.batch = batch});
      EXPECT_EQ(ops::verify_graph(graph), std::vector<std::string>{});
      ASSERT_EQ(graph.inputs().size(), 1U);
      const Value& input = graph.value(graph.inputs()[0]);
      EXPECT_EQ(input.name, model.length == 0 ? "image" : "tokens");
      std::vector<int64_t> dims = input_shape(model).vector();
      dims.insert(dims.begin(), batch);
      EXPECT_EQ(input.type, (TensorType{model.length == 0 ? DType::kF32 : DType::kI64,
                                        Shape(std::move(dims))}));
      EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape[0], batch);
      EXPECT_EQ(graph.name(), model.name);
    }
  });
}

TEST(EveryModel, IsTheSameEveryTime) {
  for_every_model([](const ModelDef& model) {
    EXPECT_EQ(print_graph(build_model(model.name)), print_graph(build_model(model.name)));
  });
}

TEST(EveryModel, UsesEveryParameterUnderADottedName) {
  for_every_model([](const ModelDef& model) {
    const Graph graph = build_model(model.name, {.auxiliary = model.has_auxiliary});
    for (const ValueId id : graph.initializers()) {
      const std::string& name = graph.value(id).name;
      EXPECT_NE(name.find('.'), std::string::npos) << name;
      EXPECT_FALSE(graph.value(id).consumers.empty()) << name << " is not used";
    }
  });
}

TEST(EveryModel, HonorsClassesWhereItHasThem) {
  for_every_model([](const ModelDef& model) {
    if (model.classes == 0) {
      EXPECT_EQ(error_of(model.name, {.classes = 5}),
                std::string(model.name) + " has no classifier, so it takes no number of classes");
      return;
    }
    const Graph graph = build_model(model.name, {.classes = 5, .auxiliary = model.has_auxiliary});
    for (const ValueId id : graph.outputs()) {
      const Value& output = graph.value(id);
      EXPECT_EQ(output.type.shape.dim(-1), output.name == "locations" ? 4 : 5);
    }
  });
}

TEST(EveryModel, BuildsAtItsSmallestImageAndNotBelow) {
  for_every_model([](const ModelDef& model) {
    const int64_t smallest = model.smallest_image;
    if (smallest == 0) {
      EXPECT_NE(error_of(model.name, {.image = model.image + 1}), "no error");
      return;
    }
    const ModelOptions options = {.image = smallest};
    EXPECT_TRUE(ops::verify_graph(build_model(model.name, options)).empty());
    EXPECT_NE(error_of(model.name, {.image = smallest - 1 == 0 ? -1 : smallest - 1}), "no error");
  });
}

TEST(EveryModel, TakesLengthsUpToTheLongestIfItReadsTokens) {
  for_every_model([](const ModelDef& model) {
    if (model.length == 0) {
      EXPECT_NE(error_of(model.name, {.length = 7}), "no error");
      return;
    }
    for (const int64_t length : {int64_t{1}, int64_t{7}, model.longest}) {
      EXPECT_TRUE(ops::verify_graph(build_model(model.name, {.length = length})).empty());
    }
    EXPECT_NE(error_of(model.name, {.length = model.longest + 1}), "no error");
    EXPECT_NE(error_of(model.name, {.length = -1}), "no error");
    EXPECT_NE(error_of(model.name, {.image = 224}), "no error");
  });
}

TEST(EveryModel, RefusesOptionsThatItDoesNotHonor) {
  for_every_model([](const ModelDef& model) {
    EXPECT_EQ(error_of(model.name, {.width = 0.5}) == "no error", model.has_width);
    EXPECT_EQ(error_of(model.name, {.auxiliary = true}) == "no error", model.has_auxiliary);
    for (const int64_t batch : {-1, 0, 1 << 30}) {
      EXPECT_NE(error_of(model.name, {.batch = batch}), "no error");
    }
  });
}

TEST(EveryModel, SaysWhatItIs) {
  for_every_model([](const ModelDef& model) {
    EXPECT_FALSE(model.summary.empty());
    EXPECT_FALSE(model.paper.authors.empty());
    EXPECT_FALSE(model.paper.title.empty());
    EXPECT_FALSE(model.paper.where.empty());
    EXPECT_EQ(find_model(model.name), &model);
  });
}

TEST(BuildModel, NamesTheNearestModels) {
  EXPECT_NE(error_of("resnet5O", {}).find("Did you mean resnet50"), std::string::npos)
      << error_of("resnet5O", {});
  EXPECT_NE(error_of("", {}).find("trainyard models"), std::string::npos);
}

TEST(BuildModel, SaysWhyAnOptionIsRefused) {
  EXPECT_EQ(error_of("resnet50", {.image = 31}),
            "resnet50: images of 31x31 are not possible, expected a size from 32 to 8192");
  EXPECT_EQ(
      error_of("ssd300-mobilenet_v1", {.image = 63}),
      "ssd300-mobilenet_v1: images of 63x63 are not possible, expected a size from 64 to 8192");
  EXPECT_EQ(error_of("resnet50", {.width = 0.5}), "resnet50 has no width multiplier");
  EXPECT_EQ(error_of("resnet50", {.auxiliary = true}), "resnet50 has no auxiliary classifiers");
  EXPECT_EQ(error_of("shufflenet_v2", {.width = 0.75}),
            "shufflenet_v2: width 0.75 is not one of 0.5, 1, 1.5, 2");
}

TEST(BuildModel, FollowsTorchvisionsNames) {
  const auto has = [](std::string_view model, std::string_view name) {
    return build_model(model, {.auxiliary = find_model(model)->has_auxiliary})
        .find_value(name)
        .valid();
  };
  EXPECT_TRUE(has("resnet18", "layer2.0.downsample.1.running_mean"));
  EXPECT_TRUE(has("resnet50", "layer1.0.conv3.weight"));
  EXPECT_TRUE(has("vgg16", "features.28.weight"));
  EXPECT_TRUE(has("vgg16", "classifier.6.bias"));
  EXPECT_TRUE(has("alexnet-one-tower", "features.10.bias"));
  EXPECT_TRUE(has("googlenet-bn", "inception4a.branch3.1.bn.weight"));
  EXPECT_TRUE(has("googlenet-bn", "aux2.fc2.bias"));
  EXPECT_TRUE(has("inception_v3", "Mixed_7c.branch3x3dbl_3b.conv.weight"));
  EXPECT_TRUE(has("inception_v3", "AuxLogits.conv1.bn.running_var"));
  EXPECT_TRUE(has("mobilenet_v2", "features.1.conv.2.weight"));
  EXPECT_TRUE(has("mobilenet_v2", "features.17.conv.3.running_var"));
  EXPECT_TRUE(has("mobilenet_v2", "features.18.1.bias"));
  EXPECT_TRUE(has("squeezenet1_0", "features.12.expand3x3.weight"));
  EXPECT_TRUE(has("densenet121", "features.denseblock4.denselayer16.norm2.running_var"));
  EXPECT_TRUE(has("densenet121", "features.transition3.conv.weight"));
  EXPECT_TRUE(has("shufflenet_v2", "stage2.0.branch1.3.running_mean"));
  EXPECT_TRUE(has("shufflenet_v2", "stage4.3.branch2.6.weight"));
}

TEST(BuildModel, DetectorHas3000Priors) {
  const Graph graph = build_model("ssd300-mobilenet_v1", {.batch = 2});
  ASSERT_EQ(graph.outputs().size(), 2U);
  EXPECT_EQ(graph.value(graph.find_value("locations")).type.shape, (Shape{2, 3000, 4}));
  EXPECT_EQ(graph.value(graph.find_value("scores")).type.shape, (Shape{2, 3000, 21}));
}

TEST(BuildModel, InceptionModulesGive672And480Channels) {
  const Graph naive = build_model("inception-module-naive");
  const Graph reduced = build_model("inception-module-reduced");
  EXPECT_EQ(naive.value(naive.find_value("output")).type.shape, (Shape{1, 672, 32, 32}));
  EXPECT_EQ(reduced.value(reduced.find_value("output")).type.shape, (Shape{1, 480, 32, 32}));
}

}  // namespace
}  // namespace trainyard::models

// Figures that papers, courses and model cards give for well-known networks.
#include <gtest/gtest.h>

#include "analysis/layers.h"
#include "analysis/memory.h"
#include "analysis/receptive_field.h"
#include "models/zoo/model.h"

namespace trainyard::analysis {
namespace {

LayerTable layers_of(std::string_view model) {
  return analyze_layers(models::build_model(model));
}

struct ParamsCase {
  std::string_view model;
  int64_t params;
};

class KnownParams : public ::testing::TestWithParam<ParamsCase> {};

TEST_P(KnownParams, Match) {
  EXPECT_EQ(layers_of(GetParam().model).totals.params.trainable(), GetParam().params);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, KnownParams,
    testing::Values(ParamsCase{"alexnet", 60'965'224}, ParamsCase{"alexnet-one-tower", 61'100'840},
                    ParamsCase{"vgg16", 138'357'544}, ParamsCase{"vgg19", 143'667'240},
                    ParamsCase{"inception_v3", 23'834'568}, ParamsCase{"resnet18", 11'689'512},
                    ParamsCase{"resnet34", 21'797'672}, ParamsCase{"resnet50", 25'557'032},
                    ParamsCase{"resnet101", 44'549'160}, ParamsCase{"resnet152", 60'192'808},
                    ParamsCase{"resnet18-cifar", 11'173'962}, ParamsCase{"mobilenet_v2", 3'504'872},
                    ParamsCase{"squeezenet1_0", 1'248'424}, ParamsCase{"densenet121", 7'978'856}),
    [](const auto& test) {
      std::string name(test.param.model);
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

// Krizhevsky et al. 2012: two towers, so conv2, conv4 and conv5 see half of the maps.
TEST(KnownAnswers, AlexNetLayerByLayer) {
  std::vector<int64_t> with_parameters;
  for (const Layer& layer : layers_of("alexnet").layers) {
    const int64_t params = layer.figures.params.trainable();
    if (params > 0) with_parameters.push_back(params);
  }
  const std::vector<int64_t> expected = {34'944,  307'456,    885'120,    663'936,
                                         442'624, 37'752'832, 16'781'312, 4'097'000};
  EXPECT_EQ(with_parameters, expected);
}

TEST(KnownAnswers, Vgg19ActivationsAndWeightsWithoutBiases) {
  const LayerTable table = layers_of("vgg19");
  EXPECT_EQ(table.totals.params.weights, 143'652'544);
  EXPECT_EQ(table.layers[0].figures.activations, 224 * 224 * 3);
  EXPECT_EQ(table.layers[1].figures.activations, 224 * 224 * 64);
  EXPECT_EQ(table.layers[1].figures.params.weights, 3 * 3 * 3 * 64);
  // Input, convolutions, poolings and linear layers, as such tables have them; ReLU is in place.
  int64_t stored = 224 * 224 * 3;
  for (const Layer& layer : table.layers) {
    const bool listed =
        layer.kind == "convolution" || layer.kind == "pooling" || layer.kind == "linear";
    if (listed) stored += layer.figures.activations;
  }
  EXPECT_EQ(table.stored_activations, stored);
}

TEST(KnownAnswers, ConvolutionsShareOfVgg19) {
  const LayerTable table = layers_of("vgg19");
  ASSERT_EQ(table.kinds[0].kind, "convolution");
  EXPECT_EQ(table.kinds[0].figures.cost.macs, 19'508'428'800);
  EXPECT_EQ(table.totals.cost.macs, 19'632'062'464);
}

TEST(KnownAnswers, InceptionModules) {
  const LayerTable naive = layers_of("inception-module-naive");
  const LayerTable reduced = layers_of("inception-module-reduced");
  EXPECT_EQ(naive.outputs[0], (Shape{1, 672, 32, 32}));
  EXPECT_EQ(reduced.outputs[0], (Shape{1, 480, 32, 32}));
  EXPECT_EQ(naive.totals.cost.macs, 1'115'684'864);
  EXPECT_EQ(reduced.totals.cost.macs, 354'418'688);
}

// Araujo et al., Computing Receptive Fields of Convolutional Neural Networks (Distill 2019), and
// their tables at github.com/google-research/receptive_field: the last layer that is still a map.
TEST(KnownAnswers, ReceptiveFieldsOfTheLastMap) {
  const auto last_field = [](std::string_view model) {
    double size = 0;
    for (const LayerField& layer : analyze_receptive_fields(models::build_model(model)).layers) {
      if (!layer.extents.empty()) size = layer.extents[0].size();
    }
    return size;
  };
  EXPECT_EQ(last_field("vgg16"), 212);
  EXPECT_EQ(last_field("alexnet"), 195);
  EXPECT_EQ(last_field("mobilenet_v1"), 315);
  EXPECT_EQ(last_field("inception_v3"), 1311);
}

// Every trained value that is kept is counted once, so the sum stays below all activations.
TEST(KnownAnswers, MemoryIsBoundedByWhatIsThere) {
  for (const char* model : {"resnet18", "densenet121", "mobilenet_v2", "inception_v3"}) {
    const Graph graph = models::build_model(model);
    const MemoryUse use = analyze_memory(graph);
    const LayerTable table = analyze_layers(graph);
    EXPECT_LT(use.saved_for_backward, table.totals.activation_bytes) << model;
    EXPECT_GE(use.training.bytes, use.saved_for_backward) << model;
    EXPECT_LE(use.inference_in_place.bytes, use.inference.bytes) << model;
    EXPECT_GE(use.inference_in_place.bytes, use.inputs) << model;
    EXPECT_EQ(use.trainable, 4 * table.totals.params.trainable()) << model;
  }
}

}  // namespace
}  // namespace trainyard::analysis

// Parameters and MACs of the zoo against published figures.
#include <gtest/gtest.h>

#include "analysis/layers.h"
#include "models/zoo/model.h"

namespace trainyard::models {
namespace {

analysis::Figures figures(std::string_view model, const ModelOptions& options = {}) {
  return analysis::analyze_layers(build_model(model, options)).totals;
}

struct Exact {
  std::string_view model;
  int64_t trainable;
  bool auxiliary = false;
};

constexpr Exact kExactParameters[] = {
    // torchvision 0.14 documentation, "num_params".
    {"alexnet-one-tower", 61'100'840},
    {"vgg11", 132'863'336},
    {"vgg13", 133'047'848},
    {"vgg16", 138'357'544},
    {"vgg19", 143'667'240},
    {"googlenet-bn", 6'624'904},
    {"inception_v3", 27'161'264, true},
    {"resnet18", 11'689'512},
    {"resnet34", 21'797'672},
    {"resnet50", 25'557'032},
    {"resnet101", 44'549'160},
    {"resnet152", 60'192'808},
    {"mobilenet_v2", 3'504'872},
    {"squeezenet1_0", 1'248'424},
    {"densenet121", 7'978'856},
    {"shufflenet_v2", 2'278'604},
    {"mobilenet_v3_large", 5'483'032},
    {"mobilenet_v3_small", 2'542'856},
    {"efficientnet_b0", 5'288'548},
    {"convnext_tiny", 28'589'128},
    {"vit_b_16", 86'567'656},
    // BertForSequenceClassification with two labels and GPT2LMHeadModel of Hugging Face's
    // transformers, num_parameters().
    {"bert-base", 109'483'778},
    {"gpt2-small", 124'439'808},
    {"bert-tiny", 4'386'178},
    {"bert-mini", 11'171'074},
    {"bert-small", 28'764'674},
    {"bert-medium", 41'374'210},
    {"bert-large", 335'143'938},
    {"gpt2-medium", 354'823'168},
    // By hand: 512 * 384 in tables, six layers of 1,774,464, the last normalization.
    {"gpt-nano", 10'844'160},
    // By hand: 2 * 32000 * 512 in tables, eight layers of 2,950,144, the last normalization.
    {"llama", 56'369'664},
    // By hand: 2 * 32000 * 384 in tables, six layers of 397,056 and 8 experts of 3 * 384 * 512, the
    // last normalization.
    {"llama-moe", 55'270'272},
    // torchvision's modules with and without auxiliary heads.
    {"googlenet-bn", 13'004'888, true},
    {"inception_v3", 23'834'568},
    // Weights in the ONNX model zoo's bvlc_alexnet, inception_v1 and zfnet512.
    {"alexnet", 60'965'224},
    {"googlenet", 6'998'552},
    // 11,295,240 of the Caffe and PyTorch ports less the 10,016 biases that normalization undoes.
    {"inception_bn", 11'285'224},
    {"zfnet512", 87'250'536},
    // The form with a 3x3 stem that CIFAR papers use.
    {"resnet18-cifar", 11'173'962},
    // By hand: 156 + 2416 + 48120 + 10164 + 850.
    {"lenet5", 61'706},
    // By hand: 785 * 300 + 301 * 100 + 101 * 10.
    {"mlp", 266'610},
    // By hand: 8224 + 32832 + 36928 + 1606144 + 513 * 18.
    {"dqn-nature", 1'693'362},
};

TEST(Parameters, AreAsPublished) {
  for (const auto& [model, trainable, auxiliary] : kExactParameters) {
    EXPECT_EQ(figures(model, {.auxiliary = auxiliary}).params.trainable(), trainable) << model;
  }
}

// torchvision's weights fit images of any size: maps of 1, 3, 7, 8, 13 and 14 are pooled to 7.
TEST(Parameters, OfVggDoNotDependOnTheImage) {
  for (const int64_t image : {32, 96, 224, 256, 416, 448}) {
    EXPECT_EQ(figures("vgg16", {.image = image}).params.trainable(), 138'357'544) << image;
  }
}

TEST(Parameters, Vgg19WithoutBiases) {
  EXPECT_EQ(figures("vgg19").params.weights, 143'652'544);
}

// albanie/convnet-burden, with both heads: 51 MB of parameters.
TEST(Parameters, GooglenetWithAuxiliaryHeads) {
  const int64_t trainable = figures("googlenet", {.auxiliary = true}).params.trainable();
  EXPECT_EQ(trainable * 4 >> 20, 51);
}

// What pytorch-ssd's mb1-ssd and mb1-ssd-lite have for VOC's 20 classes and background.
TEST(Parameters, SsdMobilenetV1) {
  EXPECT_EQ(figures("ssd300-mobilenet_v1").params.trainable(), 9'468'996);
  EXPECT_EQ(figures("ssd300-mobilenet_v1").cost.macs / 1'000'000, 1526);
  EXPECT_EQ(figures("ssd300-mobilenet_v1-lite").params.trainable(), 4'312'388);
  EXPECT_EQ(figures("ssd300-mobilenet_v1-fine").params.trainable(), 9'814'746);
}

struct Rounded {
  std::string_view model;
  double millions;
  double rounding;  // half of the last digit given
  double width = 1.0;
  int64_t image = 0;
};

constexpr Rounded kRoundedParameters[] = {
    // He et al., arXiv:1512.03385, table 6.
    {"resnet20-cifar", 0.27, 0.005},
    {"resnet32-cifar", 0.46, 0.005},
    {"resnet44-cifar", 0.66, 0.005},
    {"resnet56-cifar", 0.85, 0.005},
    {"resnet110-cifar", 1.7, 0.05},
    // Howard et al., arXiv:1704.04861, tables 6 and 8.
    {"mobilenet_v1", 4.2, 0.05},
    {"mobilenet_v1", 2.6, 0.05, 0.75},
    {"mobilenet_v1", 1.3, 0.05, 0.5},
    {"mobilenet_v1", 0.5, 0.05, 0.25},
    // Sermanet et al., arXiv:1312.6229, table 4.
    {"overfeat", 146, 0.5},
    // torchvision 0.14 documentation.
    {"shufflenet_v2", 1.366792, 1e-9, 0.5},
    {"shufflenet_v2", 3.503624, 1e-9, 1.5},
    {"shufflenet_v2", 7.393996, 1e-9, 2.0},
};

TEST(Parameters, AgreeWithThePapersDigits) {
  for (const auto& [model, millions, rounding, width, image] : kRoundedParameters) {
    const ModelOptions options = {.image = image, .width = width};
    const int64_t trainable = figures(model, options).params.trainable();
    EXPECT_NEAR(static_cast<double>(trainable) / 1e6, millions, rounding) << model << " " << width;
  }
}

// Half the operations that nanoGPT's transformer_sizing notebook counts for 1,024 tokens, attention
// to all of them included.
TEST(Macs, OfGpt2AtItsLongest) {
  EXPECT_EQ(figures("gpt2-small", {.length = 1024}).cost.macs, 291'648'307'200 / 2);
}

// Sun et al., arXiv:2004.02984, table 4: 22.5 billion operations for 128 tokens.
TEST(Macs, OfBert) {
  const auto macs = static_cast<double>(figures("bert-base", {.length = 128}).cost.macs);
  EXPECT_NEAR(2 * macs / 1e9, 22.5, 0.2);
}

constexpr Rounded kMacs[] = {
    // torchvision 0.14 documentation, "GFLOPS", which are MACs.
    {"alexnet-one-tower", 714, 0.5},
    {"vgg11", 7609, 0.5},
    {"vgg13", 11308, 0.5},
    {"vgg16", 15470, 0.5},
    {"vgg19", 19632, 0.5},
    {"googlenet-bn", 1498, 0.5},
    {"inception_v3", 5713, 0.5},
    {"resnet18", 1814, 0.5},
    {"resnet34", 3664, 0.5},
    {"resnet50", 4089, 0.5},
    {"resnet101", 7801, 0.5},
    {"resnet152", 11514, 0.5},
    {"mobilenet_v2", 301, 0.5},
    {"squeezenet1_0", 819, 0.5},
    {"densenet121", 2834, 0.5},
    {"shufflenet_v2", 145, 0.5},
    {"mobilenet_v3_large", 220, 5.0},
    {"mobilenet_v3_small", 60, 5.0},
    {"efficientnet_b0", 390, 5.0},
    {"convnext_tiny", 4460, 5.0},
    {"vit_b_16", 17560, 5.0},
    {"shufflenet_v2", 40, 0.5, 0.5},
    {"shufflenet_v2", 296, 0.5, 1.5},
    {"shufflenet_v2", 583, 0.5, 2.0},
    // Howard et al., arXiv:1704.04861, tables 6 and 7 (some digits are cut, not rounded).
    {"mobilenet_v1", 569, 1.0},
    {"mobilenet_v1", 325, 1.0, 0.75},
    {"mobilenet_v1", 149, 1.0, 0.5},
    {"mobilenet_v1", 41, 1.0, 0.25},
    {"mobilenet_v1", 418, 1.0, 1.0, 192},
    {"mobilenet_v1", 290, 1.0, 1.0, 160},
    {"mobilenet_v1", 186, 1.0, 1.0, 128},
};

TEST(Macs, AgreeWithPublishedDigits) {
  for (const auto& [model, millions, rounding, width, image] : kMacs) {
    const int64_t macs = figures(model, {.image = image, .width = width}).cost.macs;
    EXPECT_NEAR(static_cast<double>(macs) / 1e6, millions, rounding)
        << model << " " << width << " " << image;
  }
}

TEST(Macs, OfVgg19Exactly) {
  EXPECT_EQ(figures("vgg19").cost.macs, 19'632'062'464);
}

TEST(Macs, OfTheLargestOptionsStayWithin64Bits) {
  const ModelOptions one = {.image = 8192};
  const ModelOptions many = {.batch = 65536, .image = 8192};
  EXPECT_EQ(figures("vgg19", many).cost.flops / many.batch, figures("vgg19", one).cost.flops);
}

TEST(Macs, OfTheInceptionModules) {
  EXPECT_EQ(figures("inception-module-naive").cost.macs, 1'115'684'864);
  EXPECT_EQ(figures("inception-module-reduced").cost.macs, 354'418'688);
}

}  // namespace
}  // namespace trainyard::models

// ResNet for ImageNet as torchvision has it (the stride of a bottleneck sits in its 3x3
// convolution), and the same network with a 3x3 stem for CIFAR.
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

enum class ResnetBlock : uint8_t { kBasic, kBottleneck };
enum class Stem : uint8_t { kImagenet, kCifar };

struct Config {
  std::string_view name;
  ResnetBlock block;
  std::array<int64_t, 4> depths;  // blocks of each stage
  Stem stem = Stem::kImagenet;
};

int64_t expansion(ResnetBlock block) {
  return block == ResnetBlock::kBasic ? 1 : 4;
}

ValueId basic_branch(Net& net, ValueId x, const std::string& name, int64_t planes, int64_t stride) {
  x = net.conv_norm(x, name + ".conv1", name + ".bn1",
                    {.out = planes, .kernel = 3, .stride = stride, .pad = 1});
  x = net.relu(x, name + ".relu1");
  return net.conv_norm(x, name + ".conv2", name + ".bn2", {.out = planes, .kernel = 3, .pad = 1});
}

ValueId bottleneck_branch(Net& net, ValueId x, const std::string& name, int64_t planes,
                          int64_t stride) {
  x = net.relu(net.conv_norm(x, name + ".conv1", name + ".bn1", {.out = planes}), name + ".relu1");
  x = net.conv_norm(x, name + ".conv2", name + ".bn2",
                    {.out = planes, .kernel = 3, .stride = stride, .pad = 1});
  x = net.relu(x, name + ".relu2");
  return net.conv_norm(x, name + ".conv3", name + ".bn3",
                       {.out = planes * expansion(ResnetBlock::kBottleneck)});
}

ValueId residual_block(Net& net, ValueId x, const std::string& name, ResnetBlock block,
                       int64_t planes, int64_t stride) {
  const int64_t out = planes * expansion(block);
  const ValueId branch = block == ResnetBlock::kBasic
                             ? basic_branch(net, x, name, planes, stride)
                             : bottleneck_branch(net, x, name, planes, stride);
  if (stride != 1 || net.channels(x) != out) {
    x = net.conv_norm(x, name + ".downsample.0", name + ".downsample.1",
                      {.out = out, .stride = stride});
  }
  return net.relu(net.add(branch, x, name + ".add"), name + ".relu");
}

Graph build_resnet(const Config& config, const ModelOptions& options) {
  Net net(config.name, {.fan = FanMode::kOut});
  ValueId x = net.image(options);
  if (config.stem == Stem::kImagenet) {
    x = net.conv_norm(x, "conv1", "bn1", {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
    x = net.max_pool(net.relu(x, "relu"), "maxpool", {.kernel = 3, .stride = 2, .pad = 1});
  } else {
    x = net.conv_norm(x, "conv1", "bn1", {.out = 64, .kernel = 3, .pad = 1});
    x = net.relu(x, "relu");
  }
  for (size_t stage = 0; stage < config.depths.size(); ++stage) {
    const int64_t planes = int64_t{64} << stage;
    for (int64_t i = 0; i < config.depths[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = residual_block(net, x, name, config.block, planes, stage > 0 && i == 0 ? 2 : 1);
    }
  }
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  return net.finish({{net.linear(x, "fc", options.classes), "logits"}});
}

constexpr ModelDef imagenet(const Config& config, std::string_view summary,
                            BuildFunction function) {
  return {.name = config.name,
          .summary = summary,
          .paper = {.authors = "He, Zhang, Ren, Sun",
                    .title = "Deep Residual Learning for Image Recognition",
                    .where = "CVPR 2016, arXiv:1512.03385"},
          .smallest_image = 32,
          .build = function};
}

constexpr ModelDef cifar(const Config& config, std::string_view summary, BuildFunction function) {
  ModelDef model = imagenet(config, summary, function);
  model.image = 32;
  model.classes = 10;
  model.smallest_image = 8;
  return model;
}

constexpr Config k18 = {"resnet18", ResnetBlock::kBasic, {2, 2, 2, 2}};
constexpr Config k34 = {"resnet34", ResnetBlock::kBasic, {3, 4, 6, 3}};
constexpr Config k50 = {"resnet50", ResnetBlock::kBottleneck, {3, 4, 6, 3}};
constexpr Config k101 = {"resnet101", ResnetBlock::kBottleneck, {3, 4, 23, 3}};
constexpr Config k152 = {"resnet152", ResnetBlock::kBottleneck, {3, 8, 36, 3}};
constexpr Config k18Cifar = {"resnet18-cifar", ResnetBlock::kBasic, {2, 2, 2, 2}, Stem::kCifar};
constexpr Config k50Cifar = {
    "resnet50-cifar", ResnetBlock::kBottleneck, {3, 4, 6, 3}, Stem::kCifar};

template <const Config& config>
Graph build_config(const ModelOptions& options) {
  return build_resnet(config, options);
}

}  // namespace

extern const ModelDef kResnet18 = imagenet(k18, "ResNet, 18 layers", build_config<k18>);
extern const ModelDef kResnet34 = imagenet(k34, "ResNet, 34 layers", build_config<k34>);
extern const ModelDef kResnet50 = imagenet(k50, "ResNet, 50 layers", build_config<k50>);
extern const ModelDef kResnet101 = imagenet(k101, "ResNet, 101 layers", build_config<k101>);
extern const ModelDef kResnet152 = imagenet(k152, "ResNet, 152 layers", build_config<k152>);
extern const ModelDef kResnet18Cifar =
    cifar(k18Cifar, "ResNet-18 with a 3x3 stem for small images", build_config<k18Cifar>);
extern const ModelDef kResnet50Cifar =
    cifar(k50Cifar, "ResNet-50 with a 3x3 stem for small images", build_config<k50Cifar>);

}  // namespace trainyard::models

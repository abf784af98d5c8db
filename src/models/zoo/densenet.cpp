// DenseNet-121 as torchvision has it: growth 32, bottlenecks of 128 maps, compression by half.
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kGrowth = 32;
constexpr int64_t kBottleneckChannels = 4 * kGrowth;
constexpr std::array<int, 4> kDensenetDepths = {6, 12, 24, 16};

// New maps, appended to all maps so far.
ValueId dense_layer(Net& net, ValueId x, const std::string& name) {
  ValueId y = net.relu(net.batch_norm(x, name + ".norm1"), name + ".relu1");
  y = net.conv_norm(y, name + ".conv1", name + ".norm2", {.out = kBottleneckChannels});
  y = net.relu(y, name + ".relu2");
  y = net.conv_no_bias(y, name + ".conv2", {.out = kGrowth, .kernel = 3, .pad = 1});
  return net.concat({x, y}, name + ".concat");
}

ValueId transition(Net& net, ValueId x, const std::string& name) {
  const int64_t out = net.channels(x) / 2;
  x = net.relu(net.batch_norm(x, name + ".norm"), name + ".relu");
  x = net.conv_no_bias(x, name + ".conv", {.out = out});
  return net.average_pool(x, name + ".pool", {.kernel = 2, .stride = 2});
}

Graph build_densenet(const ModelOptions& options) {
  Net net("densenet121");
  ValueId x = net.image(options);
  x = net.conv_norm(x, "features.conv0", "features.norm0",
                    {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = net.relu(x, "features.relu0");
  x = net.max_pool(x, "features.pool0", {.kernel = 3, .stride = 2, .pad = 1});
  for (size_t block = 0; block < kDensenetDepths.size(); ++block) {
    const std::string number = std::to_string(block + 1);
    for (int i = 1; i <= kDensenetDepths[block]; ++i) {
      x = dense_layer(net, x, "features.denseblock" + number + ".denselayer" + std::to_string(i));
    }
    if (block + 1 < kDensenetDepths.size()) x = transition(net, x, "features.transition" + number);
  }
  x = net.relu(net.batch_norm(x, "features.norm5"), "relu");
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  return net.finish({{net.linear(x, "classifier", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kDensenet121 = {.name = "densenet121",
                                      .summary = "DenseNet, 121 layers, growth 32",
                                      .paper = {.authors = "Huang, Liu, van der Maaten, Weinberger",
                                                .title = "Densely Connected Convolutional Networks",
                                                .where = "CVPR 2017, arXiv:1608.06993"},
                                      .smallest_image = 29,
                                      .build = build_densenet};

}  // namespace trainyard::models

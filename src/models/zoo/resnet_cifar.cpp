// The CIFAR networks of the ResNet paper (section 4.2): 6n+2 layers, 16 to 64 maps, and shortcuts
// without parameters (option A): every second pixel, and zeros for the channels that are new.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

ValueId shortcut(Net& net, ValueId x, const std::string& name, int64_t out, int64_t size) {
  const int64_t missing = out - net.channels(x);
  x = net.slice(x, name + ".shortcut.slice",
                {{.axis = 2, .begin = 0, .end = size, .step = 2},
                 {.axis = 3, .begin = 0, .end = size, .step = 2}});
  return net.pad_channels(x, name + ".shortcut.pad", missing / 2, missing - missing / 2);
}

Graph build_resnet_cifar(std::string_view name, int64_t blocks, const ModelOptions& options) {
  Net net(name);
  ValueId x = net.image(options);
  int64_t size = options.image;
  x = net.relu(net.conv_norm(x, "conv1", "bn1", {.out = 16, .kernel = 3, .pad = 1}), "relu");
  for (int64_t stage = 0; stage < 3; ++stage) {
    const int64_t out = int64_t{16} << stage;
    for (int64_t i = 0; i < blocks; ++i) {
      const std::string block = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      const bool halves = stage > 0 && i == 0;
      ValueId y = net.conv_norm(x, block + ".conv1", block + ".bn1",
                                {.out = out, .kernel = 3, .stride = halves ? 2 : 1, .pad = 1});
      y = net.relu(y, block + ".relu1");
      y = net.conv_norm(y, block + ".conv2", block + ".bn2", {.out = out, .kernel = 3, .pad = 1});
      if (halves) {
        x = shortcut(net, x, block, out, size);
        size = (size + 1) / 2;
      }
      x = net.relu(net.add(y, x, block + ".add"), block + ".relu");
    }
  }
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  return net.finish({{net.linear(x, "fc", options.classes), "logits"}});
}

constexpr ModelDef resnet_cifar(std::string_view name, std::string_view summary,
                                BuildFunction function) {
  return {.name = name,
          .summary = summary,
          .paper = {.authors = "He, Zhang, Ren, Sun",
                    .title = "Deep Residual Learning for Image Recognition",
                    .where = "CVPR 2016, arXiv:1512.03385"},
          .image = 32,
          .classes = 10,
          .smallest_image = 4,
          .build = function};
}

}  // namespace

extern const ModelDef kResnet20Cifar =
    resnet_cifar("resnet20-cifar", "ResNet for CIFAR, 20 layers",
                 [](const ModelOptions& o) { return build_resnet_cifar("resnet20-cifar", 3, o); });
extern const ModelDef kResnet32Cifar =
    resnet_cifar("resnet32-cifar", "ResNet for CIFAR, 32 layers",
                 [](const ModelOptions& o) { return build_resnet_cifar("resnet32-cifar", 5, o); });
extern const ModelDef kResnet44Cifar =
    resnet_cifar("resnet44-cifar", "ResNet for CIFAR, 44 layers",
                 [](const ModelOptions& o) { return build_resnet_cifar("resnet44-cifar", 7, o); });
extern const ModelDef kResnet56Cifar =
    resnet_cifar("resnet56-cifar", "ResNet for CIFAR, 56 layers",
                 [](const ModelOptions& o) { return build_resnet_cifar("resnet56-cifar", 9, o); });
extern const ModelDef kResnet110Cifar = resnet_cifar(
    "resnet110-cifar", "ResNet for CIFAR, 110 layers",
    [](const ModelOptions& o) { return build_resnet_cifar("resnet110-cifar", 18, o); });

}  // namespace trainyard::models

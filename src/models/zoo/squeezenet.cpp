// SqueezeNet 1.0 as torchvision has it.
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

ValueId fire(Net& net, ValueId x, const std::string& name, int64_t squeeze, int64_t expand) {
  x = net.conv_relu(x, name + ".squeeze", {.out = squeeze});
  const ValueId small = net.conv_relu(x, name + ".expand1x1", {.out = expand});
  const ValueId large =
      net.conv_relu(x, name + ".expand3x3", {.out = expand, .kernel = 3, .pad = 1});
  return net.concat({small, large}, name + ".concat");
}

Graph build_squeezenet(const ModelOptions& options) {
  Net net("squeezenet1_0");
  const PoolSpec pool = {.kernel = 3, .stride = 2, .ceil = true};
  ValueId x = net.image(options);
  x = net.relu(net.conv(x, "features.0", {.out = 96, .kernel = 7, .stride = 2}), "features.1");
  x = net.max_pool(x, "features.2", pool);
  x = fire(net, x, "features.3", 16, 64);
  x = fire(net, x, "features.4", 16, 64);
  x = fire(net, x, "features.5", 32, 128);
  x = net.max_pool(x, "features.6", pool);
  x = fire(net, x, "features.7", 32, 128);
  x = fire(net, x, "features.8", 48, 192);
  x = fire(net, x, "features.9", 48, 192);
  x = fire(net, x, "features.10", 64, 256);
  x = net.max_pool(x, "features.11", pool);
  x = fire(net, x, "features.12", 64, 256);
  x = net.dropout(x, "classifier.0", 0.5F);
  x = net.relu(net.conv(x, "classifier.1", {.out = options.classes}), "classifier.2");
  x = net.flatten(net.global_average(x, "classifier.3"), "flatten");
  return net.finish({{x, "logits"}});
}

}  // namespace

extern const ModelDef kSqueezenet10 = {
    .name = "squeezenet1_0",
    .summary = "SqueezeNet 1.0",
    .paper =
        {.authors = "Iandola, Han, Moskewicz, Ashraf, Dally, Keutzer",
         .title =
             "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB model size",
         .where = "arXiv:1602.07360"},
    .smallest_image = 29,
    .build = build_squeezenet};

}  // namespace trainyard::models

// Network in Network, the authors' ImageNet model: each convolution is followed by two 1x1
// convolutions, and the last maps, one per class, are averaged.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

ValueId mlpconv(Net& net, ValueId x, const std::string& name, const ConvSpec& spec, int64_t last) {
  x = net.conv_relu(x, name + ".conv", spec);
  x = net.conv_relu(x, name + ".cccp1", {.out = spec.out});
  return net.conv_relu(x, name + ".cccp2", {.out = last});
}

Graph build_nin(const ModelOptions& options) {
  Net net("nin");
  const PoolSpec pool = {.kernel = 3, .stride = 2, .ceil = true};
  ValueId x = net.image(options);
  x = mlpconv(net, x, "mlpconv1", {.out = 96, .kernel = 11, .stride = 4}, 96);
  x = net.max_pool(x, "pool1", pool);
  x = mlpconv(net, x, "mlpconv2", {.out = 256, .kernel = 5, .pad = 2}, 256);
  x = net.max_pool(x, "pool2", pool);
  x = mlpconv(net, x, "mlpconv3", {.out = 384, .kernel = 3, .pad = 1}, 384);
  x = net.max_pool(x, "pool3", pool);
  x = net.dropout(x, "drop", 0.5F);
  x = mlpconv(net, x, "mlpconv4", {.out = 1024, .kernel = 3, .pad = 1}, options.classes);
  x = net.flatten(net.global_average(x, "pool4"), "flatten");
  return net.finish({{x, "logits"}});
}

}  // namespace

extern const ModelDef kNin = {.name = "nin",
                              .summary = "Network in Network for ImageNet",
                              .paper = {.authors = "Lin, Chen, Yan",
                                        .title = "Network In Network",
                                        .where = "ICLR 2014, arXiv:1312.4400"},
                              .smallest_image = 55,
                              .build = build_nin};

}  // namespace trainyard::models

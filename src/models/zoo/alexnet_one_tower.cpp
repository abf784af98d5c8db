// AlexNet for one GPU (2014), as torchvision has it. fc6 is as wide as the last map is large;
// torchvision pools that map to 6x6, which is what 224x224 images give.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

Graph build_alexnet_one_tower(const ModelOptions& options) {
  Net net("alexnet-one-tower");
  ValueId x = net.image(options);
  x = net.conv(x, "features.0", {.out = 64, .kernel = 11, .stride = 4, .pad = 2});
  x = net.relu(x, "features.1");
  x = net.max_pool(x, "features.2", {.kernel = 3, .stride = 2});
  x = net.relu(net.conv(x, "features.3", {.out = 192, .kernel = 5, .pad = 2}), "features.4");
  x = net.max_pool(x, "features.5", {.kernel = 3, .stride = 2});
  x = net.relu(net.conv(x, "features.6", {.out = 384, .kernel = 3, .pad = 1}), "features.7");
  x = net.relu(net.conv(x, "features.8", {.out = 256, .kernel = 3, .pad = 1}), "features.9");
  x = net.relu(net.conv(x, "features.10", {.out = 256, .kernel = 3, .pad = 1}), "features.11");
  x = net.max_pool(x, "features.12", {.kernel = 3, .stride = 2});
  x = net.dropout(net.flatten(x, "flatten"), "classifier.0", 0.5F);
  x = net.relu(net.linear(x, "classifier.1", 4096), "classifier.2");
  x = net.dropout(x, "classifier.3", 0.5F);
  x = net.relu(net.linear(x, "classifier.4", 4096), "classifier.5");
  return net.finish({{net.linear(x, "classifier.6", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kAlexnetOneTower = {
    .name = "alexnet-one-tower",
    .summary = "AlexNet for one device, as in torchvision",
    .paper = {.authors = "Krizhevsky",
              .title = "One weird trick for parallelizing convolutional neural networks",
              .where = "arXiv:1404.5997"},
    .smallest_image = 63,
    .build = build_alexnet_one_tower};

}  // namespace trainyard::models

// AlexNet of 2012: two towers on two GPUs, which are convolutions in two groups, and local response
// normalization. The paper's arithmetic needs 227x227 where its text says 224x224.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

ValueId normalize_and_pool(Net& net, ValueId x, const std::string& number) {
  x = net.local_response_norm(x, "norm" + number, /*window=*/5, /*k=*/2, /*alpha=*/1e-4,
                              /*beta=*/0.75);
  return net.max_pool(x, "pool" + number, {.kernel = 3, .stride = 2});
}

Graph build_alexnet(const ModelOptions& options) {
  Net net("alexnet");
  ValueId x = net.image(options);
  x = net.conv_relu(x, "conv1", {.out = 96, .kernel = 11, .stride = 4});
  x = normalize_and_pool(net, x, "1");
  x = net.conv_relu(x, "conv2", {.out = 256, .kernel = 5, .pad = 2, .group = 2});
  x = normalize_and_pool(net, x, "2");
  x = net.conv_relu(x, "conv3", {.out = 384, .kernel = 3, .pad = 1});
  x = net.conv_relu(x, "conv4", {.out = 384, .kernel = 3, .pad = 1, .group = 2});
  x = net.conv_relu(x, "conv5", {.out = 256, .kernel = 3, .pad = 1, .group = 2});
  x = net.max_pool(x, "pool5", {.kernel = 3, .stride = 2});
  x = net.flatten(x, "flatten");
  x = net.relu(net.linear(x, "fc6", 4096), "fc6.relu");
  x = net.dropout(x, "drop6", 0.5F);
  x = net.relu(net.linear(x, "fc7", 4096), "fc7.relu");
  x = net.dropout(x, "drop7", 0.5F);
  return net.finish({{net.linear(x, "fc8", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kAlexnet = {
    .name = "alexnet",
    .summary = "AlexNet of 2012: two towers, local response normalization",
    .paper = {.authors = "Krizhevsky, Sutskever, Hinton",
              .title = "ImageNet Classification with Deep Convolutional Neural Networks",
              .where = "NIPS 2012"},
    .image = 227,
    .smallest_image = 67,
    .build = build_alexnet};

}  // namespace trainyard::models

// ZFNet with 512 maps in conv3 to conv5, in the form of the ONNX model zoo: smaller, denser first
// filters than AlexNet's and no groups.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

Graph build_zfnet(const ModelOptions& options) {
  Net net("zfnet512");
  const auto norm = [&net](ValueId x, const std::string& name) {
    return net.local_response_norm(x, name, /*window=*/5, /*k=*/2, /*alpha=*/1e-4, /*beta=*/0.75);
  };
  ValueId x = net.image(options);
  x = norm(net.conv_relu(x, "conv1", {.out = 96, .kernel = 7, .stride = 2}), "norm1");
  x = net.max_pool(x, "pool1", {.kernel = 3, .stride = 2});
  x = norm(net.conv_relu(x, "conv2", {.out = 256, .kernel = 5, .stride = 2}), "norm2");
  x = net.max_pool(x, "pool2", {.kernel = 3, .stride = 2});
  for (const char* name : {"conv3", "conv4", "conv5"}) {
    x = net.conv_relu(x, name, {.out = 512, .kernel = 3, .pad = 1});
  }
  x = net.max_pool(x, "pool5", {.kernel = 2, .stride = 2});
  x = net.flatten(x, "flatten");
  x = net.relu(net.linear(x, "fc6", 4096), "fc6.relu");
  x = net.dropout(x, "drop6", 0.5F);
  x = net.relu(net.linear(x, "fc7", 1024), "fc7.relu");
  x = net.dropout(x, "drop7", 0.5F);
  return net.finish({{net.linear(x, "fc8", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kZfnet512 = {
    .name = "zfnet512",
    .summary = "ZFNet with 512 maps, as in the ONNX model zoo",
    .paper = {.authors = "Zeiler, Fergus",
              .title = "Visualizing and Understanding Convolutional Networks",
              .where = "ECCV 2014, arXiv:1311.2901"},
    .smallest_image = 59,
    .build = build_zfnet};

}  // namespace trainyard::models

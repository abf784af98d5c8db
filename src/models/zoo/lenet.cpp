// LeNet-5 as it is commonly built: tanh and averaging as in 1998; the 28x28 digit is padded to the
// paper's 32x32 by the first convolution, every map of C3 sees all maps of S2, the subsampling
// layers have no coefficients of their own, and the output layer is linear instead of radial.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

Graph build_lenet(const ModelOptions& options) {
  Net net("lenet5", {.fan = FanMode::kBoth});
  ValueId x = net.image(options, 1);
  x = net.tanh(net.conv(x, "conv1", {.out = 6, .kernel = 5, .pad = 2}), "conv1.tanh");
  x = net.average_pool(x, "pool1", {.kernel = 2, .stride = 2});
  x = net.tanh(net.conv(x, "conv2", {.out = 16, .kernel = 5}), "conv2.tanh");
  x = net.average_pool(x, "pool2", {.kernel = 2, .stride = 2});
  x = net.flatten(x, "flatten");
  x = net.tanh(net.linear(x, "fc1", 120), "fc1.tanh");
  x = net.tanh(net.linear(x, "fc2", 84), "fc2.tanh");
  return net.finish({{net.linear(x, "fc3", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kLenet5 = {
    .name = "lenet5",
    .summary = "LeNet-5 with full C3 connections and a linear output",
    .paper = {.authors = "LeCun, Bottou, Bengio, Haffner",
              .title = "Gradient-Based Learning Applied to Document Recognition",
              .where = "Proc. IEEE 86(11), 1998"},
    .channels = 1,
    .image = 28,
    .classes = 10,
    .smallest_image = 12,
    .build = build_lenet};

}  // namespace trainyard::models

// OverFeat, the fast model (table 1 of the paper).
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

Graph build_overfeat(const ModelOptions& options) {
  Net net("overfeat");
  const PoolSpec pool = {.kernel = 2, .stride = 2};
  ValueId x = net.image(options);
  x = net.conv_relu(x, "conv1", {.out = 96, .kernel = 11, .stride = 4});
  x = net.max_pool(x, "pool1", pool);
  x = net.conv_relu(x, "conv2", {.out = 256, .kernel = 5});
  x = net.max_pool(x, "pool2", pool);
  x = net.conv_relu(x, "conv3", {.out = 512, .kernel = 3, .pad = 1});
  x = net.conv_relu(x, "conv4", {.out = 1024, .kernel = 3, .pad = 1});
  x = net.conv_relu(x, "conv5", {.out = 1024, .kernel = 3, .pad = 1});
  x = net.max_pool(x, "pool5", pool);
  x = net.flatten(x, "flatten");
  x = net.relu(net.linear(x, "fc6", 3072), "fc6.relu");
  x = net.dropout(x, "drop6", 0.5F);
  x = net.relu(net.linear(x, "fc7", 4096), "fc7.relu");
  x = net.dropout(x, "drop7", 0.5F);
  return net.finish({{net.linear(x, "fc8", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kOverfeat = {
    .name = "overfeat",
    .summary = "OverFeat, the fast model",
    .paper = {.authors = "Sermanet, Eigen, Zhang, Mathieu, Fergus, LeCun",
              .title = "OverFeat: Integrated Recognition, Localization and Detection using "
                       "Convolutional Networks",
              .where = "ICLR 2014, arXiv:1312.6229"},
    .image = 231,
    .smallest_image = 71,
    .build = build_overfeat};

}  // namespace trainyard::models

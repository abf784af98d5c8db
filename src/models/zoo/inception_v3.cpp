// Inception v3 as torchvision has it.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr PoolSpec kInceptionV3Halve = {.kernel = 3, .stride = 2};
constexpr PoolSpec kSmooth = {.kernel = 3, .stride = 1, .pad = 1};

constexpr ConvSpec conv3x3(int64_t out) {
  return {.out = out, .kernel = 3, .pad = 1};
}
constexpr ConvSpec conv3x3_halve(int64_t out) {
  return {.out = out, .kernel = 3, .stride = 2};
}
constexpr ConvSpec row(int64_t out, int64_t size) {
  return {.out = out, .kernel = {1, size}, .pad = {0, size / 2}};
}
constexpr ConvSpec column(int64_t out, int64_t size) {
  return {.out = out, .kernel = {size, 1}, .pad = {size / 2, 0}};
}

ValueId unit_inception_v3(Net& net, ValueId x, const std::string& name, const ConvSpec& spec) {
  return net.relu(net.conv_norm(x, name + ".conv", name + ".bn", spec), name + ".relu");
}

// Units named NAME_1, NAME_2, …
ValueId chain(Net& net, ValueId x, const std::string& name, const std::vector<ConvSpec>& specs) {
  int number = 0;
  for (const ConvSpec& spec : specs) {
    x = unit_inception_v3(net, x, name + "_" + std::to_string(++number), spec);
  }
  return x;
}

ValueId pool_branch(Net& net, ValueId x, const std::string& name, int64_t out) {
  x = net.average_pool(x, name + ".avgpool", kSmooth);
  return unit_inception_v3(net, x, name + ".branch_pool", {.out = out});
}

// The paper's figure 5.
ValueId block_a(Net& net, ValueId x, const std::string& name, int64_t pool) {
  const ConvSpec conv5x5 = {.out = 64, .kernel = 5, .pad = 2};
  const ValueId b1 = unit_inception_v3(net, x, name + ".branch1x1", {.out = 64});
  const ValueId b2 = chain(net, x, name + ".branch5x5", {{.out = 48}, conv5x5});
  const ValueId b3 = chain(net, x, name + ".branch3x3dbl", {{.out = 64}, conv3x3(96), conv3x3(96)});
  return net.concat({b1, b2, b3, pool_branch(net, x, name, pool)}, name + ".concat");
}

// 35x35 to 17x17.
ValueId block_b(Net& net, ValueId x, const std::string& name) {
  const ValueId b1 = unit_inception_v3(net, x, name + ".branch3x3", conv3x3_halve(384));
  const ValueId b2 =
      chain(net, x, name + ".branch3x3dbl", {{.out = 64}, conv3x3(96), conv3x3_halve(96)});
  return net.concat({b1, b2, net.max_pool(x, name + ".maxpool", kInceptionV3Halve)},
                    name + ".concat");
}

// Figure 6.
ValueId block_c(Net& net, ValueId x, const std::string& name, int64_t c) {
  const ValueId b1 = unit_inception_v3(net, x, name + ".branch1x1", {.out = 192});
  const ValueId b2 = chain(net, x, name + ".branch7x7", {{.out = c}, row(c, 7), column(192, 7)});
  const ValueId b3 = chain(net, x, name + ".branch7x7dbl",
                           {{.out = c}, column(c, 7), row(c, 7), column(c, 7), row(192, 7)});
  return net.concat({b1, b2, b3, pool_branch(net, x, name, 192)}, name + ".concat");
}

// 17x17 to 8x8.
ValueId block_d(Net& net, ValueId x, const std::string& name) {
  const ValueId b1 = chain(net, x, name + ".branch3x3", {{.out = 192}, conv3x3_halve(320)});
  const ValueId b2 = chain(net, x, name + ".branch7x7x3",
                           {{.out = 192}, row(192, 7), column(192, 7), conv3x3_halve(192)});
  return net.concat({b1, b2, net.max_pool(x, name + ".maxpool", kInceptionV3Halve)},
                    name + ".concat");
}

// Figure 7.
ValueId block_e(Net& net, ValueId x, const std::string& name) {
  const auto fork = [&](ValueId from, const std::string& stem) {
    const ValueId a = unit_inception_v3(net, from, stem + "a", row(384, 3));
    const ValueId b = unit_inception_v3(net, from, stem + "b", column(384, 3));
    return net.concat({a, b}, stem + ".concat");
  };
  const ValueId b1 = unit_inception_v3(net, x, name + ".branch1x1", {.out = 320});
  const ValueId b2 =
      fork(chain(net, x, name + ".branch3x3", {{.out = 384}}), name + ".branch3x3_2");
  const ValueId b3 = fork(chain(net, x, name + ".branch3x3dbl", {{.out = 448}, conv3x3(384)}),
                          name + ".branch3x3dbl_3");
  return net.concat({b1, b2, b3, pool_branch(net, x, name, 192)}, name + ".concat");
}

ValueId auxiliary_head(Net& net, ValueId x, int64_t classes) {
  x = net.average_pool(x, "AuxLogits.pool", {.kernel = 5, .stride = 3});
  x = unit_inception_v3(net, x, "AuxLogits.conv0", {.out = 128});
  x = unit_inception_v3(net, x, "AuxLogits.conv1", {.out = 768, .kernel = 5});
  x = net.flatten(net.global_average(x, "AuxLogits.avgpool"), "AuxLogits.flatten");
  return net.linear(x, "AuxLogits.fc", classes);
}

ValueId stem(Net& net, ValueId x) {
  x = unit_inception_v3(net, x, "Conv2d_1a_3x3", conv3x3_halve(32));
  x = unit_inception_v3(net, x, "Conv2d_2a_3x3", {.out = 32, .kernel = 3});
  x = unit_inception_v3(net, x, "Conv2d_2b_3x3", conv3x3(64));
  x = net.max_pool(x, "maxpool1", kInceptionV3Halve);
  x = unit_inception_v3(net, x, "Conv2d_3b_1x1", {.out = 80});
  x = unit_inception_v3(net, x, "Conv2d_4a_3x3", {.out = 192, .kernel = 3});
  return net.max_pool(x, "maxpool2", kInceptionV3Halve);
}

Graph build_inception_v3(const ModelOptions& options) {
  Net net("inception_v3", {.norm_epsilon = 1e-3F});
  ValueId x = stem(net, net.image(options));
  x = block_a(net, x, "Mixed_5b", 32);
  x = block_a(net, x, "Mixed_5c", 64);
  x = block_a(net, x, "Mixed_5d", 64);
  x = block_b(net, x, "Mixed_6a");
  x = block_c(net, x, "Mixed_6b", 128);
  x = block_c(net, x, "Mixed_6c", 160);
  x = block_c(net, x, "Mixed_6d", 160);
  x = block_c(net, x, "Mixed_6e", 192);
  ValueId head = kNoValue;
  if (options.auxiliary) head = auxiliary_head(net, x, options.classes);
  x = block_d(net, x, "Mixed_7a");
  x = block_e(net, x, "Mixed_7b");
  x = block_e(net, x, "Mixed_7c");
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  x = net.linear(net.dropout(x, "dropout", 0.5F), "fc", options.classes);
  std::vector<NetOutput> outputs = {{x, "logits"}};
  if (options.auxiliary) outputs.push_back({head, "aux.logits"});
  return net.finish(outputs);
}

}  // namespace

extern const ModelDef kInceptionV3 = {
    .name = "inception_v3",
    .summary = "Inception v3, as in torchvision; auxiliary: output aux.logits",
    .paper = {.authors = "Szegedy, Vanhoucke, Ioffe, Shlens, Wojna",
              .title = "Rethinking the Inception Architecture for Computer Vision",
              .where = "CVPR 2016, arXiv:1512.00567"},
    .image = 299,
    .smallest_image = 75,
    .has_auxiliary = true,
    .build = build_inception_v3};

}  // namespace trainyard::models

// One inception module on a 32x32x256 map, as the GoogLeNet paper's figure 2 has it: naive, and
// with 1x1 convolutions that reduce the channels to 64 before the dear ones and after the pooling.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kInputChannels = 256;
constexpr int64_t kReduced = 64;
constexpr ConvSpec k1x1 = {.out = 128};
constexpr ConvSpec k3x3 = {.out = 192, .kernel = 3, .pad = 1};
constexpr ConvSpec k5x5 = {.out = 96, .kernel = 5, .pad = 2};
constexpr PoolSpec kPool = {.kernel = 3, .stride = 1, .pad = 1};

Graph build_naive(const ModelOptions& options) {
  Net net("inception-module-naive");
  const ValueId x = net.image(options, kInputChannels);
  const ValueId y =
      net.concat({net.conv_relu(x, "conv1x1", k1x1), net.conv_relu(x, "conv3x3", k3x3),
                  net.conv_relu(x, "conv5x5", k5x5), net.max_pool(x, "pool", kPool)},
                 "concat");
  return net.finish({{y, "output"}});
}

Graph build_reduced(const ModelOptions& options) {
  Net net("inception-module-reduced");
  const ValueId x = net.image(options, kInputChannels);
  const ValueId b1 = net.conv_relu(x, "conv1x1", k1x1);
  const ValueId b2 =
      net.conv_relu(net.conv_relu(x, "reduce3x3", {.out = kReduced}), "conv3x3", k3x3);
  const ValueId b3 =
      net.conv_relu(net.conv_relu(x, "reduce5x5", {.out = kReduced}), "conv5x5", k5x5);
  const ValueId b4 =
      net.conv_relu(net.max_pool(x, "pool", kPool), "pool_projection", {.out = kReduced});
  return net.finish({{net.concat({b1, b2, b3, b4}, "concat"), "output"}});
}

constexpr ModelDef module(std::string_view name, std::string_view summary, BuildFunction function) {
  return {.name = name,
          .summary = summary,
          .paper = {.authors =
                        "Szegedy, Liu, Jia, Sermanet, Reed, Anguelov, Erhan, Vanhoucke, Rabinovich",
                    .title = "Going Deeper with Convolutions",
                    .where = "CVPR 2015, arXiv:1409.4842"},
          .channels = kInputChannels,
          .image = 32,
          .classes = 0,
          .smallest_image = 1,
          .build = function};
}

}  // namespace

extern const ModelDef kInceptionModuleNaive =
    module("inception-module-naive", "one inception module without reductions; output 'output'",
           build_naive);
extern const ModelDef kInceptionModuleReduced =
    module("inception-module-reduced",
           "one inception module with reductions to 64; output 'output'", build_reduced);

}  // namespace trainyard::models

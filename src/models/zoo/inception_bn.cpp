// Inception-BN: GoogLeNet with batch normalization and two 3x3 convolutions in place of the 5x5.
// The widths are those of the paper's figure 5.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// A row of figure 5.
struct Widths {
  int64_t c1x1;
  int64_t reduce3x3;
  int64_t c3x3;
  int64_t reduce_double3x3;
  int64_t double3x3;
  int64_t pool;
};

constexpr PoolSpec kInceptionBnHalve = {.kernel = 3, .stride = 2, .ceil = true};

class InceptionBn {
 public:
  Graph build(const ModelOptions& options) {
    ValueId x = stem(net_.image(options));
    x = average_module(x, "3a", {64, 64, 64, 64, 96, 32});
    x = average_module(x, "3b", {64, 64, 96, 64, 96, 64});
    x = halving_module(x, "3c", {0, 128, 160, 64, 96, 0});
    x = average_module(x, "4a", {224, 64, 96, 96, 128, 128});
    x = average_module(x, "4b", {192, 96, 128, 96, 128, 128});
    x = average_module(x, "4c", {160, 128, 160, 128, 160, 128});
    x = average_module(x, "4d", {96, 128, 192, 160, 192, 128});
    x = halving_module(x, "4e", {0, 128, 192, 192, 256, 0});
    x = average_module(x, "5a", {352, 192, 320, 160, 224, 128});
    const ValueId pooled = net_.max_pool(x, "5b.pool", {.kernel = 3, .stride = 1, .pad = 1});
    x = module(x, pooled, "5b", {352, 192, 320, 192, 224, 128});
    x = net_.flatten(net_.global_average(x, "avgpool"), "flatten");
    return net_.finish({{net_.linear(x, "fc", options.classes), "logits"}});
  }

 private:
  ValueId conv(ValueId x, const std::string& name, const ConvSpec& spec) {
    return net_.relu(net_.conv_norm(x, name + ".conv", name + ".bn", spec), name + ".relu");
  }

  ValueId stem(ValueId x) {
    x = conv(x, "conv1", {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
    x = net_.max_pool(x, "pool1", kInceptionBnHalve);
    x = conv(x, "conv2_reduce", {.out = 64});
    x = conv(x, "conv2", {.out = 192, .kernel = 3, .pad = 1});
    return net_.max_pool(x, "pool2", kInceptionBnHalve);
  }

  ValueId branch3x3(ValueId x, const std::string& name, const Widths& w, int64_t stride) {
    x = conv(x, name + ".3x3_reduce", {.out = w.reduce3x3});
    return conv(x, name + ".3x3", {.out = w.c3x3, .kernel = 3, .stride = stride, .pad = 1});
  }

  ValueId branch_double(ValueId x, const std::string& name, const Widths& w, int64_t stride) {
    x = conv(x, name + ".double3x3_reduce", {.out = w.reduce_double3x3});
    x = conv(x, name + ".double3x3_1", {.out = w.double3x3, .kernel = 3, .pad = 1});
    return conv(x, name + ".double3x3_2",
                {.out = w.double3x3, .kernel = 3, .stride = stride, .pad = 1});
  }

  ValueId module(ValueId x, ValueId pooled, const std::string& name, const Widths& w) {
    return net_.concat(
        {conv(x, name + ".1x1", {.out = w.c1x1}), branch3x3(x, name, w, 1),
         branch_double(x, name, w, 1), conv(pooled, name + ".projection", {.out = w.pool})},
        name + ".concat");
  }

  ValueId average_module(ValueId x, const std::string& name, const Widths& w) {
    return module(x, net_.average_pool(x, name + ".pool", {.kernel = 3, .stride = 1, .pad = 1}),
                  name, w);
  }

  // Stride 2; the input passes through a pool, without a projection.
  ValueId halving_module(ValueId x, const std::string& name, const Widths& w) {
    return net_.concat({branch3x3(x, name, w, 2), branch_double(x, name, w, 2),
                        net_.max_pool(x, name + ".pool", {.kernel = 3, .stride = 2, .pad = 1})},
                       name + ".concat");
  }

  Net net_{"inception_bn"};
};

Graph build_inception_bn(const ModelOptions& options) {
  return InceptionBn().build(options);
}

}  // namespace

extern const ModelDef kInceptionBn = {
    .name = "inception_bn",
    .summary = "Inception with batch normalization, also called Inception v2",
    .paper = {.authors = "Ioffe, Szegedy",
              .title = "Batch Normalization: Accelerating Deep Network Training by Reducing "
                       "Internal Covariate Shift",
              .where = "ICML 2015"},
    .smallest_image = 15,
    .build = build_inception_bn};

}  // namespace trainyard::models

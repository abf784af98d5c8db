// GoogLeNet in two forms: the paper's (local response normalization, 5x5 convolutions, biases) and
// torchvision's (batch normalization, 3x3 in place of 5x5). Both forms' auxiliary heads average 5x5
// windows with stride 3, as in the paper.
#include <array>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

enum class Form : uint8_t { kPaper, kTorchvision };

// A row of the paper's table 1.
struct Inception {
  int64_t c1x1;
  int64_t reduce3x3;
  int64_t c3x3;
  int64_t reduce5x5;
  int64_t c5x5;
  int64_t pool;
};

class Builder {
 public:
  Builder(std::string_view name, Form form) : form_(form), net_(name, {.norm_epsilon = 1e-3F}) {}

  Graph build(const ModelOptions& options) {
    std::vector<NetOutput> outputs;
    ValueId x = stem(net_.image(options));
    x = inception(x, "inception3a", {64, 96, 128, 16, 32, 32});
    x = inception(x, "inception3b", {128, 128, 192, 32, 96, 64});
    x = net_.max_pool(x, "maxpool3", kHalve);
    x = inception(x, "inception4a", {192, 96, 208, 16, 48, 64});
    if (options.auxiliary) outputs.push_back({head(x, "aux1", options.classes), "aux1.logits"});
    x = inception(x, "inception4b", {160, 112, 224, 24, 64, 64});
    x = inception(x, "inception4c", {128, 128, 256, 24, 64, 64});
    x = inception(x, "inception4d", {112, 144, 288, 32, 64, 64});
    if (options.auxiliary) outputs.push_back({head(x, "aux2", options.classes), "aux2.logits"});
    x = inception(x, "inception4e", {256, 160, 320, 32, 128, 128});
    x = net_.max_pool(x, "maxpool4",
                      paper() ? kHalve : PoolSpec{.kernel = 2, .stride = 2, .ceil = true});
    x = inception(x, "inception5a", {256, 160, 320, 32, 128, 128});
    x = inception(x, "inception5b", {384, 192, 384, 48, 128, 128});
    x = net_.flatten(net_.global_average(x, "avgpool"), "flatten");
    x = net_.dropout(x, "dropout", paper() ? 0.4F : 0.2F);
    outputs.insert(outputs.begin(), {net_.linear(x, "fc", options.classes), "logits"});
    return net_.finish(outputs);
  }

 private:
  static constexpr PoolSpec kHalve = {.kernel = 3, .stride = 2, .ceil = true};

  bool paper() const { return form_ == Form::kPaper; }

  ValueId conv(ValueId x, const std::string& name, const ConvSpec& spec) {
    x = paper() ? net_.conv(x, name + ".conv", spec)
                : net_.conv_norm(x, name + ".conv", name + ".bn", spec);
    return net_.relu(x, name + ".relu");
  }

  ValueId norm(ValueId x, const std::string& name) {
    if (!paper()) return x;
    return net_.local_response_norm(x, name, /*window=*/5, /*k=*/1, /*alpha=*/2e-5, /*beta=*/0.75);
  }

  ValueId stem(ValueId x) {
    x = conv(x, "conv1", {.out = 64, .kernel = 7, .stride = 2, .pad = 3});
    x = norm(net_.max_pool(x, "maxpool1", kHalve), "norm1");
    x = conv(x, "conv2", {.out = 64});
    x = conv(x, "conv3", {.out = 192, .kernel = 3, .pad = 1});
    return net_.max_pool(norm(x, "norm2"), "maxpool2", kHalve);
  }

  ValueId inception(ValueId x, const std::string& name, const Inception& c) {
    const ValueId b1 = conv(x, name + ".branch1", {.out = c.c1x1});
    ValueId b2 = conv(x, name + ".branch2.0", {.out = c.reduce3x3});
    b2 = conv(b2, name + ".branch2.1", {.out = c.c3x3, .kernel = 3, .pad = 1});
    ValueId b3 = conv(x, name + ".branch3.0", {.out = c.reduce5x5});
    b3 = conv(b3, name + ".branch3.1",
              {.out = c.c5x5, .kernel = paper() ? 5 : 3, .pad = paper() ? 2 : 1});
    ValueId b4 = net_.max_pool(x, name + ".branch4.0", {.kernel = 3, .stride = 1, .pad = 1});
    b4 = conv(b4, name + ".branch4.1", {.out = c.pool});
    return net_.concat({b1, b2, b3, b4}, name + ".concat");
  }

  ValueId head(ValueId x, const std::string& name, int64_t classes) {
    x = net_.average_pool(x, name + ".pool", {.kernel = 5, .stride = 3});
    x = net_.flatten(conv(x, name + ".conv", {.out = 128}), name + ".flatten");
    x = net_.relu(net_.linear(x, name + ".fc1", 1024), name + ".relu");
    return net_.linear(net_.dropout(x, name + ".dropout", 0.7F), name + ".fc2", classes);
  }

  Form form_;
  Net net_;
};

constexpr Paper kPaper = {
    .authors = "Szegedy, Liu, Jia, Sermanet, Reed, Anguelov, Erhan, Vanhoucke, Rabinovich",
    .title = "Going Deeper with Convolutions",
    .where = "CVPR 2015, arXiv:1409.4842"};

}  // namespace

extern const ModelDef kGooglenet = {
    .name = "googlenet",
    .summary = "GoogLeNet as in the paper; auxiliary: outputs aux1.logits, aux2.logits",
    .paper = kPaper,
    .smallest_image = 47,
    .has_auxiliary = true,
    .build = [](const ModelOptions& o) { return Builder("googlenet", Form::kPaper).build(o); }};

extern const ModelDef kGooglenetBn = {
    .name = "googlenet-bn",
    .summary = "GoogLeNet with batch normalization, as in torchvision; auxiliary: as googlenet",
    .paper = kPaper,
    .smallest_image = 31,
    .has_auxiliary = true,
    .build = [](const ModelOptions& o) {
      return Builder("googlenet-bn", Form::kTorchvision).build(o);
    }};

}  // namespace trainyard::models

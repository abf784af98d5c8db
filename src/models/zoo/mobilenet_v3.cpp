// MobileNet v3 as torchvision has it: inverted residuals, some with squeeze and excitation, found
// by search.
#include <span>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

// A row of the paper's tables 1 and 2.
struct V3Row {
  int64_t kernel;
  int64_t expanded;
  int64_t out;
  bool gated;
  bool hard;  // HardSwish, else Relu
  int64_t stride;
};

constexpr V3Row kLarge[] = {
    {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
    {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
    {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
    {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
    {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}};
constexpr V3Row kSmall[] = {
    {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
    {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
    {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
    {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
constexpr int64_t kV3Stem = 16;
// The last convolution widens so much; a gate squeezes to a quarter.
constexpr int64_t kV3Widening = 6;
constexpr int64_t kV3Squeeze = 4;

ValueId unit_mobilenet_v3(Net& net, ValueId x, const std::string& name, const ConvSpec& spec,
                          std::string_view activation) {
  return net.activate(net.conv_norm(x, name + ".0", name + ".1", spec), activation, name + ".2");
}

ValueId block_mobilenet_v3(Net& net, ValueId x, const std::string& name, const V3Row& row,
                           double width) {
  const int64_t in = net.channels(x);
  const int64_t hidden = scaled_channels(row.expanded, width);
  const int64_t out = scaled_channels(row.out, width);
  const std::string_view activation = row.hard ? "HardSwish" : "Relu";
  int index = 0;
  const auto next = [&] { return name + ".block." + std::to_string(index++); };
  ValueId y = x;
  if (hidden != in) y = unit_mobilenet_v3(net, y, next(), {.out = hidden}, activation);
  y = unit_mobilenet_v3(net, y, next(),
                        {.out = hidden,
                         .kernel = row.kernel,
                         .stride = row.stride,
                         .pad = row.kernel / 2,
                         .group = hidden},
                        activation);
  if (row.gated) {
    const auto quarter = static_cast<double>(hidden) / static_cast<double>(kV3Squeeze);
    y = net.squeeze_excite(y, next(), scaled_channels(1, quarter), "Relu", "HardSigmoid");
  }
  const std::string project = next();
  y = net.conv_norm(y, project + ".0", project + ".1", {.out = out});
  return row.stride == 1 && in == out ? net.add(x, y, name + ".add") : y;
}

Graph build_mobilenet_v3(std::string_view name, std::span<const V3Row> rows, int64_t last,
                         const ModelOptions& options) {
  Net net(name, {.fan = FanMode::kOut, .norm_epsilon = 1e-3F});
  int index = 0;
  const auto next = [&index] { return "features." + std::to_string(index++); };
  ValueId x = unit_mobilenet_v3(
      net, net.image(options), next(),
      {.out = scaled_channels(kV3Stem, options.width), .kernel = 3, .stride = 2, .pad = 1},
      "HardSwish");
  for (const V3Row& row : rows) x = block_mobilenet_v3(net, x, next(), row, options.width);
  x = unit_mobilenet_v3(net, x, next(), {.out = kV3Widening * net.channels(x)}, "HardSwish");
  x = net.flatten(net.global_average(x, "avgpool"), "flatten");
  x = net.linear(x, "classifier.0", scaled_channels(last, options.width));
  x = net.activate(x, "HardSwish", "classifier.1");
  x = net.dropout(x, "classifier.2", 0.2F);
  return net.finish({{net.linear(x, "classifier.3", options.classes), "logits"}});
}

Graph build_mobilenet_v3_large(const ModelOptions& options) {
  return build_mobilenet_v3("mobilenet_v3_large", kLarge, 1280, options);
}

Graph build_mobilenet_v3_small(const ModelOptions& options) {
  return build_mobilenet_v3("mobilenet_v3_small", kSmall, 1024, options);
}

constexpr Paper kV3Paper = {
    .authors = "Howard, Sandler, Chu, Chen, Chen, Tan, Wang, Zhu, Pang, Vasudevan, Le, Adam",
    .title = "Searching for MobileNetV3",
    .where = "ICCV 2019, arXiv:1905.02244"};

}  // namespace

extern const ModelDef kMobilenetV3Large = {.name = "mobilenet_v3_large",
                                           .summary = "MobileNet v3, the larger of the two",
                                           .paper = kV3Paper,
                                           .smallest_image = 32,
                                           .has_width = true,
                                           .build = build_mobilenet_v3_large};
extern const ModelDef kMobilenetV3Small = {.name = "mobilenet_v3_small",
                                           .summary = "MobileNet v3, the smaller of the two",
                                           .paper = kV3Paper,
                                           .smallest_image = 32,
                                           .has_width = true,
                                           .build = build_mobilenet_v3_small};

}  // namespace trainyard::models

// SSD on MobileNet v1 as pytorch-ssd has it: six maps (19, 10, 5, 3, 2 and 1 positions a side for
// 300 pixels), six priors at each position. Locations and scores come from 3x3 convolutions; the
// maps behind the trunk have biases and no normalization. Other sizes of input give other maps, and
// src/detect makes the priors for them. Outputs: locations (N x priors x 4), scores (N x priors x
// classes, background first, before softmax); priors run over maps, rows, columns and then the six
// shapes. A seventh map of twice the positions, for objects smaller than 30 pixels of 300, is
// behind the others.
#include <array>

#include "models/zoo/mobilenet_v1.h"

namespace trainyard::models {
namespace {

constexpr int64_t kPriorsPerPosition = 6;
// Smaller pictures make maps of one position out of half of the levels.
constexpr int64_t kSmallestSsdImage = 64;

struct Extra {
  int64_t reduced;
  int64_t out;
};
constexpr std::array<Extra, 4> kExtras = {{{256, 512}, {128, 256}, {128, 256}, {128, 256}}};

// A 3x3 convolution with bias, or what stands for it in the lite network: a depthwise one, ReLU,
// and a pointwise one, numbered as in the published weights.
ValueId conv3x3(Net& net, ValueId x, const std::string& name, const ConvSpec& spec, bool lite) {
  if (!lite) return net.conv(x, name, spec);
  const int64_t in = net.channels(x);
  x = net.conv_relu(
      x, name + ".0",
      {.out = in, .kernel = spec.kernel, .stride = spec.stride, .pad = spec.pad, .group = in});
  return net.conv(x, name + ".2", {.out = spec.out});
}

ValueId extra_map(Net& net, ValueId x, const std::string& name, const Extra& extra, bool lite) {
  x = net.conv_relu(x, name + ".reduce", {.out = extra.reduced});
  x = conv3x3(net, x, name + ".conv", {.out = extra.out, .kernel = 3, .stride = 2, .pad = 1}, lite);
  return lite ? x : net.relu(x, name + ".conv.relu");
}

// N x (6 * numbers) x H x W to N x (6 * H * W) x numbers.
ValueId to_rows(Net& net, ValueId x, const std::string& name, int64_t numbers) {
  x = net.transpose(x, name + ".transpose", {0, 2, 3, 1});
  return net.reshape(x, name + ".reshape", {0, -1, numbers});
}

ValueId head(Net& net, ValueId map, const std::string& name, int64_t numbers, bool lite,
             bool last) {
  const int64_t out = kPriorsPerPosition * numbers;
  // The lite network's last map is one position, where a 3x3 window would see padding.
  const ValueId x = lite && last
                        ? net.conv(map, name, {.out = out})
                        : conv3x3(net, map, name, {.out = out, .kernel = 3, .pad = 1}, lite);
  return to_rows(net, x, name, numbers);
}

enum class SsdVariant : uint8_t { kPlain, kLite, kFine };

Graph build_ssd(const ModelOptions& options, std::string_view graph_name, SsdVariant variant) {
  const bool lite = variant == SsdVariant::kLite;
  Net net(graph_name);
  const MobilenetV1Maps trunk = mobilenet_v1_maps(net, net.image(options), options.width);
  net.set_fan(FanMode::kBoth);
  std::vector<ValueId> maps = {trunk.stride16, trunk.stride32};
  for (size_t i = 0; i < kExtras.size(); ++i) {
    maps.push_back(extra_map(net, maps.back(), "extras." + std::to_string(i), kExtras[i], lite));
  }
  std::vector<ValueId> locations;
  std::vector<ValueId> scores;
  for (size_t i = 0; i < maps.size(); ++i) {
    const std::string name = "heads." + std::to_string(i);
    const bool last = i + 1 == maps.size();
    locations.push_back(head(net, maps[i], name + ".locations", 4, lite, last));
    scores.push_back(head(net, maps[i], name + ".scores", options.classes, lite, last));
  }
  if (variant == SsdVariant::kFine) {
    locations.push_back(head(net, trunk.stride8, "heads.fine.locations", 4, lite, /*last=*/false));
    scores.push_back(
        head(net, trunk.stride8, "heads.fine.scores", options.classes, lite, /*last=*/false));
  }
  return net.finish({{net.concat(locations, "heads.locations"), "locations"},
                     {net.concat(scores, "heads.scores"), "scores"}});
}

constexpr Paper kSsdPaper = {.authors = "Liu, Anguelov, Erhan, Szegedy, Reed, Fu, Berg",
                             .title = "SSD: Single Shot MultiBox Detector",
                             .where = "ECCV 2016, arXiv:1512.02325"};

}  // namespace

extern const ModelDef kSsd300MobilenetV1 = {
    .name = "ssd300-mobilenet_v1",
    .summary = "SSD on MobileNet v1, 3,000 priors; outputs locations, scores",
    .paper = kSsdPaper,
    .image = 300,
    .classes = 21,
    .smallest_image = kSmallestSsdImage,
    .has_width = true,
    .build = [](const ModelOptions& options) {
      return build_ssd(options, "ssd300-mobilenet_v1", SsdVariant::kPlain);
    }};

extern const ModelDef kSsd300MobilenetV1Lite = {
    .name = "ssd300-mobilenet_v1-lite",
    .summary = "SSD on MobileNet v1 with depthwise heads; outputs locations, scores",
    .paper = kSsdPaper,
    .image = 300,
    .classes = 21,
    .smallest_image = kSmallestSsdImage,
    .has_width = true,
    .build = [](const ModelOptions& options) {
      return build_ssd(options, "ssd300-mobilenet_v1-lite", SsdVariant::kLite);
    }};

extern const ModelDef kSsd300MobilenetV1Fine = {
    .name = "ssd300-mobilenet_v1-fine",
    .summary = "SSD on MobileNet v1 with a finer map for small objects; outputs locations, scores",
    .paper = kSsdPaper,
    .image = 300,
    .classes = 21,
    .smallest_image = kSmallestSsdImage,
    .has_width = true,
    .build = [](const ModelOptions& options) {
      return build_ssd(options, "ssd300-mobilenet_v1-fine", SsdVariant::kFine);
    }};

}  // namespace trainyard::models

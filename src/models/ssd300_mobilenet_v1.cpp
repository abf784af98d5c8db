// SSD300 on MobileNet v1: six maps of 19, 10, 5, 3, 2 and 1 positions a side, six priors at each
// position, which makes 3,000. Predictions come from 1x1 convolutions. Outputs: locations
// (N x 3000 x 4), scores (N x 3000 x classes, background included, before softmax); priors run over
// maps, rows, columns and then the six shapes.
#include <array>

#include "models/mobilenet_v1.h"

namespace trainyard::models {
namespace {

constexpr int64_t kPriorsPerPosition = 6;

struct Extra {
  int64_t reduced;
  int64_t out;
};
constexpr std::array<Extra, 4> kExtras = {{{256, 512}, {128, 256}, {128, 256}, {64, 128}}};

ValueId unit_ssd300_mobilenet_v1(Net& net, ValueId x, const std::string& name,
                                 const ConvSpec& spec) {
  return net.relu(net.conv_norm(x, name, name + ".bn", spec), name + ".relu");
}

// N x (6 * numbers) x H x W to N x (6 * H * W) x numbers.
ValueId head(Net& net, ValueId map, const std::string& name, int64_t numbers) {
  ValueId x = net.conv(map, name, {.out = kPriorsPerPosition * numbers});
  x = net.transpose(x, name + ".transpose", {0, 2, 3, 1});
  return net.reshape(x, name + ".reshape", {0, -1, numbers});
}

Graph build_ssd300_mobilenet_v1(const ModelOptions& options) {
  Net net("ssd300-mobilenet_v1");
  const MobilenetV1Maps backbone = mobilenet_v1_maps(net, net.image(options), options.width);
  std::vector<ValueId> maps = {backbone.stride16, backbone.stride32};
  for (size_t i = 0; i < kExtras.size(); ++i) {
    const std::string name = "extras." + std::to_string(i);
    const ValueId x =
        unit_ssd300_mobilenet_v1(net, maps.back(), name + ".reduce", {.out = kExtras[i].reduced});
    maps.push_back(unit_ssd300_mobilenet_v1(
        net, x, name + ".conv", {.out = kExtras[i].out, .kernel = 3, .stride = 2, .pad = 1}));
  }
  std::vector<ValueId> locations;
  std::vector<ValueId> scores;
  for (size_t i = 0; i < maps.size(); ++i) {
    const std::string name = "heads." + std::to_string(i);
    locations.push_back(head(net, maps[i], name + ".locations", 4));
    scores.push_back(head(net, maps[i], name + ".scores", options.classes));
  }
  return net.finish({{net.concat(locations, "heads.locations"), "locations"},
                     {net.concat(scores, "heads.scores"), "scores"}});
}

}  // namespace

extern const ModelDef kSsd300MobilenetV1 = {
    .name = "ssd300-mobilenet_v1",
    .summary = "SSD on MobileNet v1, 3,000 priors; outputs locations, scores",
    .paper = {.authors = "Liu, Anguelov, Erhan, Szegedy, Reed, Fu, Berg",
              .title = "SSD: Single Shot MultiBox Detector",
              .where = "ECCV 2016, arXiv:1512.02325"},
    .image = 300,
    .classes = 21,
    .has_width = true,
    .build = build_ssd300_mobilenet_v1};

}  // namespace trainyard::models

// The deep Q-network for Atari games: four 84x84 gray frames in, one value per action out
// ("q_values"). The number of classes is the number of actions; 18 is the console's full set.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kFrames = 4;

Graph build_dqn_nature(const ModelOptions& options) {
  Net net("dqn-nature");
  ValueId x = net.image(options, kFrames);
  x = net.conv_relu(x, "conv1", {.out = 32, .kernel = 8, .stride = 4});
  x = net.conv_relu(x, "conv2", {.out = 64, .kernel = 4, .stride = 2});
  x = net.conv_relu(x, "conv3", {.out = 64, .kernel = 3});
  x = net.flatten(x, "flatten");
  x = net.relu(net.linear(x, "fc1", 512), "fc1.relu");
  return net.finish({{net.linear(x, "fc2", options.classes), "q_values"}});
}

}  // namespace

extern const ModelDef kDqnNature = {
    .name = "dqn-nature",
    .summary = "deep Q-network; classes are actions; output q_values",
    .paper = {.authors = "Mnih et al.",
              .title = "Human-level control through deep reinforcement learning",
              .where = "Nature 518, 2015"},
    .channels = kFrames,
    .image = 84,
    .classes = 18,
    .smallest_image = 36,
    .build = build_dqn_nature};

}  // namespace trainyard::models

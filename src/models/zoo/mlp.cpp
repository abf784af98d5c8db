// The fully connected 784-300-100-10 network for handwritten digits (the paper's 300+100), with
// rectifiers in place of the paper's sigmoids.
#include <algorithm>
#include <cmath>

#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

int64_t units(int64_t paper, double width) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(paper) * width));
}

Graph build_mlp(const ModelOptions& options) {
  Net net("mlp");
  ValueId x = options.rows > 0 ? net.row(options) : net.flatten(net.image(options, 1), "flatten");
  x = net.relu(net.linear(x, "fc1", units(300, options.width)), "fc1.relu");
  x = net.relu(net.linear(x, "fc2", units(100, options.width)), "fc2.relu");
  return net.finish({{net.linear(x, "fc3", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kMlp = {
    .name = "mlp",
    .summary =
        "784-300-100-10 perceptron, also for rows of a table; width scales the hidden layers",
    .paper = {.authors = "LeCun, Bottou, Bengio, Haffner",
              .title = "Gradient-Based Learning Applied to Document Recognition",
              .where = "Proc. IEEE 86(11), 1998"},
    .channels = 1,
    .image = 28,
    .classes = 10,
    .smallest_image = 1,
    .has_width = true,
    .takes_rows = true,
    .build = build_mlp};

}  // namespace trainyard::models

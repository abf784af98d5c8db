#include "cluster/transformer/view_parts.h"

namespace trainyard::report {
namespace {

std::vector<Part> with_total(std::vector<Part> parts, double total) {
  for (Part& part : parts) part.share = total > 0 ? part.amount / total : 0;
  parts.push_back({"total", total, 1});
  return parts;
}

}  // namespace

std::vector<Part> memory_parts(const transformer::Memory& memory) {
  return with_total({{"weights", memory.weights},
                     {"gradients", memory.gradients},
                     {"optimizer", memory.optimizer},
                     {"activations", memory.activations},
                     {"logits", memory.logits},
                     {"buffers", memory.buffers},
                     {"driver and libraries", memory.driver}},
                    memory.total());
}

std::vector<Part> time_parts(const transformer::StepTime& time) {
  return with_total({{"matrix products", time.matmul},
                     {"attention", time.attention},
                     {"memory bandwidth", time.memory},
                     {"launches", time.launch},
                     {"head and loss", time.head},
                     {"tensor exchange", time.tensor},
                     {"context exchange", time.context},
                     {"expert exchange", time.expert},
                     {"pipeline bubble", time.bubble},
                     {"pipeline exchange", time.pipeline},
                     {"data exchange", time.data},
                     {"optimizer", time.optimizer},
                     {"offloading", time.offload},
                     {"fixed cost", time.other}},
                    time.total());
}

}  // namespace trainyard::report

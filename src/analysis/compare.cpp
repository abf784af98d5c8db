#include "analysis/compare.h"

namespace trainyard::analysis {

std::vector<ComparedQuantity> compare(const LayerTable& a, const LayerTable& b) {
  const Figures& x = a.totals;
  const Figures& y = b.totals;
  return {
      {"params", x.params.trainable(), y.params.trainable()},
      {"params_without_bias", x.params.weights, y.params.weights},
      {"macs", x.cost.macs, y.cost.macs},
      {"flops", x.cost.flops, y.cost.flops},
      {"activations", x.activations, y.activations},
      {"activation_bytes", x.activation_bytes, y.activation_bytes},
      {"stored_activations", a.stored_activations, b.stored_activations},
      {"bytes_moved", x.bytes_moved(), y.bytes_moved()},
  };
}

}  // namespace trainyard::analysis

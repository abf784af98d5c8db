// Checks gradients by central differences, in f64 on the reference kernels.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "ops/builder.h"

namespace trainyard::testing {

// Adds nodes that compute something from `inputs` and returns it.
using Network = std::function<ValueId(ops::Builder&, const std::vector<ValueId>& inputs)>;

struct GradientCase {
  std::string name;
  std::vector<Shape> shapes;  // of the inputs, which are f64
  Network network;
  // Inputs are drawn from [low, high); choose them off kinks and inside domains.
  double low = -1.0;
  double high = 1.0;
};

// What GoogleTest prints of a case.
inline void PrintTo(const GradientCase& c, std::ostream* out) {  // NOLINT: GoogleTest's spelling
  *out << c.name;
}

// The loss is a random combination of the network's output elements; every input's gradient is
// compared.
void check_gradient(const GradientCase& c);

}  // namespace trainyard::testing

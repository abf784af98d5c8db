// Checks gradients by central differences, in f64 on the reference kernels.
#pragma once

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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

// A network of one node.
inline Network node(const std::string& op, const Attributes& attributes = {}) {
  return [=](ops::Builder& b, const std::vector<ValueId>& x) { return b.add(op, x, attributes); };
}

inline Attribute ints(std::vector<int64_t> values) {
  return values;
}

// What GoogleTest calls a test of a case.
inline std::string name_of(const ::testing::TestParamInfo<GradientCase>& row) {
  std::string name = row.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// What GoogleTest prints of a case.
inline void PrintTo(const GradientCase& c, std::ostream* out) {  // NOLINT: GoogleTest's spelling
  *out << c.name;
}

// The loss is a random combination of the network's output elements; every input's gradient is
// compared.
void check_gradient(const GradientCase& c);

}  // namespace trainyard::testing

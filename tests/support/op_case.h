// One declarative case of an operator drives all checks of it: types, reference kernel, run-time
// shapes, cost and the other kernels.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernels/api/kernel.h"
#include "ir/attribute.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace trainyard::testing {

struct OpInput {
  TensorType type;
  std::vector<double> values;  // empty: drawn from a stream that depends on the position alone
  bool known = false;          // before the run, as an initializer
  bool present = true;
};

struct OpOutput {
  TensorType type;
  std::vector<double> values;  // empty: only the type is expected
};

struct OpCase {
  std::string op;
  std::vector<OpInput> inputs;
  Attributes attributes = {};
  // What comes out. Empty: one output, whose type is what inference says.
  std::vector<OpOutput> outputs = {};
  double tolerance = 1e-6;  // of expected values, absolute and relative: they are written rounded
};

std::ostream& operator<<(std::ostream& out, const OpCase& c);

// --- short words to write cases with; values of texts are the numbers they spell
OpInput draw(Shape shape, DType dtype = DType::kF32);  // floats in [-2, 2), integers in [-9, 9]
OpInput given(Shape shape, std::vector<double> values, DType dtype = DType::kF32);
OpInput known(Shape shape, std::vector<double> values, DType dtype = DType::kF32);
OpInput known_draw(Shape shape);
OpInput known_ints(std::vector<double> values);  // a vector of i64
OpInput absent();
OpOutput gives(Shape shape, std::vector<double> values, DType dtype = DType::kF32);
OpOutput gives_type(Shape shape, DType dtype = DType::kF32);
Attribute ints(std::vector<int64_t> values);
Attribute text(std::string_view value);

// Checks, with gtest expectations:
// - the types inference gives are those that are executed, and the expected ones;
// - the reference kernel gives the expected values, also when nothing is known before the run and
//   shapes are found out in the run;
// - every other kernel that takes the node agrees with the reference, row-major and in blocks of
//   channels, whose padding stays zero;
// - elements come from where the operator says, and its gradient reads only what it says is saved;
// - the cost counts no byte or operation below zero, and at least the output of what computes.
void check_case(const OpCase& c);

// A case as a graph of one node, with the tensors of its inputs: empty ones for those absent.
struct PreparedCase {
  Graph graph;
  NodeId node;
  std::vector<Tensor> inputs;
};

// The tensor of an input; values that are not given are drawn by its position.
Tensor make_tensor(const OpInput& input, size_t position);
// Runs a kernel for row-major data; outputs and scratch are what `allocate` gives.
std::vector<Tensor> run_kernel(const PreparedCase& p, const kernels::KernelDef& def,
                               Tensor (*allocate)(TensorType) = nullptr);

// Does a kernel other than the reference take the node?
bool is_fast(const OpCase& c);

// Inference or the run refuses the case with an Error whose text contains `part`.
void expect_rejected(const OpCase& c, std::string_view part);

// Runs the reference kernel.
std::vector<Tensor> run_reference(const OpCase& c);

}  // namespace trainyard::testing

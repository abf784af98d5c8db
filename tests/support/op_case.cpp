#include "support/op_case.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "engine/kernels/kernel_table.h"
#include "ir/printer.h"
#include "ops/builder.h"
#include "ops/gradient.h"
#include "ops/op_def.h"
#include "support/layout_run.h"
#include "support/torch_case.h"

namespace trainyard::testing {
namespace {

// Fast kernels sum in float and in another order than the reference.
constexpr double kKernelTolerance = 1e-4;
// Half-precision results are compared to a few units in their last place.
constexpr double kF16Tolerance = 2e-3;
constexpr double kBF16Tolerance = 2e-2;

}  // namespace

Tensor make_tensor(const OpInput& input, size_t position) {
  Tensor wide(DType::kF64, input.type.shape);
  const RandomStream random(/*seed=*/7, position);
  for (int64_t i = 0; i < wide.num_elements(); ++i) {
    const auto at = static_cast<size_t>(i);
    double& value = wide.values<double>()[at];
    if (!input.values.empty()) {
      value = input.values[at];
    } else if (is_float(input.type.dtype)) {
      value = 4 * random.uniform(at) - 2;
    } else {
      value = static_cast<double>(random.below(at, 19)) - 9;
    }
  }
  return cast(wide, input.type.dtype);
}

namespace {

using Prepared = PreparedCase;

// With `hide`, values that the case says are known come at run time instead.
Prepared prepare(const OpCase& c, bool hide) {
  Prepared p;
  ops::Builder b(p.graph);
  std::vector<ValueId> ids;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const OpInput& input = c.inputs[i];
    p.inputs.push_back(input.present ? make_tensor(input, i) : Tensor());
    const std::string name = fmt::format("x{}", i);
    if (!input.present) {
      ids.push_back(kNoValue);
    } else if (input.known && !hide) {
      ids.push_back(b.constant(name, p.inputs.back().clone()));
    } else {
      ids.push_back(b.input(name, input.type));
    }
  }
  const size_t outputs = std::max<size_t>(c.outputs.size(), 1);
  const std::vector<ValueId> made = b.add_multi(c.op, ids, outputs, c.attributes, "node");
  p.graph.set_outputs(made);
  p.node = p.graph.value(made[0]).producer;
  return p;
}

}  // namespace

std::vector<Tensor> run_kernel(const PreparedCase& p, const kernels::KernelDef& def,
                               Tensor (*allocate)(TensorType)) {
  const auto made = [&](TensorType type) {
    return allocate == nullptr ? Tensor(std::move(type)) : allocate(std::move(type));
  };
  const NodeView node(p.graph, p.node);
  const std::unique_ptr<kernels::Kernel> kernel = def.create(node);
  std::vector<TensorView> x;
  for (const Tensor& tensor : p.inputs) x.push_back(tensor.view());
  const std::vector<Shape> shapes = kernel->output_shapes(x);
  std::vector<Tensor> outputs;
  std::vector<TensorView> y;
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (!node.has_output(i)) {
      outputs.emplace_back();
      continue;
    }
    const Shape& shape = shapes.empty() ? node.output_shape(i) : shapes[i];
    outputs.push_back(made({node.output_type(i).dtype, shape}));
  }
  for (const Tensor& tensor : outputs) y.push_back(tensor.view());
  const Tensor scratch = made({DType::kU8, Shape{kernel->scratch_bytes()}});
  kernel->run(
      {x, y, {scratch.view().as<std::byte>(), static_cast<size_t>(kernel->scratch_bytes())}});
  return outputs;
}

namespace {

const kernels::KernelDef& reference_of(const std::string& op) {
  const auto list = kernels::kernels_of(op);
  TY_CHECK(!list.empty(), "no kernels for {}", op);
  return *list.back();
}

double tolerance_of(DType dtype, double asked) {
  if (dtype == DType::kF16) return std::max(asked, kF16Tolerance);
  if (dtype == DType::kBF16) return std::max(asked, kBF16Tolerance);
  return is_float(dtype) ? asked : 0.0;
}

bool is_near(double found, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isinf(expected)) return found == expected;
  return std::fabs(found - expected) <= tolerance * (1 + std::fabs(expected));
}

void expect_values(const Tensor& found, const std::vector<double>& expected, double tolerance,
                   std::string_view what) {
  if (found.dtype() == DType::kText) {
    return expect_values(cast(found, DType::kF64), expected, tolerance, what);
  }
  ASSERT_EQ(found.num_elements(), static_cast<int64_t>(expected.size())) << what;
  for (int64_t i = 0; i < found.num_elements(); ++i) {
    const double value = element_as_double(found, i);
    const double wanted = expected[static_cast<size_t>(i)];
    ASSERT_TRUE(is_near(value, wanted, tolerance_of(found.dtype(), tolerance)))
        << what << ": element " << i << " is " << value << ", expected " << wanted;
  }
}

std::vector<double> to_doubles(const Tensor& tensor) {
  if (tensor.dtype() == DType::kText) return to_doubles(cast(tensor, DType::kF64));
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    values.push_back(element_as_double(tensor, i));
  return values;
}

void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                 double tolerance, std::string_view what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].type(), expected[i].type()) << what;
    expect_values(found[i], to_doubles(expected[i]), tolerance, what);
  }
}

void expect_same_in_layouts(const Prepared& p, const kernels::KernelDef& def,
                            const std::vector<Tensor>& expected) {
  for (const Offer offer : kOffers) {
    const std::optional<LayoutRun> found = run_in_layouts({p.graph, p.node}, def, p.inputs, offer);
    if (!found) continue;
    const std::string what = fmt::format("{}, offered {}", def.library,
                                         offer == Offer::kRowMajor ? "row-major" : "blocks");
    expect_same(found->outputs, expected, kKernelTolerance, what);
    EXPECT_EQ(found->stained_padding, 0) << what;
  }
}

// What inference said must be what was executed; a dimension may have been open.
void expect_inferred(const Prepared& p, const std::vector<Tensor>& outputs) {
  const NodeView node(p.graph, p.node);
  for (size_t i = 0; i < outputs.size(); ++i) {
    TensorType inferred = node.output_type(i);
    ASSERT_EQ(inferred.shape.rank(), outputs[i].shape().rank());
    for (int64_t d = 0; d < inferred.shape.rank(); ++d) {
      if (inferred.shape[d] == Shape::kUnknown) inferred.shape[d] = outputs[i].shape()[d];
    }
    EXPECT_EQ(inferred, outputs[i].type()) << "inferred and executed types of output " << i;
  }
}

void expect_sane_cost(const Prepared& p) {
  const NodeView node(p.graph, p.node);
  const ops::Cost cost = ops::node_cost(node);
  EXPECT_GE(cost.flops, 2 * cost.macs);
  EXPECT_GE(cost.bytes_read, 0);
  if (cost.flops > 0) {
    EXPECT_GE(cost.bytes_written, node.output_type(0).num_bytes());
    EXPECT_GT(cost.bytes_read, 0);
  }
}

// What the operator says of where its elements come from.
void expect_movement(const Prepared& p, const Tensor& y) {
  const ops::Movement movement = ops::movement_of({p.graph, p.node});
  if (movement == ops::Movement::kComputed || p.inputs.empty()) return;
  if (movement == ops::Movement::kView) {
    return expect_values(y, to_doubles(p.inputs[0]), /*tolerance=*/0, "a view of input 0");
  }
  std::set<double> from;
  if (movement == ops::Movement::kPadded) from.insert(0);
  const size_t sources = movement == ops::Movement::kJoined ? p.inputs.size() : 1;
  for (size_t i = 0; i < sources; ++i) {
    for (const double value : to_doubles(p.inputs[i])) from.insert(value);
  }
  for (const double value : to_doubles(y)) {
    EXPECT_TRUE(std::isnan(value) || from.contains(value)) << value << " is not moved";
  }
}

// May the gradient read it, as the operator says? Of functions of one tensor the rule may read the
// input where the operator promises that the output would do, and the other way round: both are of
// one size.
bool is_saved(const NodeView& node, ValueId id) {
  const bool first = node.has_input(0) && id == node.input(0);
  switch (ops::op_of(node).saves) {
    case ops::SavedTensors::kInputsAndOutputs:
      return true;
    case ops::SavedTensors::kNothing:
      return false;
    case ops::SavedTensors::kInput:
    case ops::SavedTensors::kOutput:
      return first || id == node.output(0);
    case ops::SavedTensors::kOtherFactor:
      return first || id == node.input(1);
    case ops::SavedTensors::kInputAndStatistics:
      return first;
  }
  return false;
}

// All that the values `of` are computed from.
std::set<ValueId> sources_of(const Graph& graph, std::vector<ValueId> of) {
  std::set<ValueId> found;
  while (!of.empty()) {
    const ValueId id = of.back();
    of.pop_back();
    if (!id.valid() || !found.insert(id).second) continue;
    const NodeId producer = graph.value(id).producer;
    if (!producer.valid()) continue;
    for (const ValueId input : graph.node(producer).inputs) of.push_back(input);
  }
  return found;
}

// The rule reads no more of the forward pass than the operator says. Parameters and bounds are kept
// anyway.
void expect_saved(const Prepared& p) {
  Graph graph = p.graph;
  const ops::OpDef& op = ops::op_of({graph, p.node});
  const TensorType type = NodeView(graph, p.node).output_type(0);
  if (op.gradient == nullptr || !is_float(type.dtype) || !type.shape.is_static()) return;
  const std::vector<ValueId> inputs = graph.node(p.node).inputs;
  std::vector<ValueId> dy(graph.node(p.node).outputs.size(), kNoValue);
  dy[0] = graph.add_input("dy", type);
  std::vector<bool> wanted;
  for (const ValueId id : inputs) {
    wanted.push_back(id.valid() && is_float(graph.value(id).type.dtype));
  }
  ops::Builder builder(graph);
  ops::GradContext grad(builder, p.node, dy, wanted);
  std::vector<ValueId> dx;
  try {
    dx = op.gradient(grad);
  } catch (const Error&) {
    return;  // of this node there is no gradient
  }
  const std::set<ValueId> read = sources_of(graph, dx);
  const NodeView node(graph, p.node);
  const bool reads_output = read.contains(node.output(0));
  EXPECT_TRUE(!reads_output || is_saved(node, node.output(0))) << "the gradient reads the output";
  for (size_t i = 0; i < inputs.size() && !reads_output; ++i) {
    const bool parameter = ops::param_role(op, i) != ops::ParamRole::kNone;
    if (!read.contains(inputs[i]) || parameter || node.input_shape(i).rank() == 0) continue;
    EXPECT_TRUE(is_saved(node, inputs[i]) || !is_float(node.input_type(i).dtype))
        << "the gradient reads input " << i;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const OpCase& c) {
  out << c.op << "(";
  for (const OpInput& input : c.inputs) {
    out << (input.present ? input.type.to_string() : "-") << " ";
  }
  for (const auto& [name, value] : c.attributes) out << name << "=" << attribute_text(value) << " ";
  return out << ")";
}

OpInput draw(Shape shape, DType dtype) {
  return {.type = {dtype, std::move(shape)}, .values = {}};
}

OpInput given(Shape shape, std::vector<double> values, DType dtype) {
  return {.type = {dtype, std::move(shape)}, .values = std::move(values)};
}

OpInput known(Shape shape, std::vector<double> values, DType dtype) {
  return {.type = {dtype, std::move(shape)}, .values = std::move(values), .known = true};
}

OpInput known_draw(Shape shape) {
  OpInput input = draw(std::move(shape));
  input.known = true;
  return input;
}

OpInput known_ints(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return known({count}, std::move(values), DType::kI64);
}

OpInput absent() {
  return {.type = {}, .values = {}, .present = false};
}

OpOutput gives(Shape shape, std::vector<double> values, DType dtype) {
  return {.type = {dtype, std::move(shape)}, .values = std::move(values)};
}

OpOutput gives_type(Shape shape, DType dtype) {
  return {.type = {dtype, std::move(shape)}, .values = {}};
}

Attribute ints(std::vector<int64_t> values) {
  return values;
}

Attribute text(std::string_view value) {
  return std::string(value);
}

std::vector<Tensor> run_reference(const OpCase& c) {
  return run_kernel(prepare(c, /*hide=*/false), reference_of(c.op));
}

void check_case(const OpCase& c) {
  SCOPED_TRACE(::testing::PrintToString(c));
  const Prepared p = prepare(c, /*hide=*/false);
  const std::vector<Tensor> outputs = run_kernel(p, reference_of(c.op));
  expect_inferred(p, outputs);
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].type(), c.outputs[i].type) << "output " << i;
    if (!c.outputs[i].values.empty())
      expect_values(outputs[i], c.outputs[i].values, c.tolerance, "reference");
  }
  expect_sane_cost(p);
  expect_movement(p, outputs[0]);
  expect_saved(p);

  const Prepared hidden = prepare(c, /*hide=*/true);
  const std::vector<Tensor> late = run_kernel(hidden, reference_of(c.op));
  expect_inferred(hidden, late);
  expect_same(late, outputs, /*tolerance=*/0, "reference, nothing known before the run");

  const NodeView node(p.graph, p.node);
  for (const kernels::KernelDef* def : kernels::kernels_of(c.op)) {
    const bool takes = def->refuses == nullptr || def->refuses(node).empty();
    if (!takes || def->library == "reference") continue;
    if (def->create != nullptr) {
      expect_same(run_kernel(p, *def), outputs, kKernelTolerance, def->library);
    } else if (def->layouts != nullptr) {
      expect_same_in_layouts(p, *def, outputs);
    }
  }
  if (!asks_for_torch()) return;
  if (const auto found = run_on_torch(p)) expect_same(*found, outputs, kKernelTolerance, "torch");
}

bool is_fast(const OpCase& c) {
  const Prepared p = prepare(c, /*hide=*/false);
  for (const kernels::KernelDef* def : kernels::kernels_of(c.op)) {
    const bool takes = def->refuses == nullptr || def->refuses({p.graph, p.node}).empty();
    if (takes) return def->library != "reference";
  }
  return false;
}

void expect_rejected(const OpCase& c, std::string_view part) {
  SCOPED_TRACE(::testing::PrintToString(c));
  try {
    run_reference(c);
    ADD_FAILURE() << "accepted, expected an error with '" << part << "'";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

}  // namespace trainyard::testing

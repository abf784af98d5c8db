#include "engine/device_check.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/kernels/kernel_table.h"
#include "ops/builder.h"

namespace trainyard::measure {
namespace {

// Of single operators with sums of at most some hundred terms in float32.
constexpr double kCheckTolerance = 1e-4;

struct CheckCase {
  std::string op;
  std::string what;
  std::vector<Shape> inputs;        // that a run brings
  std::vector<Shape> weights = {};  // known before, after them
  Attributes attributes = {};
  std::vector<std::vector<int64_t>> ints = {};  // known integers, after them
};

using Ints = std::vector<int64_t>;

std::vector<CheckCase> window_cases() {
  const Attributes pads = {{"pads", Ints{1, 1, 1, 1}}};
  const Attributes stride = {{"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 3}}};
  const Attributes dilated = {{"dilations", Ints{2, 2}}, {"group", int64_t{2}}};
  const Attributes fused = {{"activation", std::string("Relu")}, {"pads", Ints{1, 1, 1, 1}}};
  const Attributes window = {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}};
  Attributes padded = window;
  padded["pads"] = Ints{1, 1, 1, 0};
  Attributes counted = padded;
  counted["count_include_pad"] = int64_t{1};
  counted["ceil_mode"] = int64_t{1};
  return {{"Conv", "3x3", {{2, 5, 9, 7}}, {{6, 5, 3, 3}, {6}}, pads},
          {"Conv", "strides", {{1, 3, 11, 13}}, {{5, 3, 5, 3}}, stride},
          {"Conv", "groups, dilated", {{1, 4, 12, 12}}, {{6, 2, 3, 3}, {6}}, dilated},
          {"Conv", "1x1", {{2, 19, 5, 7}}, {{21, 19, 1, 1}, {21}}},
          {"FusedConv", "3x3, relu", {{1, 3, 8, 8}}, {{4, 3, 3, 3}, {4}}, fused},
          {"MaxPool", "", {{2, 3, 9, 8}}, {}, padded},
          {"AveragePool", "", {{2, 3, 9, 8}}, {}, padded},
          {"AveragePool", "padding counted", {{2, 3, 9, 8}}, {}, counted},
          {"GlobalAveragePool", "", {{2, 5, 7, 11}}},
          {"GlobalMaxPool", "", {{2, 5, 7, 11}}}};
}

std::vector<CheckCase> product_cases() {
  const Attributes flipped = {
      {"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5F}, {"beta", 2.0F}};
  const Attributes tanh = {{"activation", std::string("Tanh")}};
  return {{"Gemm", "", {{3, 40}}, {{40, 17}, {17}}},
          {"Gemm", "transposed", {{40, 18}}, {{33, 40}, {18, 1}}, flipped},
          {"FusedGemm", "tanh", {{2, 9}}, {{9, 5}, {5}}, tanh},
          {"MatMul", "", {{2, 3, 20}}, {{20, 18}}},
          {"MatMul", "batches", {{2, 3, 5, 20}, {2, 3, 20, 4}}}};
}

std::vector<CheckCase> other_cases() {
  std::vector<CheckCase> cases = {
      {"BatchNormalization", "", {{2, 3, 5, 4}}, {{3}, {3}, {3}, {3}}},
      {"Softmax", "", {{3, 100}}},
      {"Softmax", "first axis", {{3, 4, 5}}, {}, {{"axis", int64_t{0}}}},
      {"LogSoftmax", "", {{3, 100}}},
      {"Concat", "", {{2, 3, 4}, {2, 1, 4}}, {}, {{"axis", int64_t{1}}}},
      {"Slice", "", {{3, 8, 9}}, {}, {}, {{1, 7}, {3, -20}, {0, 2}, {1, -2}}},
      {"Pad", "", {{2, 3, 4}}, {}, {}, {{0, 1, 2, 1, 0, 3}}},
      {"Transpose", "", {{2, 3, 4, 5}}, {}, {{"perm", Ints{0, 3, 1, 2}}}},
      {"Clip", "", {{700}}, {{}, {}}}};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    cases.push_back({op, "", {{2, 3, 4, 5}, {3, 1, 5}}});
  }
  for (const char* op : {"ReduceMax", "ReduceMean", "ReduceMin"}) {
    cases.push_back({op, "", {{4, 5, 66}}, {}, {{"axes", Ints{1, 2}}}});
  }
  cases.push_back({"ReduceSum", "", {{4, 5, 66}}, {}, {}, {{2}}});
  for (const char* op :
       {"Abs", "Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Neg",
        "Reciprocal", "Relu", "Sigmoid", "Softplus", "Sqrt", "Tanh"}) {
    cases.push_back({op, "", {{3, 301}}});
  }
  return cases;
}

// Numbers in [-2, 2); above 1/2 for operators that are not defined, or not smooth, below, and for
// what is a variance or a divisor.
Tensor check_numbers(const CheckCase& c, const Shape& shape, uint64_t seed) {
  Tensor tensor(TensorType{DType::kF32, shape});
  runtime::fill_random(tensor, seed);
  const bool positive = c.op == "Log" || c.op == "Sqrt" || c.op == "Reciprocal" || c.op == "Div" ||
                        c.op == "BatchNormalization";
  for (float& value : tensor.values<float>()) value = positive ? std::abs(value) + 0.5F : 2 * value;
  // The bounds, lower first.
  if (c.op == "Clip" && shape.rank() == 0)
    tensor.values<float>()[0] = seed % 2 == 1 ? -0.5F : 1.25F;
  return tensor;
}

Graph check_graph(const CheckCase& c) {
  Graph graph;
  ops::Builder b(graph);
  std::vector<ValueId> inputs;
  for (const Shape& shape : c.inputs) {
    inputs.push_back(b.input(fmt::format("x{}", inputs.size()), {DType::kF32, shape}));
  }
  for (const Shape& shape : c.weights) {
    const std::string name = fmt::format("w{}", inputs.size());
    inputs.push_back(b.constant(name, check_numbers(c, shape, inputs.size())));
  }
  for (const Ints& values : c.ints) {
    Tensor tensor(TensorType{DType::kI64, Shape{static_cast<int64_t>(values.size())}});
    std::copy(values.begin(), values.end(), tensor.values<int64_t>().begin());
    inputs.push_back(b.constant(fmt::format("i{}", inputs.size()), std::move(tensor)));
  }
  graph.set_outputs(b.add_multi(c.op, inputs, 1, c.attributes, "node"));
  return graph;
}

std::vector<Tensor> run_case(const CheckCase& c, const runtime::Executable& executable) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : c.inputs) inputs.push_back(check_numbers(c, shape, 50 + inputs.size()));
  runtime::ExecutionContext context(executable);
  return run_once(context, inputs);
}

double worst_error(const Tensor& found, const Tensor& expected) {
  double worst = 0;
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    const double wanted = element_as_double(expected, i);
    const double error = std::abs(element_as_double(found, i) - wanted) / (1 + std::abs(wanted));
    // Not a number is worse than any.
    worst = error <= worst ? worst : std::isnan(error) ? HUGE_VAL : error;
  }
  return worst;
}

DeviceCheck check_one(const CheckCase& c, const std::shared_ptr<device::Device>& device) {
  DeviceCheck check;
  check.op = c.op;
  check.what = c.what;
  runtime::CompileOptions options;
  options.rewrite = false;
  options.reference_only = true;
  const std::vector<Tensor> expected = run_case(c, runtime::compile(check_graph(c), options));
  options.reference_only = false;
  options.device = device;
  try {
    const runtime::Executable executable = runtime::compile(check_graph(c), options);
    for (const runtime::StepInfo& step : executable.steps()) {
      if (step.op != c.op) continue;
      if (step.kernel.starts_with("device") || step.kernel == "torch") check.kernel = step.kernel;
      if (!step.refusals.empty()) check.problem = step.refusals.front().reason;
    }
    check.worst_error = worst_error(run_case(c, executable)[0], expected[0]);
  } catch (const Failure& failure) {
    check.problem = failure.what();
  }
  if (check.problem.empty() && check.worst_error > kCheckTolerance) {
    check.problem = fmt::format("differs by {:.2g}", check.worst_error);
  }
  check.passed = check.problem.empty() && !check.kernel.empty();
  return check;
}

}  // namespace

std::vector<DeviceCheck> check_device(const std::shared_ptr<device::Device>& device) {
  std::vector<CheckCase> cases = window_cases();
  for (auto& more : {product_cases(), other_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  for (const std::string_view op : kernels::device_operators()) {
    const auto is_it = [&](const CheckCase& c) { return c.op == op; };
    // Every case begins and ends with a Reorder.
    TY_CHECK(op == "Reorder" || std::any_of(cases.begin(), cases.end(), is_it), "no case of {}",
             op);
  }
  std::vector<DeviceCheck> checks;
  for (const CheckCase& c : cases) checks.push_back(check_one(c, device));
  return checks;
}

}  // namespace trainyard::measure

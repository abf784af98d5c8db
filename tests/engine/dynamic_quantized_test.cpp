// Dynamically quantized networks: the fast kernels give the very numbers of the reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/graph_inputs.h"
#include "ops/builder.h"
#include "ops/layout/dtype_code.h"

namespace trainyard::runtime {
namespace {

using ops::Builder;
using DynamicInts = std::vector<int64_t>;

struct DynamicForm {
  DType weights = DType::kI8;
  const char* zeros = "none";  // of the weights: "one", "columns"
  bool scale_per_channel = false;
  bool bias = true;
  bool floats = true;  // as opposed to the sums themselves
};

// Steps as they come, ending in floats if the form says so.
ValueId finished(Builder& b, ValueId sums, ValueId x_scale, const Shape& per_channel,
                 const DynamicForm& form) {
  if (!form.floats) return sums;
  const ValueId real = b.add("Cast", {sums}, {{"to", ops::dtype_code(DType::kF32)}});
  const ValueId w_scale = form.scale_per_channel ? b.constant("ws", random_tensor(per_channel, 11))
                                                 : b.constant_scalar("ws", 0.013F);
  const ValueId y = b.add("Mul", {real, b.add("Mul", {x_scale, w_scale})});
  return form.bias ? b.add("Add", {b.constant("bias", random_tensor(per_channel, 12)), y}) : y;
}

Tensor steps_of(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor tensor = random_of_type({DType::kU8, shape}, seed, 256);
  return dtype == DType::kU8
             ? std::move(tensor)
             : Tensor::of<int8_t>(shape, {reinterpret_cast<const int8_t*>(tensor.data()),
                                          static_cast<size_t>(tensor.num_elements())});
}

std::vector<ValueId> operands(Builder& b, ValueId x, const Shape& weights, int64_t channels,
                              const DynamicForm& form, ValueId* x_scale) {
  const std::vector<ValueId> steps = b.add_multi("DynamicQuantizeLinear", {x}, 3);
  *x_scale = steps[1];
  std::vector<ValueId> inputs = {steps[0], b.constant("w", steps_of(form.weights, weights, 3)),
                                 steps[2]};
  const std::string_view zeros = form.zeros;
  if (zeros == "one") inputs.push_back(b.constant("wz", steps_of(form.weights, {}, 4)));
  if (zeros == "columns") inputs.push_back(b.constant("wz", steps_of(form.weights, {channels}, 5)));
  if (zeros == "none" && form.weights == DType::kU8)
    inputs.push_back(b.constant("wz", Tensor::scalar<uint8_t>(128)));
  return inputs;
}

Graph product_graph(const Shape& x, int64_t columns, const DynamicForm& form) {
  Graph graph;
  Builder b(graph);
  ValueId scale;
  const ValueId in = b.input("x", {DType::kF32, x});
  const auto inputs = operands(b, in, {x.dim(-1), columns}, columns, form, &scale);
  graph.set_outputs({finished(b, b.add("MatMulInteger", inputs), scale, {columns}, form)});
  return graph;
}

void expect_exact(const Graph& graph, const std::string& what) {
  SCOPED_TRACE(what);
  // Sums that are results themselves come out of the layout of bytes.
  for (const std::string& op : reference_operators(graph)) EXPECT_EQ(op, "Reorder");
  EXPECT_EQ(relative_error(run_typed(graph, /*reference=*/false)[0],
                           run_typed(graph, /*reference=*/true)[0]),
            0);
}

TEST(DynamicQuantized, Products) {
  const Shape shapes[] = {{1, 5}, {3, 7, 40}, {2, 2, 9, 65}};
  for (const Shape& x : shapes) {
    for (const DType weights : {DType::kI8, DType::kU8}) {
      for (const char* zeros : {"none", "one", "columns"}) {
        for (const int64_t columns : {3, 33, 70}) {
          const DynamicForm form{.weights = weights,
                                 .zeros = zeros,
                                 .scale_per_channel = columns == 33,
                                 .bias = columns != 3};
          expect_exact(
              product_graph(x, columns, form),
              fmt::format("{} {} {} {}", x.to_string(), dtype_name(weights), zeros, columns));
        }
      }
    }
  }
  expect_exact(product_graph({4, 30}, 17, {.zeros = "columns", .floats = false}), "sums");
  expect_exact(product_graph({4, 30}, 17, {.floats = false}), "sums without zero points");
}

// Cast, scale and bias are part of the product.
TEST(DynamicQuantized, AProductIsTwoSteps) {
  const Executable executable = compile_graph(product_graph({4, 30}, 17, {}), /*reference=*/false);
  int kernels = 0;
  for (const StepInfo& step : executable.steps()) {
    if (step.kernel != "view" && step.op != "Mul") ++kernels;
  }
  EXPECT_EQ(kernels, 2);
}

struct DynamicConvCase {
  int64_t channels, size, filters, kernel, stride, pad, groups;
};

Graph dynamic_conv_graph(const DynamicConvCase& c, const DynamicForm& form) {
  Graph graph;
  Builder b(graph);
  ValueId scale;
  const ValueId x = b.input("x", {DType::kF32, {2, c.channels, c.size, c.size}});
  const auto inputs = operands(b, x, {c.filters, c.channels / c.groups, c.kernel, c.kernel},
                               c.filters, form, &scale);
  const ValueId sums = b.add("ConvInteger", inputs,
                             {{"strides", DynamicInts{c.stride, c.stride}},
                              {"pads", DynamicInts{c.pad, c.pad, c.pad, c.pad}},
                              {"group", c.groups}});
  graph.set_outputs({finished(b, sums, scale, {1, c.filters, 1, 1}, form)});
  return graph;
}

TEST(DynamicQuantized, Convolutions) {
  for (const DynamicConvCase& c :
       {DynamicConvCase{3, 11, 20, 3, 2, 1, 1}, DynamicConvCase{32, 7, 17, 3, 1, 1, 1},
        DynamicConvCase{16, 6, 40, 1, 1, 0, 1}, DynamicConvCase{8, 9, 8, 3, 1, 1, 8},
        DynamicConvCase{12, 5, 24, 5, 1, 2, 2}}) {
    for (const bool floats : {true, false}) {
      for (const char* zeros : {"none", "one", "columns"}) {
        const DynamicForm form{
            .weights = zeros == std::string_view("one") ? DType::kU8 : DType::kI8,
            .zeros = zeros,
            .scale_per_channel = c.groups == 1,
            .floats = floats};
        expect_exact(dynamic_conv_graph(c, form),
                     fmt::format("{} {} {} floats {} zeros {}", c.channels, c.kernel, c.groups,
                                 floats, zeros));
      }
    }
  }
}

// A scale for each row is not one for each column, though there are as many.
TEST(DynamicQuantized, ScalesOfRowsStayProducts) {
  Graph graph;
  Builder b(graph);
  ValueId scale;
  const ValueId in = b.input("x", {DType::kF32, {6, 9}});
  const auto inputs = operands(b, in, {9, 6}, 6, {}, &scale);
  const ValueId real =
      b.add("Cast", {b.add("MatMulInteger", inputs)}, {{"to", ops::dtype_code(DType::kF32)}});
  graph.set_outputs({b.add("Mul", {real, b.constant("rows", random_tensor({6, 1}, 2))})});
  expect_exact(graph, "rows");
}

}  // namespace
}  // namespace trainyard::runtime

// What an observer sees of a run, and the search for the first bad result.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/first_bad.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::runtime {
namespace {

Executable compiled(Graph graph, bool reference_only) {
  CompileOptions options;
  options.threads = 1;
  options.reference_only = reference_only;
  options.rewrite = false;  // nodes as they were written
  return compile(std::move(graph), options);
}

std::map<std::string, Tensor> observed(ExecutionContext& context) {
  std::map<std::string, Tensor> results;
  context.set_observer([&](const StepView& step) {
    for (size_t i = 0; i < step.num_outputs(); ++i) {
      if (!step.output_name(i).empty()) results[step.output_name(i)] = step.output(i);
    }
  });
  context.run();
  context.set_observer(nullptr);
  return results;
}

// Blocked layouts change how and where values lie, not what an observer reads.
TEST(Observer, SeesRowMajorResultsOfEveryKernel) {
  const Graph model = models::build_model("resnet20-cifar", {.batch = 2});
  ExecutionContext plain(compiled(model, true));
  ExecutionContext fast(compiled(model, false));
  for (ExecutionContext* context : {&plain, &fast}) fill_random(context->input(0), 3);
  const std::map<std::string, Tensor> expected = observed(plain);
  const std::map<std::string, Tensor> found = observed(fast);
  size_t compared = 0;
  for (const auto& [name, tensor] : found) {
    const auto same = expected.find(name);
    if (same == expected.end() || tensor.dtype() != DType::kF32) continue;
    ASSERT_EQ(tensor.shape(), same->second.shape()) << name;
    for (size_t i = 0; i < tensor.values<float>().size(); i += 37) {
      ASSERT_NEAR(tensor.values<float>()[i], same->second.values<float>()[i], 1e-3) << name;
    }
    ++compared;
  }
  EXPECT_GT(compared, 20U);
}

TEST(Observer, FindsTheSameElementsInPlace) {
  ExecutionContext context(compiled(models::build_model("resnet20-cifar", {.batch = 2}), false));
  fill_random(context.input(0), 3);
  int64_t in_place = 0;
  context.set_observer([&](const StepView& step) {
    for (size_t i = 0; i < step.num_outputs(); ++i) {
      const Tensor copy = step.output(i);
      const std::span<const std::byte> bytes = step.elements(i);
      if (bytes.empty() || copy.dtype() != DType::kF32) continue;
      ASSERT_EQ(copy.shape(), step.output_shape(i));
      ASSERT_EQ(static_cast<int64_t>(bytes.size()), copy.num_bytes());
      // Sample by sample: each half holds the same numbers, in some order.
      const auto half = static_cast<size_t>(copy.num_elements() / 2);
      const auto* values = reinterpret_cast<const float*>(bytes.data());
      std::vector<float> found(values, values + half);
      std::vector<float> expected(copy.values<float>().begin(),
                                  copy.values<float>().begin() + half);
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(found, expected) << step.output_name(i);
      ++in_place;
    }
  });
  context.run();
  EXPECT_GT(in_place, 20);
}

TEST(Observer, IsCalledInOrderAndMayEndTheRun) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {4}});
  graph.set_outputs({b.add("Exp", {b.add("Neg", {x}, {}, "first")}, {}, "second")});
  const Executable executable = compiled(std::move(graph), true);
  ExecutionContext context(executable);
  std::vector<std::string> names;
  context.set_observer([&](const StepView& step) {
    EXPECT_EQ(step.index(), names.size());
    EXPECT_EQ(step.info().node, executable.steps()[step.index()].node);
    names.push_back(step.info().node);
  });
  context.run();
  EXPECT_EQ(names, (std::vector<std::string>{"first", "second"}));
  context.set_observer([](const StepView&) { throw_failure("enough"); });
  EXPECT_THROW(context.run(), Failure);
  context.set_observer(nullptr);
  context.run();
  EXPECT_EQ(context.output(0).values<float>()[0], 1);
}

TEST(FirstBad, NamesTheNode) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {4}});
  const ValueId log = b.add("Log", {b.add("Neg", {x}, {}, "negated")}, {}, "logarithm");
  graph.set_outputs({b.add("Tanh", {log}, {}, "last")});
  ExecutionContext context(compiled(std::move(graph), true));
  for (float& value : context.input(0).values<float>()) value = -2;
  EXPECT_EQ(find_first_bad(context, 0, 3), "");
  context.input(0).values<float>()[2] = 2;
  EXPECT_EQ(find_first_bad(context, 0, 3), "logarithm");
  context.input(0).values<float>()[2] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(find_first_bad(context, 0, 3), "negated");
  EXPECT_EQ(find_first_bad(context, 0, 0), "");
}

}  // namespace
}  // namespace trainyard::runtime

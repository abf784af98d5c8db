// A network in training: state in and out, accumulation, determinism.
#include "train/training_step.h"

#include <gtest/gtest.h>

#include "engine/bench.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::train {
namespace {

constexpr int64_t kPictures = 4;

Graph linear_network(int64_t batch) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {batch, 6}});
  const ValueId w = b.parameter("w", {3, 6}, init_he_normal(6));
  const ValueId bias = b.parameter("b", {3}, init_constant(0));
  graph.set_outputs({b.add("Gemm", {x, w, bias}, {{"transB", int64_t{1}}}, "fc")});
  return graph;
}

std::vector<float> weights_after(TrainingStep& step, int runs) {
  for (int i = 0; i < runs; ++i) step.run(0.1);
  const Tensor w = step.state(0);
  return {w.values<float>().begin(), w.values<float>().end()};
}

TEST(TrainingStep, SameSeedSameBits) {
  std::vector<std::vector<float>> results;
  for (int i = 0; i < 2; ++i) {
    TrainingStep step(linear_network(kPictures), {.threads = 2, .seed = 3});
    runtime::fill_random(step.input(0), 7);
    results.push_back(weights_after(step, 5));
  }
  EXPECT_EQ(results[0], results[1]);
}

// Two halves of a batch, added up, are the batch.
TEST(TrainingStep, AccumulationEqualsTheLargerBatch) {
  StepOptions options{.threads = 1, .seed = 3};
  TrainingStep whole(linear_network(2 * kPictures), options);
  runtime::fill_random(whole.input(0), 7);
  options.training.accumulate = 2;
  TrainingStep parts(linear_network(kPictures), options);
  const std::span<const float> images = whole.input(0).values<float>();
  for (int update = 0; update < 3; ++update) {
    whole.run(0.1);
    for (const size_t half : {0U, 1U}) {
      const size_t count = images.size() / 2;
      std::copy_n(images.begin() + static_cast<ptrdiff_t>(half * count), count,
                  parts.input(0).values<float>().begin());
      parts.run(0.1);
    }
  }
  EXPECT_EQ(whole.updates(), 3);
  EXPECT_EQ(parts.updates(), 3);
  EXPECT_EQ(parts.steps(), 6);
  const Tensor a = whole.state(0);
  const Tensor b = parts.state(0);
  // Sums in another order.
  for (size_t i = 0; i < a.values<float>().size(); ++i) {
    EXPECT_NEAR(a.values<float>()[i], b.values<float>()[i], 1e-6);
  }
}

TEST(TrainingStep, GoesOnFromCopiedState) {
  const StepOptions options{.threads = 2, .seed = 3};
  TrainingStep first(linear_network(kPictures), options);
  runtime::fill_random(first.input(0), 7);
  first.run(0.1);
  TrainingStep second(linear_network(kPictures), {.threads = 2, .seed = 99});
  runtime::fill_random(second.input(0), 7);
  for (size_t i = 0; i < first.states().size(); ++i) second.set_state(i, first.state(i));
  second.set_progress(first.steps(), first.updates());
  EXPECT_EQ(weights_after(first, 3), weights_after(second, 3));
}

TEST(TrainingStep, WeightsGoBackIntoTheNetwork) {
  Graph model = linear_network(kPictures);
  TrainingStep step(model, {.threads = 1, .seed = 3});
  const std::vector<float> weights = weights_after(step, 2);
  step.copy_weights_to(model);
  const auto& data = model.value(model.find_value("w")).constant;
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(std::vector<float>(data->values<float>().begin(), data->values<float>().end()),
            weights);
}

// Networks for images of 224 take smaller ones, and learn two of them by heart.
TEST(TrainingStep, TransformersAndConvnextTakeSmallImages) {
  const std::pair<const char*, int64_t> cases[] = {{"vit_b_16", 32}, {"convnext_tiny", 64}};
  for (const auto& [name, image] : cases) {
    const Graph model = models::build_model(name, {.batch = 2, .classes = 2, .image = image});
    TrainingStep step(model, {.threads = 2});
    runtime::fill_random(step.input(0), 3);
    step.input("labels").values<int64_t>()[1] = 1;
    step.run(0.01);
    const double before = step.loss();
    for (int i = 0; i < 4; ++i) step.run(0.01);
    EXPECT_LT(step.loss(), before) << name;
  }
}

}  // namespace
}  // namespace trainyard::train

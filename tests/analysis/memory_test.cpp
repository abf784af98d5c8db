#include "analysis/memory.h"

#include <gtest/gtest.h>

#include "analysis/networks.h"
#include "analysis/saved_for_backward.h"
#include "analysis/storage.h"

namespace trainyard::analysis {
namespace {

// Bytes of the values of small_net(1).
constexpr int64_t kImage = 4 * 192;
constexpr int64_t kConv = 4 * 256;
constexpr int64_t kPool = 4 * 64;
constexpr int64_t kLogits = 4 * 10;

TEST(Memory, WeightsGradientsAndOptimizerState) {
  const MemoryUse use = analyze_memory(small_net(1));
  EXPECT_EQ(use.trainable, 4 * (112 + 650));
  EXPECT_EQ(use.gradients, use.trainable);
  EXPECT_EQ(use.optimizer_state(Optimizer::kSgd), 0);
  EXPECT_EQ(use.optimizer_state(Optimizer::kMomentum), use.trainable);
  EXPECT_EQ(use.optimizer_state(Optimizer::kAdam), 2 * use.trainable);
  EXPECT_EQ(use.inputs, kImage);
}

TEST(Memory, StatisticsAndConstantsAreWeightsWithoutGradients) {
  Graph graph;
  ops::Builder b(graph);
  ValueId x = norm(b, b.input("x", {DType::kF32, {1, 8, 2, 2}}), "bn");
  const int64_t shape[] = {1, 32};
  graph.set_outputs({b.add("Reshape", {x, b.constant_ints("shape", shape)})});
  const MemoryUse use = analyze_memory(graph);
  EXPECT_EQ(use.trainable, 4 * 16);
  EXPECT_EQ(use.statistics, 4 * 16);
  EXPECT_EQ(use.constants, 8 * 2);
  EXPECT_EQ(use.weights(), 4 * 32 + 16);
  EXPECT_EQ(use.gradients, 4 * 16);
}

TEST(Memory, InferencePeakByLiveness) {
  const MemoryUse use = analyze_memory(small_net(1));
  // relu holds its input and its output; in place, conv holds image and output.
  EXPECT_EQ(use.inference.bytes, kConv + kConv);
  EXPECT_EQ(use.inference.node, "relu");
  EXPECT_EQ(use.inference_in_place.bytes, kImage + kConv);
  EXPECT_EQ(use.inference_in_place.node, "conv");
  EXPECT_EQ(use.inference_total(), use.weights() + kImage + kConv);
}

TEST(Memory, AResidualStaysUntilItIsAdded) {
  Graph graph;
  ops::Builder b(graph);
  constexpr int64_t kMap = 4 * 2 * 16;
  const ValueId x = b.input("x", {DType::kF32, {1, 2, 4, 4}});
  const ValueId stem = conv(b, x, 2, 1, 1, 0, "stem");
  ValueId y = conv(b, stem, 2, 1, 1, 0, "a");
  y = conv(b, y, 2, 1, 1, 0, "b");
  graph.set_outputs({b.add("Add", {stem, y}, {}, "sum")});
  const MemoryUse use = analyze_memory(graph);
  EXPECT_EQ(use.inference.bytes, 3 * kMap);  // stem, a, b at node b
  EXPECT_EQ(use.inference.node, "b");
  EXPECT_EQ(use.inference_in_place.bytes, 3 * kMap);
}

TEST(Memory, TheCallersInputIsNotOverwritten) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {16}});
  graph.set_outputs({b.add("Relu", {b.add("Relu", {x})})});
  EXPECT_EQ(analyze_memory(graph).inference_in_place.bytes, 2 * 4 * 16);
}

TEST(Memory, AnOutputIsNotOverwritten) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.add("Relu", {b.input("x", {DType::kF32, {16}})});
  graph.set_outputs({x, b.add("Neg", {x})});
  const Storage storage = plan_storage(graph, Reuse::kInPlace);
  EXPECT_EQ(storage.buffers.size(), 3U);
}

TEST(Memory, KeptForBackwardByHand) {
  const MemoryUse use = analyze_memory(small_net(1));
  // conv: the image; relu and the pool: relu's output; fc: the pooled map.
  EXPECT_EQ(use.saved_for_backward, kImage + kConv + kPool);
}

TEST(Memory, TrainingPeakByHand) {
  const MemoryUse use = analyze_memory(small_net(1));
  // Backward of the pool: image, relu's output, and the logits that belong to the caller; the
  // pooled map is gone, its gradient and that of relu's output are there.
  EXPECT_EQ(use.training.bytes, kImage + kConv + kLogits + kPool + kConv);
  EXPECT_EQ(use.training.node, "pool");
  EXPECT_TRUE(use.training.backward);
  EXPECT_EQ(use.training_total(Optimizer::kAdam),
            use.weights() + 3 * use.trainable + use.training.bytes);
}

TEST(Memory, TrainingGrowsWithTheBatchButForStatistics) {
  const MemoryUse one = analyze_memory(small_net(1));
  const MemoryUse eight = analyze_memory(small_net(8));
  EXPECT_EQ(eight.saved_for_backward, 8 * one.saved_for_backward);
  EXPECT_EQ(eight.training.bytes, 8 * one.training.bytes);
  EXPECT_EQ(eight.trainable, one.trainable);
}

TEST(Memory, GradientsOfASumAreNotCopied) {
  Graph graph;
  ops::Builder b(graph);
  constexpr int64_t kMap = 4 * 2 * 16;
  const ValueId x = b.input("x", {DType::kF32, {1, 2, 4, 4}});
  const ValueId stem = conv(b, x, 2, 1, 1, 0, "stem");
  const ValueId y = conv(b, stem, 2, 1, 1, 0, "a");
  graph.set_outputs({b.add("Add", {stem, y}, {}, "sum")});
  const MemoryUse use = analyze_memory(graph);
  EXPECT_EQ(use.saved_for_backward, 2 * kMap);  // x and stem
  // Backward of a: x, stem and the output; the sum's gradient, which stem and a share, and a's part
  // of a new sum.
  EXPECT_EQ(use.training.bytes, 5 * kMap);
}

TEST(Memory, PartsOfAConcatenationAreMadeInPlaceHere) {
  Graph graph;
  ops::Builder b(graph);
  constexpr int64_t kMap = 4 * 2 * 16;
  const ValueId x = b.input("x", {DType::kF32, {1, 2, 4, 4}});
  const ValueId left = conv(b, x, 2, 1, 1, 0, "left");
  const ValueId right = conv(b, x, 2, 1, 1, 0, "right");
  graph.set_outputs({b.add("Concat", {left, right}, {{"axis", int64_t{1}}}, "both")});
  const Storage copied = plan_storage(graph, Reuse::kTraining);
  EXPECT_EQ(copied.buffers.size(), 4U);  // x, left, right, both
  const Storage shared = plan_storage(graph, Reuse::kTrainingHere);
  ASSERT_EQ(shared.buffers.size(), 2U);
  EXPECT_EQ(shared.buffers[1].bytes, 2 * kMap);
  EXPECT_EQ(shared.buffers[1].born, 0);
  const MemoryUse use = analyze_memory(graph);
  // x, the output and its gradient, of which the parts' are views, and the weights' gradients.
  EXPECT_EQ(use.training_here.bytes, 5 * kMap + use.gradients);
}

TEST(Memory, UnknownSizesTakeNone) {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {Shape::kUnknown, 16, 8, 8}});
  graph.set_outputs({conv(b, x, 16, 3, 1, 1, "conv")});
  const MemoryUse use = analyze_memory(graph);
  EXPECT_EQ(use.training_here.bytes, use.gradients);
}

class KeptTest : public ::testing::Test {
 protected:
  SavedForBackward kept(std::string_view op, std::vector<ValueId> inputs,
                        Attributes attributes = {}) {
    const ValueId y = b_.add(op, std::move(inputs), std::move(attributes));
    const std::vector<bool> trained(graph_.value_limit(), true);
    return saved_for_backward(NodeView(graph_, graph_.value(y).producer), trained);
  }

  Graph graph_;
  ops::Builder b_{graph_};
  ValueId x_ = b_.input("x", {DType::kF32, {1, 2, 8, 8}});
  ValueId scale_ = b_.parameter("scale", {2}, init_constant(1));
};

TEST_F(KeptTest, SumsAndCopiesKeepNothing) {
  for (const char* op : {"Add", "Sub"}) EXPECT_TRUE(kept(op, {x_, x_}).values.empty()) << op;
  EXPECT_TRUE(kept("GlobalAveragePool", {x_}).values.empty());
  EXPECT_TRUE(kept("Flatten", {x_}).values.empty());
  EXPECT_TRUE(kept("Concat", {x_, x_}, {{"axis", int64_t{1}}}).values.empty());
}

TEST_F(KeptTest, ActivationsKeepTheirOutput) {
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Clip", "Softmax"}) {
    const SavedForBackward kept_values = kept(op, {x_});
    ASSERT_EQ(kept_values.values.size(), 1U) << op;
    EXPECT_NE(kept_values.values[0], x_) << op;
  }
}

TEST_F(KeptTest, FunctionsWhoseSlopeTheOutputHidesKeepTheirInput) {
  EXPECT_EQ(kept("InstanceNormalization", {x_, scale_, scale_}).values, std::vector<ValueId>{x_});
}

TEST_F(KeptTest, ProductsKeepBothFactors) {
  const ValueId other = b_.input("other", {DType::kF32, {1, 2, 8, 8}});
  EXPECT_EQ(kept("Mul", {x_, other}).values.size(), 2U);
  EXPECT_EQ(kept("Mul", {x_, x_}).values.size(), 1U);
}

TEST_F(KeptTest, PoolingKeepsItsInputAndDropoutNothing) {
  const SavedForBackward pool =
      kept("MaxPool", {x_}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  EXPECT_EQ(pool.values, std::vector<ValueId>{x_});
  EXPECT_EQ(pool.extra_bytes, 0);
  const SavedForBackward all = kept("Dropout", {x_});
  EXPECT_TRUE(all.values.empty());
  EXPECT_EQ(all.extra_bytes, 0);
}

TEST_F(KeptTest, NormalizationKeepsItsInputAndStatistics) {
  const SavedForBackward batch = kept("BatchNormalization", {x_, scale_, scale_, scale_, scale_});
  EXPECT_EQ(batch.values, std::vector<ValueId>{x_});
  EXPECT_EQ(batch.extra_bytes, 2 * 4 * 2);
  const SavedForBackward local = kept("LRN", {x_}, {{"size", int64_t{5}}});
  EXPECT_EQ(local.values, std::vector<ValueId>{x_});
  EXPECT_EQ(local.extra_bytes, 0);
}

TEST_F(KeptTest, UnlistedOperatorsKeepEverything) {
  EXPECT_EQ(kept("Div", {x_, x_}).values.size(), 2U);
}

}  // namespace
}  // namespace trainyard::analysis

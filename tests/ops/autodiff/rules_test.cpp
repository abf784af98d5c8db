// Gradient rules beyond those that image networks need, by central differences; and which operators
// have none.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "ops/op_def.h"
#include "support/numeric_gradient.h"

namespace trainyard::testing {
namespace {

using Inputs = std::vector<ValueId>;

Attribute text(const char* value) {
  return std::string(value);
}

// A node of x, then integer constants.
Network with_ints(const std::string& op, const std::vector<std::vector<int64_t>>& constants,
                  const Attributes& attributes = {}) {
  return [=](ops::Builder& b, const Inputs& x) {
    Inputs inputs = x;
    for (const auto& values : constants) inputs.push_back(b.constant_ints("ints", values));
    return b.add(op, inputs, attributes);
  };
}

Tensor labels(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(shape, values);
}

// A node of x[0], indices, x[1] …
Network indexed(const std::string& op, const Shape& shape, const std::vector<int64_t>& values,
                const Attributes& attributes = {}) {
  return [=](ops::Builder& b, const Inputs& x) {
    Inputs inputs = x;
    inputs.insert(inputs.begin() + 1, b.constant("indices", labels(shape, values)));
    return b.add(op, inputs, attributes);
  };
}

std::vector<GradientCase> elementary_cases() {
  return {
      {"acos", {{7}}, node("Acos"), -0.9, 0.9},
      {"acosh", {{7}}, node("Acosh"), 1.5, 3.0},
      {"asin", {{7}}, node("Asin"), -0.9, 0.9},
      {"asinh", {{7}}, node("Asinh")},
      {"atanh", {{7}}, node("Atanh"), -0.9, 0.9},
      {"celu", {{7}}, node("Celu", {{"alpha", 0.7F}})},
      {"cosh", {{7}}, node("Cosh")},
      {"hard sigmoid", {{9}}, node("HardSigmoid", {{"alpha", 0.6F}}), -2, 2},
      {"hard swish", {{9}}, node("HardSwish"), -5, 5},
      {"mish", {{7}}, node("Mish")},
      {"selu", {{7}}, node("Selu")},
      {"shrink", {{9}}, node("Shrink", {{"bias", 0.3F}, {"lambd", 0.4F}})},
      {"sinh", {{7}}, node("Sinh")},
      {"softsign", {{7}}, node("Softsign")},
      {"gelu", {{7}}, node("Gelu")},
      {"gelu by tanh", {{7}}, node("Gelu", {{"approximate", std::string("tanh")}})},
      {"swish", {{7}}, node("Swish", {{"alpha", 1.5F}})},
      {"tan", {{7}}, node("Tan")},
      {"thresholded relu", {{9}}, node("ThresholdedRelu", {{"alpha", 0.25F}})},
      {"mod", {{2, 3}, {3}}, node("Mod", {{"fmod", int64_t{1}}}), 0.3, 2},
      {"prelu", {{2, 3, 2}, {3, 1}}, node("PRelu")},
      {"sum", {{2, 3}, {3}, {2, 1}}, node("Sum")},
      {"mean", {{2, 3}, {3}, {2, 1}}, node("Mean")},
      {"max", {{2, 3}, {3}, {2, 1}}, node("Max")},
      {"min", {{2, 3}, {3}, {2, 1}}, node("Min")},
      {"where",
       {{2, 3}, {3}},
       [](ops::Builder& b, const Inputs& x) {
         return b.add("Where", {b.add("Greater", {x[0], x[1]}), x[0], x[1]});
       }},
      {"cast",
       {{5}},
       [](ops::Builder& b, const Inputs& x) {
         return b.add("CastLike", {x[0], b.constant("like", Tensor::scalar(1.0))});
       }},
      {"dropout at rest", {{5}}, node("Dropout")},
  };
}

// Tables of cosines and sines that are not learned.
ValueId turned(ops::Builder& b, const Inputs& x) {
  const std::vector<float> table = {0.6F, 0.8F, 1, 0, 0, -1};
  const ValueId cosines = b.constant("cosines", Tensor::of<float>({1, 3, 2}, table));
  const ValueId sines = b.constant("sines", Tensor::of<float>({1, 3, 2}, table));
  return b.add("RotaryEmbedding", {x[0], cosines, sines});
}

std::vector<GradientCase> reduction_cases() {
  const Attributes last = {{"axes", ints({-1})}, {"keepdims", int64_t{0}}};
  const Attributes all = {{"keepdims", int64_t{0}}};
  return {
      {"reduce l1", {{2, 3}}, node("ReduceL1", last)},
      {"reduce l2", {{2, 3}}, node("ReduceL2", {{"axes", ints({0})}})},
      {"reduce log sum", {{2, 3}}, node("ReduceLogSum", last), 0.5, 2},
      {"reduce log sum exp", {{2, 3}}, node("ReduceLogSumExp", last)},
      {"reduce max", {{2, 3, 2}}, node("ReduceMax", last)},
      {"reduce min of all", {{2, 3}}, node("ReduceMin", all)},
      {"reduce sum square", {{2, 3}}, node("ReduceSumSquare", last)},
      {"cumsum", {{2, 4}}, with_ints("CumSum", {{1}}, {{"exclusive", int64_t{1}}})},
      {"cumsum backwards", {{2, 4}}, with_ints("CumSum", {{0}}, {{"reverse", int64_t{1}}})},
      {"top k",
       {{2, 5}},
       [](ops::Builder& b, const Inputs& x) {
         const int64_t k = 2;
         return b.add_multi("TopK", {x[0], b.constant_ints("k", {&k, 1})}, 2)[0];
       }},
      {"lp pool",
       {{1, 2, 5, 5}},
       node("LpPool", {{"p", int64_t{3}},
                       {"kernel_shape", ints({3, 2})},
                       {"strides", ints({2, 1})},
                       {"pads", ints({1, 0, 1, 1})}})},
      {"global lp pool", {{2, 3, 4}}, node("GlobalLpPool")},
      {"rms norm",
       {{2, 3, 4}, {4}},
       node("RMSNormalization", {{"axis", int64_t{-1}}, {"epsilon", 0.01F}})},
      {"attention",
       {{1, 3, 4}, {1, 5, 4}, {1, 5, 4}},
       node("Attention", {{"kv_num_heads", int64_t{2}}, {"q_num_heads", int64_t{2}}})},
      {"causal attention",
       {{1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 3}},
       node("Attention", {{"is_causal", int64_t{1}}})},
      {"attention of shared heads",
       {{2, 3, 8}, {2, 3, 4}, {2, 3, 4}},
       node("Attention", {{"is_causal", int64_t{1}},
                          {"kv_num_heads", int64_t{2}},
                          {"q_num_heads", int64_t{4}},
                          {"scale", 0.7F}})},
      {"attention within documents",
       {{1, 2, 4, 2}, {1, 2, 4, 2}, {1, 2, 4, 3}},
       [](ops::Builder& b, const Inputs& x) {
         // The last two see each other alone, the first of all nothing but itself.
         Tensor mask(DType::kBool, {4, 4});
         for (size_t i = 0; i < 16; ++i) mask.values<bool>()[i] = i / 4 / 2 == i % 4 / 2;
         return b.add("Attention", {x[0], x[1], x[2], b.constant("mask", std::move(mask))},
                      {{"is_causal", int64_t{1}}});
       }},
      {"gated experts", {{3, 2}, {6, 2}, {6, 2}, {2, 6}, {3, 2}}, node("GatedExperts")},
      {"rotary embedding", {{1, 2, 3, 4}}, turned},
      {"layer norm",
       {{2, 3, 4}, {3, 4}, {4}},
       node("LayerNormalization", {{"axis", int64_t{1}}, {"epsilon", 0.01F}})},
      {"instance norm", {{2, 3, 4}, {3}, {3}}, node("InstanceNormalization")},
      {"mean variance norm",
       {{2, 3, 4}},
       node("MeanVarianceNormalization", {{"axes", ints({0, 2})}})},
      {"lp norm 1", {{2, 4}}, node("LpNormalization", {{"p", int64_t{1}}})},
      {"lp norm 2", {{2, 4}}, node("LpNormalization", {{"axis", int64_t{0}}})},
  };
}

Network resized(const std::vector<int64_t>& sizes, const Attributes& attributes) {
  return [=](ops::Builder& b, const Inputs& x) {
    return b.add("Resize", {x[0], kNoValue, kNoValue, b.constant_ints("sizes", sizes)}, attributes);
  };
}

std::vector<GradientCase> movement_cases() {
  return {
      {"resize nearest", {{1, 2, 3, 2}}, resized({1, 2, 5, 4}, {})},
      {"resize linear", {{1, 1, 3, 4}}, resized({1, 1, 6, 3}, {{"mode", text("linear")}})},
      {"resize cubic", {{1, 1, 4, 3}}, resized({1, 1, 7, 6}, {{"mode", text("cubic")}})},
      {"expand", {{2, 1}}, with_ints("Expand", {{3, 2, 4}})},
      {"squeeze", {{2, 1, 3}}, with_ints("Squeeze", {{1}})},
      {"unsqueeze", {{2, 3}}, with_ints("Unsqueeze", {{0, 3}})},
      {"tile", {{2, 3}}, with_ints("Tile", {{2, 1}})},
      {"trilu", {{3, 4}}, node("Trilu", {{"upper", int64_t{0}}})},
      {"depth to space", {{1, 8, 2, 3}}, node("DepthToSpace", {{"blocksize", int64_t{2}}})},
      {"depth to space by columns",
       {{1, 8, 2, 3}},
       node("DepthToSpace", {{"blocksize", int64_t{2}}, {"mode", text("CRD")}})},
      {"space to depth", {{1, 2, 4, 6}}, node("SpaceToDepth", {{"blocksize", int64_t{2}}})},
      {"reverse sequence", {{4, 2, 2}}, indexed("ReverseSequence", {2}, {3, 2})},
      {"split",
       {{2, 5}},
       [](ops::Builder& b, const Inputs& x) {
         const std::array<int64_t, 3> sizes = {1, 2, 2};
         const auto parts = b.add_multi("Split", {x[0], b.constant_ints("sizes", sizes)}, 3,
                                        {{"axis", int64_t{1}}});
         return b.add("Mul", {parts[1], parts[1]});
       }},
      {"gather", {{4, 3}}, indexed("Gather", {2, 2}, {0, 3, 3, -2})},
      {"gather along an axis", {{2, 4, 3}}, indexed("Gather", {2}, {3, 1}, {{"axis", int64_t{1}}})},
      {"gather one", {{2, 4, 3}}, indexed("Gather", {}, {2}, {{"axis", int64_t{2}}})},
      {"gather elements",
       {{3, 3}},
       indexed("GatherElements", {2, 3}, {0, 1, 1, 0, 2, 1}, {{"axis", int64_t{0}}})},
      {"gather nd", {{3, 2, 2}}, indexed("GatherND", {3, 1}, {2, 0, 2})},
      {"scatter elements",
       {{3, 3}, {2, 3}},
       indexed("ScatterElements", {2, 3}, {0, 1, 1, 2, 2, 0}, {{"axis", int64_t{0}}})},
      {"scatter elements added",
       {{3, 3}, {2, 3}},
       indexed("ScatterElements", {2, 3}, {0, 1, 1, 0, 2, 1}, {{"reduction", text("add")}})},
      {"scatter nd", {{3, 2}, {2, 2}}, indexed("ScatterND", {2, 1}, {2, 0})},
      {"scatter nd added",
       {{3, 2}, {2, 2}},
       indexed("ScatterND", {2, 1}, {2, 2}, {{"reduction", text("add")}})},
      {"conv transpose",
       {{2, 4, 3, 3}, {4, 3, 3, 2}, {6}},
       node("ConvTranspose", {{"group", int64_t{2}},
                              {"strides", ints({2, 1})},
                              {"pads", ints({1, 0, 1, 1})},
                              {"output_padding", ints({1, 0})}})},
  };
}

// Three steps of two sequences of two inputs, three hidden units; first states where wanted.
GradientCase recurrent_case(const std::string& name, const std::string& op, int64_t gates,
                            Attributes attributes, bool first_states = false) {
  const bool both = attributes.contains("direction") &&
                    std::get<std::string>(attributes.at("direction")) == "bidirectional";
  const bool batch_first = attributes.contains("layout");
  const int64_t d = both ? 2 : 1;
  std::vector<Shape> shapes = {batch_first ? Shape{2, 3, 2} : Shape{3, 2, 2},
                               {d, gates * 3, 2},
                               {d, gates * 3, 3},
                               {d, 2 * gates * 3}};
  const Shape state = batch_first ? Shape{2, d, 3} : Shape{d, 2, 3};
  if (first_states) shapes.insert(shapes.end(), gates == 4 ? 2 : 1, state);
  return {name, shapes, [=](ops::Builder& b, const Inputs& x) {
            Inputs inputs = x;
            if (first_states) inputs.insert(inputs.begin() + 4, kNoValue);
            const auto y = b.add_multi(op, inputs, gates == 4 ? 3 : 2, attributes);
            // All outputs matter: those of the steps and the last states.
            ValueId sum = b.add("ReduceSum", {b.add("Mul", {y[0], y[0]})});
            for (size_t i = 1; i < y.size(); ++i) {
              sum = b.add("Add", {sum, b.add("ReduceSum", {y[i]})});
            }
            return sum;
          }};
}

std::vector<GradientCase> recurrent_cases() {
  const Attributes both = {{"direction", text("bidirectional")}};
  return {
      recurrent_case("rnn", "RNN", 1, {}),
      recurrent_case("rnn reversed", "RNN", 1, {{"direction", text("reverse")}}, true),
      recurrent_case("gru", "GRU", 3, {}),
      recurrent_case("gru that resets late", "GRU", 3, {{"linear_before_reset", int64_t{1}}}, true),
      recurrent_case("gru both ways", "GRU", 3, both),
      recurrent_case("lstm", "LSTM", 4, {}),
      recurrent_case("lstm with first states", "LSTM", 4, {}, true),
      recurrent_case("lstm both ways", "LSTM", 4, both, true),
      recurrent_case("lstm batch first", "LSTM", 4, {{"layout", int64_t{1}}}, true),
  };
}

class RuleTest : public ::testing::TestWithParam<GradientCase> {};

TEST_P(RuleTest, EqualsTheCentralDifference) {
  check_gradient(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Elementary, RuleTest, ::testing::ValuesIn(elementary_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Reduction, RuleTest, ::testing::ValuesIn(reduction_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Recurrent, RuleTest, ::testing::ValuesIn(recurrent_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Movement, RuleTest, ::testing::ValuesIn(movement_cases()), name_of);

// A new operator either has a rule, or says that nothing flows through it, or is listed here with
// the reason.
TEST(Rules, OperatorsWithoutOneAreThese) {
  const std::vector<std::string> expected = {
      // gradients themselves: there are no second derivatives
      "AttentionGrad", "AveragePoolGrad", "BatchNormGrad", "ClipGrad", "ConvGradInput",
      "ConvGradWeight", "GatedExpertsGrad", "GeluGrad", "LRNGrad", "MaxPoolGrad",
      "NegativeLogLikelihoodLossGrad", "ReluGrad", "ResizeGrad", "SigmoidGrad", "SliceGrad",
      "SoftmaxCrossEntropyLossGrad", "TanhGrad",
      // optimizers
      "Adagrad", "Adam", "AdamW", "ClipByGlobalNorm", "GlobalNorm", "Lamb", "Lars", "Lion",
      "Momentum", "MovingAverage", "RmsProp",
      // made by the compiler, after differentiation
      "AllReduceStart", "AllReduceWait", "FusedConv", "FusedGemm", "QuantizedAdd",
      "QuantizedAveragePool", "QuantizedConcat", "QuantizedConv", "QuantizedTable", "Reorder",
      "ScaleShift", "ScaledConvInteger", "ScaledMatMulInteger",
      // quantized
      "DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear",
      // not written
      "AffineGrid", "CenterCropPad", "Col2Im", "Compress", "CumProd", "DFT", "Det", "GridSample",
      "If", "LinearAttention", "Loop", "MaxRoiPool", "MaxUnpool", "ReduceProd", "RoiAlign", "STFT",
      "Scan", "TensorScatter"};
  std::vector<std::string> found;
  for (const ops::OpDef* op : ops::all_ops()) {
    if (op->gradient == nullptr && op->no_gradient != ops::NoGradient::kNever) {
      found.emplace_back(op->name);
    }
  }
  std::vector<std::string> sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, sorted);
}

}  // namespace
}  // namespace trainyard::testing

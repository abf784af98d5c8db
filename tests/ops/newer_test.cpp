// Cases of operators that came after opset 17: attention and its company, signals, bits.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

constexpr DType kI32 = DType::kI32;

OpCases attention_cases() {
  return {
      // Scores 0 and ln 3: shares 1/4 and 3/4.
      {.op = "Attention",
       .inputs = {given({1, 1, 1, 1}, {1}), given({1, 1, 2, 1}, {0, 1.0986123}),
                  given({1, 1, 2, 1}, {4, 8})},
       .outputs = {gives({1, 1, 1, 1}, {7})}},
      // The first query sees the first key alone.
      {.op = "Attention",
       .inputs = {draw({2, 5, 8}), draw({2, 5, 8}), draw({2, 5, 8})},
       .attributes = {{"is_causal", int64_t{1}},
                      {"kv_num_heads", int64_t{2}},
                      {"q_num_heads", int64_t{2}}},
       .outputs = {gives_type({2, 5, 8})}},
      {.op = "Attention",
       .inputs = {draw({1, 4, 3, 8}), draw({1, 2, 70, 8}), draw({1, 2, 70, 4}), draw({3, 70})},
       .outputs = {gives_type({1, 4, 3, 4})}},
      // Three heads share keys; more queries than the lanes of a piece; keys of calls before, which
      // are handed on with those of this one.
      {.op = "Attention",
       .inputs = {draw({2, 6, 21, 20}), draw({2, 2, 21, 20}), draw({2, 2, 21, 35}), absent(),
                  draw({2, 2, 9, 20}), draw({2, 2, 9, 35})},
       .attributes = {{"is_causal", int64_t{1}}},
       .outputs = {gives_type({2, 6, 21, 35}), gives_type({2, 2, 30, 20}),
                   gives_type({2, 2, 30, 35})}},
      // Blocks of queries of different widths.
      {.op = "Attention",
       .inputs = {draw({1, 100, 8}), draw({1, 100, 8}), draw({1, 100, 8})},
       .attributes = {{"is_causal", int64_t{1}},
                      {"kv_num_heads", int64_t{2}},
                      {"q_num_heads", int64_t{2}}},
       .outputs = {gives_type({1, 100, 8})}},
      // The same heads side by side, a mask for each query and head, nothing handed on.
      {.op = "Attention",
       .inputs = {draw({2, 5, 24}), draw({2, 5, 8}), draw({2, 5, 4}), draw({2, 3, 5, 12}),
                  draw({2, 1, 7, 8}), draw({2, 1, 7, 4})},
       .attributes = {{"kv_num_heads", int64_t{1}}, {"q_num_heads", int64_t{3}}},
       .outputs = {gives_type({2, 5, 12})}},
      // Shares 1/4 and 3/4 of values 4 and 8: dv is the shares, ds = 1/4 * (4 - 7) and its
      // opposite.
      {.op = "AttentionGrad",
       .inputs = {given({1, 1, 1, 1}, {1}), given({1, 1, 2, 1}, {0, 1.0986123}),
                  given({1, 1, 2, 1}, {4, 8}), given({1, 1, 1, 1}, {1})},
       .outputs = {gives({1, 1, 1, 1}, {0.8239592}), gives({1, 1, 2, 1}, {-0.75, 0.75}),
                   gives({1, 1, 2, 1}, {0.25, 0.75})}},
      // Swish(1) = 0.7310586. The first row counts the second expert alone, by 2, the second both.
      {.op = "GatedExperts",
       .inputs = {given({2, 1}, {1, 1}), given({2, 1}, {0, 1}), given({2, 1}, {5, 3}),
                  given({1, 2}, {7, 10}), given({2, 2}, {0, 2, 1, 1})},
       .outputs = {gives({2, 1}, {43.8635147, 21.9317574})}},
      // Of the same, with the slope 0.9276705 of Swish at 1 and 0.5 at 0.
      {.op = "GatedExpertsGrad",
       .inputs = {given({2, 1}, {1, 1}), given({2, 1}, {0, 1}), given({2, 1}, {5, 3}),
                  given({1, 2}, {7, 10}), given({2, 2}, {0, 2, 1, 1}), given({2, 1}, {1, 0})},
       .outputs = {gives({2, 1}, {99.5237447, 0}), gives({2, 1}, {0, 55.6602300}),
                   gives({2, 1}, {0, 14.6211716}), gives({1, 2}, {0, 4.3863515}),
                   gives({2, 2}, {0, 21.9317574, 0, 0})}},
      {.op = "LinearAttention",
       .inputs = {given({1, 2, 1}, {1, 1}), given({1, 2, 1}, {2, 3}), given({1, 2, 1}, {5, 7})},
       .attributes = {{"kv_num_heads", int64_t{1}},
                      {"q_num_heads", int64_t{1}},
                      {"update_rule", text("linear")}},
       .outputs = {gives({1, 2, 1}, {10, 31}), gives({1, 1, 1, 1}, {31})}},
      {.op = "RMSNormalization",
       .inputs = {given({2, 2}, {3, 4, 0, 2}), given({2}, {1, 2})},
       .attributes = {{"epsilon", 0.0F}},
       .outputs = {gives({2, 2}, {0.84852814, 2.26274170, 0, 2.8284271})}},
      // As many factors as columns, but one for each row.
      {.op = "RMSNormalization",
       .inputs = {given({2, 2}, {3, 4, 0, 2}), given({2, 1}, {1, 2})},
       .attributes = {{"epsilon", 0.0F}},
       .outputs = {gives({2, 2}, {0.84852814, 1.13137085, 0, 2.8284271})}},
      // A quarter turn.
      {.op = "RotaryEmbedding",
       .inputs = {given({1, 1, 1, 2}, {3, 5}), given({1, 1, 1}, {0}), given({1, 1, 1}, {1})},
       .outputs = {gives({1, 1, 1, 2}, {-5, 3})}},
      {.op = "TensorScatter",
       .inputs = {given({1, 3, 1}, {1, 2, 3}), given({1, 2, 1}, {8, 9}),
                  given({1}, {2}, DType::kI64)},
       .attributes = {{"mode", text("circular")}},
       .outputs = {gives({1, 3, 1}, {9, 2, 8})}},
  };
}

// Weights that are known, as the packed kernels want them; sizes that fill no vector.
OpCases packed_recurrent_cases() {
  const auto layer = [&](const char* op, int64_t gates, const char* direction,
                         Attributes attributes, int64_t batch = 4, int64_t hidden = 10) {
    const int64_t directions = direction == std::string("bidirectional") ? 2 : 1;
    attributes["direction"] = text(direction);
    return OpCase{.op = op,
                  .inputs = {draw({5, batch, 3}), known_draw({directions, gates * hidden, 3}),
                             known_draw({directions, gates * hidden, hidden}),
                             known_draw({directions, 2 * gates * hidden})},
                  .attributes = std::move(attributes),
                  .outputs = {gives_type({5, directions, batch, hidden}),
                              gives_type({directions, batch, hidden})},
                  .tolerance = 1e-4};
  };
  return {layer("LSTM", 4, "bidirectional", {}), layer("LSTM", 4, "reverse", {}),
          layer("GRU", 3, "forward", {{"linear_before_reset", int64_t{1}}}),
          layer("RNN", 1, "bidirectional", {}),
          // Groups of rows of every size, more than one vector of units.
          layer("LSTM", 4, "forward", {}, 13, 35),
          layer("GRU", 3, "bidirectional", {{"linear_before_reset", int64_t{1}}}, 15, 18),
          layer("RNN", 1, "forward", {}, 23, 33)};
}

OpCases signal_cases() {
  return {
      {.op = "DFT",
       .inputs = {given({1, 2, 1}, {1, 3}), absent(), known({}, {1}, DType::kI64)},
       .outputs = {gives({1, 2, 2}, {4, 0, -2, 0})}},
      {.op = "STFT",
       .inputs = {given({1, 4, 1}, {1, 3, 5, 7}), known({}, {2}, DType::kI64), absent(),
                  known({}, {2}, DType::kI64)},
       .outputs = {gives({1, 2, 2, 2}, {4, 0, -2, 0, 12, 0, -2, 0})}},
      {.op = "HannWindow",
       .inputs = {known({}, {4}, kI32)},
       .outputs = {gives({4}, {0, 0.5, 1, 0.5})}},
      {.op = "HammingWindow",
       .inputs = {known({}, {2}, kI32)},
       .outputs = {gives({2}, {0.08695652, 1})}},
      {.op = "BlackmanWindow",
       .inputs = {known({}, {2}, kI32)},
       .outputs = {gives({2}, {0, 1})},
       .tolerance = 1e-5},
      {.op = "MelWeightMatrix",
       .inputs = {known({}, {2}, kI32), known({}, {8}, kI32), known({}, {16}, kI32), known({}, {0}),
                  known({}, {8})},
       .outputs = {gives_type({5, 2})}},
  };
}

OpCases layout_cases() {
  return {
      {.op = "AffineGrid",
       .inputs = {given({1, 2, 3}, {2, 0, 0, 0, 1, 1}), known_ints({1, 1, 1, 2})},
       .outputs = {gives({1, 1, 2, 2}, {-1, 1, 1, 1})}},
      {.op = "BitCast",
       .inputs = {given({1}, {1})},
       .attributes = {{"to", int64_t{6}}},
       .outputs = {gives({1}, {1065353216}, kI32)}},
      {.op = "CenterCropPad",
       .inputs = {given({4}, {1, 2, 3, 4}), known_ints({2})},
       .outputs = {gives({2}, {2, 3})}},
      {.op = "Col2Im",
       .inputs = {given({1, 2, 2}, {1, 2, 3, 4}), known_ints({1, 3}), known_ints({1, 2})},
       .outputs = {gives({1, 1, 1, 3}, {1, 5, 4})}},
      {.op = "Unique",
       .inputs = {known({4}, {2, 1, 1, 3})},
       .outputs = {gives({3}, {1, 2, 3}), gives({3}, {1, 0, 3}, DType::kI64),
                   gives({4}, {1, 0, 0, 2}, DType::kI64), gives({3}, {2, 1, 1}, DType::kI64)}},
      {.op = "CumProd",
       .inputs = {given({3}, {2, 3, 4}), known({}, {0}, kI32)},
       .outputs = {gives({3}, {2, 6, 24})}},
      {.op = "BitwiseAnd",
       .inputs = {given({2}, {6, 5}, kI32), given({2}, {3, 4}, kI32)},
       .outputs = {gives({2}, {2, 4}, kI32)}},
      {.op = "BitwiseOr",
       .inputs = {given({2}, {6, 5}, kI32), given({2}, {3, 4}, kI32)},
       .outputs = {gives({2}, {7, 5}, kI32)}},
      {.op = "BitwiseXor",
       .inputs = {given({2}, {6, 5}, kI32), given({2}, {3, 4}, kI32)},
       .outputs = {gives({2}, {5, 1}, kI32)}},
      {.op = "BitwiseNot",
       .inputs = {given({2}, {0, 5}, kU8)},
       .outputs = {gives({2}, {255, 250}, kU8)}},
      {.op = "Gelu", .inputs = {given({2}, {0, 1})}, .outputs = {gives({2}, {0, 0.8413447})}},
      {.op = "Gelu",
       .inputs = {given({2}, {0, 1})},
       .attributes = {{"approximate", text("tanh")}},
       .outputs = {gives({2}, {0, 0.8411920})}},
      {.op = "Swish",
       .inputs = {given({2}, {0, 1})},
       .attributes = {{"alpha", 2.0F}},
       .outputs = {gives({2}, {0, 0.8807971})}},
  };
}

}  // namespace

OpCases newer_cases() {
  OpCases cases = attention_cases();
  for (OpCase& c : packed_recurrent_cases()) cases.push_back(std::move(c));
  for (OpCase& c : signal_cases()) cases.push_back(std::move(c));
  for (OpCase& c : layout_cases()) cases.push_back(std::move(c));
  return cases;
}

TEST(Attention, RefusesHeadsThatDoNotFit) {
  expect_rejected(
      {.op = "Attention", .inputs = {draw({1, 4, 3, 8}), draw({1, 3, 5, 8}), draw({1, 3, 5, 8})}},
      "do not fit each other");
}

TEST(Signal, RefusesShapesThatDoNotFit) {
  const OpInput step = known({}, {2}, DType::kI64);
  const OpInput signal = draw({1, 8, 1});
  expect_rejected({.op = "STFT", .inputs = {signal, step, draw({})}}, "the window has shape");
  // Its numbers would be read beyond its end.
  expect_rejected({.op = "STFT", .inputs = {signal, step, draw({2}), known({}, {4}, DType::kI64)}},
                  "expected one number for each of a frame's 4");
  expect_rejected({.op = "STFT", .inputs = {signal, known({0}, {}, DType::kI64), draw({2})}},
                  "input 1 has shape 0, expected one number");
  expect_rejected({.op = "DFT", .inputs = {draw({1, 8, 0})}}, "the last axis has 0 parts");
  for (const DType dtype : {DType::kI64, DType::kU16}) {
    expect_rejected({.op = "DFT", .inputs = {draw({1, 8, 1}), known({}, {0}, dtype)}},
                    "a length of 0 is not possible");
  }
  expect_rejected({.op = "HannWindow", .inputs = {known({0}, {}, DType::kI64)}},
                  "expected one number");
}

TEST(Recurrent, KnownWeightsArePacked) {
  for (const OpCase& c : packed_recurrent_cases()) EXPECT_TRUE(is_fast(c)) << c;
}

TEST(Gelu, RefusesAnUnknownApproximation) {
  expect_rejected(
      {.op = "Gelu", .inputs = {draw({2})}, .attributes = {{"approximate", text("cosine")}}},
      "'cosine' is not one of none, tanh");
}

}  // namespace trainyard::testing

// The fast gradients of pooling, normalization and data movement beside the reference.
#include <gtest/gtest.h>

#include "support/op_case.h"

namespace trainyard::testing {
namespace {

void check_fast_gradient(const OpCase& c) {
  EXPECT_TRUE(is_fast(c)) << c;
  check_case(c);
}

struct PoolForm {
  int64_t kernel;
  int64_t stride;
  int64_t pad;
  bool ceil = false;
};

const std::vector<PoolForm> kPools = {{2, 2, 0}, {3, 2, 1},       {3, 2, 0, true},
                                      {3, 1, 1}, {3, 2, 1, true}, {5, 3, 2}};

Attributes pool_attributes(const PoolForm& form) {
  return {{"kernel_shape", ints({form.kernel, form.kernel})},
          {"strides", ints({form.stride, form.stride})},
          {"pads", ints({form.pad, form.pad, form.pad, form.pad})},
          {"ceil_mode", int64_t{form.ceil}}};
}

Shape pooled(const Shape& x, const PoolForm& form) {
  Shape y = x;
  for (int64_t i = 2; i < 4; ++i) {
    const int64_t room = x[i] + 2 * form.pad - form.kernel;
    y[i] = (form.ceil ? room + form.stride - 1 : room) / form.stride + 1;
    // A window that begins in the padding at the end does not count.
    if ((y[i] - 1) * form.stride >= x[i] + form.pad) --y[i];
  }
  return y;
}

const std::vector<Shape> kImages = {{1, 3, 7, 8}, {7, 20, 6, 5}, {2, 16, 9, 11}};

TEST(NativeGradient, OfMaxPoolEqualsTheReference) {
  for (const Shape& x : kImages) {
    for (const PoolForm& form : kPools) {
      check_fast_gradient({.op = "MaxPoolGrad",
                           .inputs = {draw(x), draw(pooled(x, form))},
                           .attributes = pool_attributes(form)});
    }
  }
}

// Of equal elements the first takes all.
TEST(NativeGradient, OfMaxPoolGoesToTheFirstOfEquals) {
  check_fast_gradient(
      {.op = "MaxPoolGrad",
       .inputs = {given({1, 1, 2, 3}, {1, 5, 5, 5, 0, 5}), given({1, 1, 1, 2}, {2, 3})},
       .attributes = {{"kernel_shape", ints({2, 2})}},
       .outputs = {gives({1, 1, 2, 3}, {0, 5, 0, 0, 0, 0})}});
}

TEST(NativeGradient, OfAveragePoolAndItselfEqualTheReference) {
  for (const Shape& x : kImages) {
    for (const PoolForm& form : kPools) {
      for (const int64_t counts_padding : {0, 1}) {
        Attributes attributes = pool_attributes(form);
        attributes["input_shape"] = x.vector();
        attributes["count_include_pad"] = counts_padding;
        check_fast_gradient(
            {.op = "AveragePoolGrad", .inputs = {draw(pooled(x, form))}, .attributes = attributes});
      }
    }
  }
}

TEST(NativeGradient, OfLrnEqualsTheReference) {
  for (const Shape& x : {Shape{1, 3, 5, 7}, Shape{3, 20, 6, 6}, Shape{2, 32, 3, 3}}) {
    check_fast_gradient({.op = "LRNGrad",
                         .inputs = {draw(x), draw(x)},
                         .attributes = {{"size", int64_t{5}}, {"alpha", 0.5F}, {"bias", 2.0F}}});
  }
}

// More queries than a block holds, rows that end within a vector, shared heads, both kinds of
// masks.
TEST(NativeGradient, OfAttentionEqualsTheReference) {
  struct AttentionForm {
    Shape q, k, v, dy;
    int64_t heads;
    int64_t shared;
    bool causal;
    Shape mask = {};
  };
  for (const AttentionForm& form :
       {AttentionForm{{2, 5, 8}, {2, 5, 8}, {2, 5, 8}, {2, 5, 8}, 2, 2, true},
        AttentionForm{{1, 70, 24}, {1, 70, 24}, {1, 70, 24}, {1, 70, 24}, 3, 3, true},
        AttentionForm{{2, 33, 40}, {2, 33, 20}, {2, 33, 20}, {2, 33, 40}, 4, 2, true},
        AttentionForm{{1, 7, 128}, {1, 61, 128}, {1, 61, 128}, {1, 7, 128}, 1, 1, false},
        AttentionForm{
            {2, 19, 12}, {2, 19, 12}, {2, 19, 12}, {2, 19, 12}, 2, 2, true, {2, 1, 19, 19}},
        AttentionForm{{1, 9, 6}, {1, 13, 6}, {1, 13, 10}, {1, 9, 10}, 2, 2, false, {9, 13}}}) {
    OpCase attention = {.op = "AttentionGrad",
                        .inputs = {draw(form.q), draw(form.k), draw(form.v), draw(form.dy)},
                        .attributes = {{"q_num_heads", form.heads},
                                       {"kv_num_heads", form.shared},
                                       {"is_causal", int64_t{form.causal ? 1 : 0}}},
                        .outputs = {gives_type(form.q), gives_type(form.k), gives_type(form.v)}};
    if (form.mask.rank() > 0) attention.inputs.push_back(draw(form.mask));
    check_fast_gradient(attention);
    if (form.mask.rank() == 0) continue;
    // Whoever sees nothing at all gives nothing.
    std::vector<double> seen(static_cast<size_t>(form.mask.num_elements()));
    for (size_t i = 0; i < seen.size(); ++i) seen[i] = i % 3 == 0 ? 1 : 0;
    attention.inputs.back() = given(form.mask, seen, DType::kBool);
    check_fast_gradient(attention);
  }
}

// Expert 1 has no rows, expert 2 has all of them.
TEST(NativeGradient, ExpertsEqualTheReference) {
  constexpr int64_t kRows = 37;
  std::vector<double> weights(3 * kRows, 0);
  for (size_t row = 0; row < kRows; ++row) {
    weights[3 * row] = row % 4 == 0 ? 0.7 : 0;
    weights[3 * row + 2] = 0.3;
  }
  std::vector<OpInput> inputs = {draw({kRows, 20}), draw({54, 20}), draw({54, 20}), draw({20, 54}),
                                 given({kRows, 3}, weights)};
  check_fast_gradient({.op = "GatedExperts", .inputs = inputs});
  inputs.push_back(draw({kRows, 20}));
  check_fast_gradient(
      {.op = "GatedExpertsGrad",
       .inputs = inputs,
       .outputs = {gives_type({kRows, 20}), gives_type({54, 20}), gives_type({54, 20}),
                   gives_type({20, 54}), gives_type({kRows, 3})}});
}

TEST(NativeGradient, DropoutEqualsTheReference) {
  for (const Shape& x : {Shape{19}, Shape{7, 13}, Shape{1, 3, 5, 7}, Shape{7, 20, 4, 5}}) {
    for (const int64_t first : {0, 21}) {
      check_fast_gradient(
          {.op = "DropoutTraining",
           .inputs = {draw(x), given({}, {3}, DType::kI64)},
           .attributes = {{"ratio", 0.3F}, {"seed", int64_t{11}}, {"first", first}}});
    }
  }
}

TEST(NativeGradient, SlicesOfChannelsEqualTheReference) {
  for (const int64_t end : {16, 19, 24}) {
    for (const Shape& x : {Shape{1, 24, 3, 3}, Shape{7, 24, 5}}) {
      check_fast_gradient({.op = "Slice",
                           .inputs = {draw(x), known_ints({8}),
                                      known_ints({static_cast<double>(end)}), known_ints({1})}});
    }
  }
}

TEST(NativeGradient, SumsOfManyEqualTheReference) {
  for (const Shape& x : {Shape{5}, Shape{1, 3, 5, 7}, Shape{7, 20, 4, 5}, Shape{2, 16, 17, 19}}) {
    check_fast_gradient({.op = "Sum", .inputs = {draw(x), draw(x), draw(x), draw(x)}});
  }
}

TEST(NativeGradient, SumsPerChannelEqualTheReference) {
  for (const Shape& x : {Shape{1, 3, 5, 7}, Shape{7, 20, 4, 5}, Shape{2, 16, 17, 19}}) {
    for (const int64_t keep : {0, 1}) {
      check_fast_gradient({.op = "ReduceSum",
                           .inputs = {draw(x), known_ints({0, 2, -1})},
                           .attributes = {{"keepdims", keep}}});
    }
  }
  check_fast_gradient({.op = "ReduceSum", .inputs = {draw({9, 131}), known_ints({0})}});
}

}  // namespace
}  // namespace trainyard::testing

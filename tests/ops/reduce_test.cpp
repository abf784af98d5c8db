// Cases of the reductions and of the variadic family.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

// A 2x2 matrix reduced along its rows.
OpCase rows(const char* op, std::vector<double> y, DType dtype = DType::kF32) {
  return {.op = op,
          .inputs = {given({2, 2}, {1, 2, 3, 4}, dtype)},
          .attributes = {{"axes", ints({-1})}, {"keepdims", int64_t{0}}},
          .outputs = {gives({2}, std::move(y), dtype)}};
}

}  // namespace

OpCases reduce_cases() {
  return {
      {.op = "ArgMax",
       .inputs = {given({2, 3}, {1, 5, 5, 7, 2, 3})},
       .attributes = {{"axis", int64_t{1}}},
       .outputs = {gives({2, 1}, {1, 0}, DType::kI64)}},
      {.op = "ArgMax",
       .inputs = {given({2, 3}, {1, 5, 5, 7, 2, 3}, DType::kI32)},
       .attributes = {{"axis", int64_t{-1}},
                      {"keepdims", int64_t{0}},
                      {"select_last_index", int64_t{1}}},
       .outputs = {gives({2}, {2, 0}, DType::kI64)}},
      {.op = "ArgMin",
       .inputs = {given({2, 3}, {1, 5, 5, 7, 2, 3})},
       .outputs = {gives({1, 3}, {0, 1, 1}, DType::kI64)}},
      {.op = "CumSum",
       .inputs = {given({3}, {1, 2, 3}), known({}, {0}, DType::kI32)},
       .outputs = {gives({3}, {1, 3, 6})}},
      {.op = "CumSum",
       .inputs = {given({2, 2}, {1, 2, 3, 4}, DType::kI64), known({}, {1}, DType::kI64)},
       .attributes = {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
       .outputs = {gives({2, 2}, {2, 0, 4, 0}, DType::kI64)}},
      // Pairs side by side or one apart: 1 2 once, 2 1 never; 3 alone twice.
      {.op = "TfIdfVectorizer",
       .inputs = {given({5}, {1, 2, 3, 2, 3}, DType::kI64)},
       .attributes = {{"mode", std::string("TF")},
                      {"min_gram_length", int64_t{1}},
                      {"max_gram_length", int64_t{2}},
                      {"max_skip_count", int64_t{1}},
                      {"ngram_counts", std::vector<int64_t>{0, 1}},
                      {"ngram_indexes", std::vector<int64_t>{2, 0, 1}},
                      {"pool_int64s", std::vector<int64_t>{3, 1, 2, 2, 1}}},
       .outputs = {gives({3}, {1, 0, 2})}},
      // Lengths and distances beyond the row, 1 2 also three apart.
      {.op = "TfIdfVectorizer",
       .inputs = {given({5}, {1, 2, 3, 2, 3}, DType::kI64)},
       .attributes = {{"mode", std::string("TF")},
                      {"min_gram_length", int64_t{1}},
                      {"max_gram_length", int64_t{1} << 60},
                      {"max_skip_count", std::numeric_limits<int64_t>::max()},
                      {"ngram_counts", std::vector<int64_t>{0, 1}},
                      {"ngram_indexes", std::vector<int64_t>{2, 0, 1}},
                      {"pool_int64s", std::vector<int64_t>{3, 1, 2, 2, 1}}},
       .outputs = {gives({3}, {2, 0, 2})}},
      {.op = "TfIdfVectorizer",
       .inputs = {given({2, 3}, {7, 7, 1, 1, 1, 7}, DType::kI32)},
       .attributes = {{"mode", std::string("TFIDF")},
                      {"min_gram_length", int64_t{1}},
                      {"max_gram_length", int64_t{1}},
                      {"max_skip_count", int64_t{0}},
                      {"ngram_counts", std::vector<int64_t>{0}},
                      {"ngram_indexes", std::vector<int64_t>{0, 1}},
                      {"pool_int64s", std::vector<int64_t>{7, 1}},
                      {"weights", std::vector<float>{0.5F, 3.0F}}},
       .outputs = {gives({2, 2}, {1, 3, 0.5, 6})}},
      {.op = "Max",
       .inputs = {given({2, 1}, {1, 5}), given({2}, {2, kNaN})},
       .outputs = {gives({2, 2}, {2, kNaN, 5, kNaN})}},
      {.op = "Mean",
       .inputs = {given({2}, {1, 2}), given({}, {4})},
       .outputs = {gives({2}, {2.5, 3})}},
      {.op = "Min",
       .inputs = {given({2}, {1, 5}, DType::kU64), given({2}, {2, 2}, DType::kU64)},
       .outputs = {gives({2}, {1, 2}, DType::kU64)}},
      rows("ReduceL1", {3, 7}),
      rows("ReduceL2", {std::sqrt(5.0), 5}),
      rows("ReduceLogSum", {std::log(3.0), std::log(7.0)}),
      rows("ReduceLogSumExp", {2.3132617, 4.3132617}),
      {.op = "ReduceLogSumExp",
       .inputs = {given({2}, {1000, 1000})},
       .outputs = {gives({1}, {1000.6931472})}},
      rows("ReduceMax", {2, 4}),
      rows("ReduceMax", {2, 4}, DType::kI8),
      rows("ReduceMean", {1.5, 3.5}),
      rows("ReduceMin", {1, 3}),
      rows("ReduceProd", {2, 12}),
      rows("ReduceProd", {2, 12}, DType::kI64),
      {.op = "ReduceSum",
       .inputs = {given({2, 2}, {1, 2, 3, 4}), known_ints({0})},
       .outputs = {gives({1, 2}, {4, 6})}},
      {.op = "ReduceSum",
       .inputs = {given({2, 2}, {1, 2, 3, 4})},
       .outputs = {gives({1, 1}, {10})}},
      {.op = "ReduceSum",
       .inputs = {given({2, 2}, {1, 2, 3, 4}, DType::kF16), known_ints({0, 1})},
       .attributes = {{"keepdims", int64_t{0}}},
       .outputs = {gives({}, {10}, DType::kF16)}},
      {.op = "ReduceSum",
       .inputs = {given({2}, {1, 2})},
       .attributes = {{"noop_with_empty_axes", int64_t{1}}},
       .outputs = {gives({2}, {1, 2})}},
      rows("ReduceSumSquare", {5, 25}),
      {.op = "Sum",
       .inputs = {given({2}, {1, 2}), given({2, 1}, {10, 20}), given({}, {100})},
       .outputs = {gives({2, 2}, {111, 112, 121, 122})}},
  };
}

TEST(Reduce, RefusesAnAxisOutsideTheRank) {
  expect_rejected({.op = "ReduceMax", .inputs = {draw({2})}, .attributes = {{"axes", ints({1})}}},
                  "axis 1 is outside rank 1");
}

TEST(Variadic, RefusesMixedElements) {
  expect_rejected({.op = "Max", .inputs = {draw({2}), draw({2}, DType::kI32)}},
                  "input 1 is i32, input 0 is f32");
}

TEST(TfIdfVectorizer, RefusesIndexesThatNoOutputHas) {
  for (const int64_t column : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    expect_rejected({.op = "TfIdfVectorizer",
                     .inputs = {draw({3}, DType::kI64)},
                     .attributes = {{"mode", text("TF")},
                                    {"min_gram_length", int64_t{1}},
                                    {"max_gram_length", int64_t{1}},
                                    {"max_skip_count", int64_t{0}},
                                    {"ngram_counts", ints({0})},
                                    {"ngram_indexes", ints({column})},
                                    {"pool_int64s", ints({7})}}},
                    fmt::format("an index of an n-gram is {}, expected 0 to 2147483647", column));
  }
}

}  // namespace trainyard::testing

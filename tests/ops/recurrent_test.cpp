// Cases of RNN, GRU and LSTM with one unit, small enough to follow by hand.
#include <gtest/gtest.h>

#include "ops/cases.h"

namespace trainyard::testing {
namespace {

Attribute texts(std::vector<std::string> values) {
  return values;
}

// Sums its inputs: identity as activation, all weights 1.
OpCase running_sum(Attributes attributes, std::vector<OpInput> more, std::vector<OpOutput> y) {
  const bool both = attributes.contains("direction") &&
                    std::get<std::string>(attributes.at("direction")) == "bidirectional";
  const int64_t directions = both ? 2 : 1;
  attributes.emplace("activations", both ? texts({"Affine", "Affine"}) : texts({"Affine"}));
  const OpInput ones =
      given({directions, 1, 1}, both ? std::vector<double>{1, 1} : std::vector<double>{1});
  std::vector<OpInput> inputs = {given({3, 1, 1}, {1, 2, 3}), ones, ones};
  for (OpInput& input : more) inputs.push_back(std::move(input));
  return {.op = "RNN",
          .inputs = std::move(inputs),
          .attributes = std::move(attributes),
          .outputs = std::move(y)};
}

// x = 1, state 0.5, weights 1; `bias` is the last of six.
OpCase gru(Attributes attributes, double bias, double h) {
  return {
      .op = "GRU",
      .inputs = {given({1, 1, 1}, {1}), given({1, 3, 1}, {1, 1, 1}), given({1, 3, 1}, {1, 1, 1}),
                 given({1, 6}, {0, 0, 0, 0, 0, bias}), absent(), given({1, 1, 1}, {0.5})},
      .attributes = std::move(attributes),
      .outputs = {gives({1, 1, 1, 1}, {h}), gives({1, 1, 1}, {h})}};
}

// Weights 0, so that all gates are at one half; cell 2, candidate tanh(1).
OpCase lstm(Attributes attributes, std::vector<double> peepholes, double h, double c) {
  return {
      .op = "LSTM",
      .inputs = {given({1, 1, 1}, {1}), given({1, 4, 1}, {0, 0, 0, 0}),
                 given({1, 4, 1}, {0, 0, 0, 0}), given({1, 8}, {0, 0, 0, 1, 0, 0, 0, 0}), absent(),
                 absent(), given({1, 1, 1}, {2}), given({1, 3}, std::move(peepholes))},
      .attributes = std::move(attributes),
      .outputs = {gives({1, 1, 1, 1}, {h}), gives({1, 1, 1}, {h}), gives({1, 1, 1}, {c})}};
}

}  // namespace

OpCases recurrent_cases() {
  return {
      running_sum({}, {}, {gives({3, 1, 1, 1}, {1, 3, 6}), gives({1, 1, 1}, {6})}),
      running_sum({{"direction", text("reverse")}}, {},
                  {gives({3, 1, 1, 1}, {6, 5, 3}), gives({1, 1, 1}, {6})}),
      running_sum({{"direction", text("bidirectional")}}, {},
                  {gives({3, 2, 1, 1}, {1, 6, 3, 5, 6, 3}), gives({2, 1, 1}, {6, 6})}),
      // Only two of three steps count; the rest of Y is zero.
      running_sum({{"direction", text("reverse")}}, {absent(), given({1}, {2}, DType::kI32)},
                  {gives({3, 1, 1, 1}, {3, 2, 0}), gives({1, 1, 1}, {3})}),
      running_sum({{"clip", 2.5F}}, {}, {gives({3, 1, 1, 1}, {1, 2.5, 2.5})}),
      {.op = "RNN",
       .inputs = {draw({2, 5, 3}), draw({1, 4, 3}), draw({1, 4, 4}), draw({1, 8})},
       .attributes = {{"layout", int64_t{1}}},
       .outputs = {gives_type({2, 5, 1, 4}), gives_type({2, 1, 4})}},
      gru({}, 0, 0.5706418),
      gru({}, 1, 0.5882861),
      gru({{"linear_before_reset", int64_t{1}}}, 1, 0.5870123),
      lstm({}, {0, 0, 0}, 0.4405648, 1.3807971),
      lstm({{"input_forget", int64_t{1}}}, {0, 0, 0}, 0.4405648, 1.3807971),
      lstm({}, {1, 1, 0}, 0.7841620, 1.6708099),
  };
}

TEST(Recurrent, RefusesOperandsThatDoNotFit) {
  const OpInput x = draw({3, 1, 2});
  expect_rejected({.op = "LSTM", .inputs = {x, draw({1, 4, 3}), draw({1, 4, 1})}},
                  "input 1 has shape 1x4x3, expected 1x4x2");
  expect_rejected({.op = "GRU",
                   .inputs = {x, draw({1, 3, 2}), draw({1, 3, 1})},
                   .attributes = {{"hidden_size", int64_t{2}}}},
                  "hidden_size is 2");
  expect_rejected({.op = "RNN", .inputs = {draw({3, 2}), draw({1, 1, 2}), draw({1, 1, 1})}},
                  "expected three dimensions");
  expect_rejected(running_sum({{"direction", text("backward")}}, {}, {}), "direction 'backward'");
  expect_rejected(running_sum({{"activations", texts({"Tan"})}}, {}, {}),
                  "activation 'Tan' is not known");
  expect_rejected(running_sum({{"activations", texts({"Tanh", "Tanh"})}}, {}, {}),
                  "it names 2 activations, expected 1");
  expect_rejected(running_sum({}, {absent(), given({1}, {4}, DType::kI32)}, {}),
                  "sequence 0 has length 4, expected 0 to 3");
}

}  // namespace trainyard::testing

// The fast training kernels of batch normalization beside the reference.
#include <gtest/gtest.h>

#include "support/op_case.h"

namespace trainyard::testing {
namespace {

// Odd and even channel blocks, one image and seven, planes that are no multiple of a chunk.
const std::vector<Shape> kBatchNormShapes = {{2, 8, 3, 3},   {1, 3, 5, 7},    {7, 20, 4, 5},
                                             {1, 129, 2, 2}, {2, 16, 17, 19}, {4, 16, 6},
                                             {2, 9, 2, 3, 2}};

struct Form {
  const char* activation;  // empty: none
  float low = 0;
  float high = 0;
  bool residual = false;
  bool fixed_statistics = false;
};

const std::vector<Form> kForms = {{"", 0, 0, false},           {"Relu", 0, 0, false},
                                  {"Clip", 0, 1, false},       {"", 0, 0, true},
                                  {"Relu", 0, 0, true},        {"Clip", 0, 0.5F, true},
                                  {"", 0, 0, false, true},     {"Relu", 0, 0, false, true},
                                  {"Clip", 0, 1, false, true}, {"Relu", 0, 0, true, true}};

Attributes attributes_of(const Form& form) {
  Attributes attributes = {{"epsilon", 1e-3F}};
  if (form.fixed_statistics) attributes["fixed_statistics"] = int64_t{1};
  if (*form.activation == '\0') return attributes;
  attributes["activation"] = text(form.activation);
  attributes["activation_alpha"] = form.low;
  attributes["activation_beta"] = form.high;
  return attributes;
}

OpInput positive_batch_norm(int64_t channels) {
  std::vector<double> values;
  for (int64_t c = 0; c < channels; ++c) values.push_back(0.5 + static_cast<double>(c % 5));
  return given({channels}, values);
}

OpCase forward(const Shape& shape, const Form& form) {
  const int64_t channels = shape[1];
  OpCase c{.op = "BatchNormTraining",
           .inputs = {draw(shape), draw({channels}), draw({channels}), draw({channels}),
                      positive_batch_norm(channels)},
           .attributes = attributes_of(form),
           .outputs = {gives_type(shape), gives_type({channels}), gives_type({channels}),
                       gives_type({channels}), gives_type({channels})}};
  c.attributes["momentum"] = 0.75F;
  if (form.residual) c.inputs.push_back(draw(shape));
  return c;
}

OpCase backward(const Shape& shape, const Form& form) {
  const int64_t channels = shape[1];
  OpCase c{.op = "BatchNormGrad",
           .inputs = {draw(shape), draw({channels}), draw({channels}),
                      positive_batch_norm(channels), draw(shape)},
           .attributes = attributes_of(form),
           .outputs = {gives_type(shape), gives_type({channels}), gives_type({channels})}};
  if (*form.activation == '\0') return c;
  c.inputs.push_back(form.residual ? absent() : draw({channels}));
  if (form.residual) {
    c.inputs.push_back(draw(shape));
    c.outputs.push_back(gives_type(shape));
  }
  return c;
}

TEST(NativeBatchNorm, ForwardEqualsTheReference) {
  for (const Shape& shape : kBatchNormShapes) {
    for (const Form& form : kForms) {
      EXPECT_TRUE(is_fast(forward(shape, form)));
      check_case(forward(shape, form));
    }
  }
}

TEST(NativeBatchNorm, BackwardEqualsTheReference) {
  for (const Shape& shape : kBatchNormShapes) {
    for (const Form& form : kForms) {
      EXPECT_TRUE(is_fast(backward(shape, form)));
      check_case(backward(shape, form));
    }
  }
}

TEST(NativeBatchNorm, BackwardOfASumEqualsTheReference) {
  for (const Shape& shape : kBatchNormShapes) {
    for (const bool fixed_statistics : {false, true}) {
      OpCase c = backward(shape, {"Relu", 0, 0, true, fixed_statistics});
      c.inputs.push_back(draw(shape));
      EXPECT_TRUE(is_fast(c));
      check_case(c);
    }
  }
}

// A mean a thousand times the deviation: sums of squares around zero would lose all digits.
TEST(NativeBatchNorm, TheVarianceSurvivesALargeMean) {
  const Shape shape = {4, 8, 9, 9};
  OpCase c = forward(shape, kForms[0]);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    c.inputs[0].values.push_back(1000.0 + static_cast<double>(i * 37 % 101) / 50.0);
  }
  check_case(c);
}

}  // namespace
}  // namespace trainyard::testing

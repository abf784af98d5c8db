// How a parameter or constant comes by its values. A graph of 143 million parameters is a few
// kilobytes until somebody asks for the numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace trainyard {

struct Value;

// Values drawn from (seed, name of the value, index): the same bits on every machine, in every
// order and with any number of threads.
struct InitRule {
  enum class Kind : uint8_t { kConstant, kNormal, kUniform };
  Kind kind = Kind::kConstant;
  // kConstant: the value; kNormal: the standard deviation; kUniform: the bound, drawn from [-scale,
  // scale).
  double scale = 0.0;

  bool operator==(const InitRule&) const = default;
};

InitRule init_constant(double value);
// He et al. 2015 (arXiv:1502.01852): N(0, 2 / fan).
InitRule init_he_normal(int64_t fan);
// Glorot and Bengio 2010: U(-a, a) with a = sqrt(6 / (fan_in + fan_out)).
InitRule init_xavier_uniform(int64_t fan_in, int64_t fan_out);

// Fills `tensor` (any float or integer dtype) by the rule.
void fill_by_rule(const InitRule& rule, uint64_t seed, std::string_view name, Tensor& tensor);

// The numbers [first, first + out.size()) of what fill_by_rule() gives, for callers that stream.
// At most `threads` threads work, and only where there is enough to do.
void fill_range_by_rule(const InitRule& rule, uint64_t seed, std::string_view name, int64_t first,
                        std::span<float> out, int threads);

// The numbers of an initializer: its data, shared, or a fresh tensor filled by its rule.
std::shared_ptr<const Tensor> initializer_data(const Value& value, uint64_t seed);

}  // namespace trainyard

#include "ir/initializer.h"

#include <cmath>

#include "base/random.h"

namespace trainyard {

InitRule init_constant(double value) {
  return {InitRule::Kind::kConstant, value};
}

InitRule init_he_normal(int64_t fan) {
  return {InitRule::Kind::kNormal, std::sqrt(2.0 / static_cast<double>(fan))};
}

InitRule init_xavier_uniform(int64_t fan_in, int64_t fan_out) {
  return {InitRule::Kind::kUniform, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))};
}

void fill_by_rule(const InitRule& rule, uint64_t seed, std::string_view name, Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) {
    Tensor plain(DType::kF32, tensor.shape());
    fill_by_rule(rule, seed, name, plain);
    tensor = cast(plain, tensor.dtype());
    return;
  }
  const RandomStream stream(seed, hash_text(name));
  std::span<float> values = tensor.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    switch (rule.kind) {
      case InitRule::Kind::kConstant:
        values[i] = static_cast<float>(rule.scale);
        break;
      case InitRule::Kind::kNormal:
        values[i] = static_cast<float>(rule.scale * stream.normal(i));
        break;
      case InitRule::Kind::kUniform:
        values[i] = static_cast<float>(rule.scale * (2.0 * stream.uniform(i) - 1.0));
        break;
    }
  }
}

}  // namespace trainyard

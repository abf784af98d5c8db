#include "ir/initializer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "ir/graph.h"

// This file uses only operations that IEEE 754 rounds in one way (no libm, no fused multiply-add:
// it is compiled with -ffp-contract=off), so that its numbers are the same everywhere.
namespace trainyard {
namespace {

// One draw of 64 random bits yields two numbers, so work is cut at even indices.
constexpr int64_t kBlock = 1024;
// Below this a second thread costs more than it saves.
constexpr int64_t kLeastPerThread = int64_t{1} << 18;

// Both halves of each draw as 31-bit integers: signed conversion to float is one instruction.
struct DrawBlock {
  std::array<int32_t, kBlock / 2> first;
  std::array<int32_t, kBlock / 2> second;
};

void draw(const RandomStream& stream, int64_t pair, int64_t pairs, DrawBlock& block) {
  for (int64_t i = 0; i < pairs; ++i) {
    const uint64_t bits = stream.bits(static_cast<uint64_t>(pair + i));
    block.first[static_cast<size_t>(i)] = static_cast<int32_t>(bits >> 33);
    block.second[static_cast<size_t>(i)] = static_cast<int32_t>(bits & 0x7fffffffU);
  }
}

// Natural logarithm of a positive normal float, to about one unit in the last place away from 1.
inline float log_of(float x) {
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  constexpr int32_t kHalfRoot = 0x3f3504f3;
  const auto bits = std::bit_cast<int32_t>(x);
  const int32_t shifted = bits - kHalfRoot;
  const auto e = static_cast<float>(shifted >> 23);
  const float m = std::bit_cast<float>((shifted & 0x007fffff) + kHalfRoot);
  // ln m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.172: the series converges quickly.
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  const float series =
      1.0F + z * (1.0F / 3 + z * (1.0F / 5 + z * (1.0F / 7 + z * (1.0F / 9 + z * (1.0F / 11)))));
  constexpr float kLn2 = 0.693147180559945F;
  return e * kLn2 + 2.0F * s * series;
}

// Cosine and sine of `angle` * 2^-31 turns: two bits choose the quarter turn, the rest is an angle
// within (-pi/4, pi/4], where a short Taylor polynomial is exact to a float.
inline void cos_sin(int32_t angle, float& cosine, float& sine) {
  // Half a quarter turn is added, so that cutting rounds to the nearest quarter.
  const uint32_t turned = static_cast<uint32_t>(angle) + (1U << 28);
  const auto quarter = static_cast<int32_t>((turned >> 29) & 3U);
  const int32_t rest = static_cast<int32_t>(turned & ((1U << 29) - 1)) - (1 << 28);
  constexpr float kRadians = 6.28318530717958648F * 0x1.0p-31F;
  const float a = static_cast<float>(rest) * kRadians;
  const float z = a * a;
  const float c = 1.0F + z * (-1.0F / 2 + z * (1.0F / 24 + z * (-1.0F / 720 + z * (1.0F / 40320))));
  const float s = a * (1.0F + z * (-1.0F / 6 + z * (1.0F / 120 + z * (-1.0F / 5040))));
  const bool swap = (quarter & 1) != 0;
  const float c_turned = swap ? s : c;
  const float s_turned = swap ? c : s;
  cosine = (quarter == 1 || quarter == 2) ? -c_turned : c_turned;
  sine = quarter >= 2 ? -s_turned : s_turned;
}

// Box-Muller: two independent normal numbers from a radius and an angle.
void normal_pairs(const DrawBlock& block, float scale, int64_t pairs, float* out) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float u =
        (static_cast<float>(block.first[static_cast<size_t>(i)]) + 0.5F) * 0x1.0p-31F;  // (0, 1]
    const float radius = scale * std::sqrt(-2.0F * log_of(u));
    float cosine = 0;
    float sine = 0;
    cos_sin(block.second[static_cast<size_t>(i)], cosine, sine);
    out[2 * i] = radius * cosine;
    out[2 * i + 1] = radius * sine;
  }
}

// 24 bits, so that the conversion is exact and `scale` itself never appears.
inline float uniform_of(int32_t bits, float scale) {
  return scale * (static_cast<float>(bits >> 7) * 0x1.0p-23F - 1.0F);
}

void uniform_pairs(const DrawBlock& block, float scale, int64_t pairs, float* out) {
  for (int64_t i = 0; i < pairs; ++i) {
    out[2 * i] = uniform_of(block.first[static_cast<size_t>(i)], scale);
    out[2 * i + 1] = uniform_of(block.second[static_cast<size_t>(i)], scale);
  }
}

void random_block(const InitRule& rule, const RandomStream& stream, int64_t pair, int64_t pairs,
                  float* out) {
  DrawBlock block;
  draw(stream, pair, pairs, block);
  const auto scale = static_cast<float>(rule.scale);
  if (rule.kind == InitRule::Kind::kNormal) {
    normal_pairs(block, scale, pairs, out);
  } else {
    uniform_pairs(block, scale, pairs, out);
  }
}

// `first` is even.
void fill_random(const InitRule& rule, const RandomStream& stream, int64_t first,
                 std::span<float> out) {
  const auto count = static_cast<int64_t>(out.size());
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t wanted = std::min(kBlock, count - at);
    random_block(rule, stream, (first + at) / 2, wanted / 2, out.data() + at);
    if (wanted % 2 != 0) {
      std::array<float, 2> last{};
      random_block(rule, stream, (first + at + wanted) / 2, 1, last.data());
      out[static_cast<size_t>(at + wanted - 1)] = last[0];
    }
  }
}

// By way of double, which holds every float and all integers that people write.
void fill_constant(double value, Tensor& tensor) {
  const Tensor one = cast(Tensor::scalar(value), tensor.dtype());
  const auto size = static_cast<size_t>(one.num_bytes());
  auto* to = static_cast<std::byte*>(tensor.data());
  const auto bytes = static_cast<size_t>(tensor.num_bytes());
  for (size_t at = 0; at < bytes; at += size) std::memcpy(to + at, one.data(), size);
}

}  // namespace

InitRule init_constant(double value) {
  return {InitRule::Kind::kConstant, value};
}

InitRule init_he_normal(int64_t fan) {
  return {InitRule::Kind::kNormal, std::sqrt(2.0 / static_cast<double>(fan))};
}

InitRule init_xavier_uniform(int64_t fan_in, int64_t fan_out) {
  return {InitRule::Kind::kUniform, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))};
}

void fill_range_by_rule(const InitRule& rule, uint64_t seed, std::string_view name, int64_t first,
                        std::span<float> out, int threads) {
  if (rule.kind == InitRule::Kind::kConstant) {
    std::fill(out.begin(), out.end(), static_cast<float>(rule.scale));
    return;
  }
  const RandomStream stream(seed, hash_text(name));
  if (first % 2 != 0 && !out.empty()) {
    std::array<float, 2> pair{};
    random_block(rule, stream, first / 2, 1, pair.data());
    out[0] = pair[1];
    out = out.subspan(1);
    ++first;
  }
  const auto count = static_cast<int64_t>(out.size());
  const int64_t parts = std::clamp<int64_t>(count / kLeastPerThread, 1, std::max(threads, 1));
  const int64_t each = (count / parts + kBlock) / kBlock * kBlock;
  const auto part = [&](int64_t index) {
    const int64_t begin = std::min(index * each, count);
    const int64_t size = std::min(each, count - begin);
    fill_random(rule, stream, first + begin,
                out.subspan(static_cast<size_t>(begin), static_cast<size_t>(size)));
  };
  std::vector<std::jthread> helpers;
  for (int64_t i = 1; i < parts; ++i) helpers.emplace_back(part, i);
  part(0);
}

void fill_by_rule(const InitRule& rule, uint64_t seed, std::string_view name, Tensor& tensor) {
  if (rule.kind == InitRule::Kind::kConstant) return fill_constant(rule.scale, tensor);
  if (tensor.dtype() != DType::kF32) {
    Tensor plain(DType::kF32, tensor.shape());
    fill_by_rule(rule, seed, name, plain);
    tensor = cast(plain, tensor.dtype());
    return;
  }
  fill_range_by_rule(rule, seed, name, 0, tensor.values<float>(),
                     static_cast<int>(std::thread::hardware_concurrency()));
}

std::shared_ptr<const Tensor> initializer_data(const Value& value, uint64_t seed) {
  TY_CHECK(value.kind == ValueKind::kInitializer, "'{}' is not an initializer", value.name);
  if (value.constant) return value.constant;
  auto tensor = std::make_shared<Tensor>(value.type);
  fill_by_rule(value.rule, seed, value.name, *tensor);
  return tensor;
}

}  // namespace trainyard

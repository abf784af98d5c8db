// DropoutTraining: the same mask as the other kernels', by the same generator (base/random.h), so
// that a run may change engines. libtorch has no unsigned 64 bits: its signed ones wrap around
// alike.
#include <cmath>

#include "base/random.h"
#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {
namespace {

// Without the copies of the sign that a signed shift brings.
Tensor shifted(const Tensor& x, int64_t by) {
  const int64_t mask = (int64_t{1} << (64 - by)) - 1;
  return at::bitwise_and(at::bitwise_right_shift(x, by), mask);
}

// mix_bits() of each.
Tensor mixed(Tensor x) {
  constexpr auto kStep = static_cast<int64_t>(0x9e3779b97f4a7c15ULL);
  constexpr auto kFirst = static_cast<int64_t>(0xbf58476d1ce4e5b9ULL);
  constexpr auto kSecond = static_cast<int64_t>(0x94d049bb133111ebULL);
  x.add_(kStep);
  x = x.bitwise_xor_(shifted(x, 30)).mul_(kFirst);
  x = x.bitwise_xor_(shifted(x, 27)).mul_(kSecond);
  return x.bitwise_xor_(shifted(x, 31));
}

// RandomStream::bits() of `count` from `first` on, the upper 53 of them.
Tensor upper_bits(uint64_t seed, uint64_t step, int64_t first, int64_t count,
                  const at::TensorOptions& options) {
  const auto key = static_cast<int64_t>(mix_bits(seed ^ mix_bits(step)));
  Tensor index = at::arange(first, first + count, options.dtype(at::kLong));
  return shifted(mixed(index.mul_(static_cast<int64_t>(0x9e3779b97f4a7c15ULL)).add_(key)), 11);
}

const char* refuses_dropout(const Node& node) {
  return node.input(0).type == kTorchF32 ? "" : "only f32 is implemented";
}

Run make_dropout(const Node& node) {
  const double ratio = node.attr_float("ratio", 0);
  const auto seed = static_cast<uint64_t>(node.attr_int("seed", 0));
  const int64_t first = node.attr_int("first", 0);
  const auto least = static_cast<int64_t>(std::ceil(std::ldexp(ratio, 53)));
  return [=](const Tensors& in, const Tensors& out) {
    const auto step = static_cast<uint64_t>(in[1].item().toLong());
    const Tensor dropped = upper_bits(seed, step, first, in[0].numel(), in[0].options()).lt(least);
    Tensor y = out[0];
    at::div_out(y, in[0], at::scalar_tensor(1 - ratio, y.options()));
    y.masked_fill_(dropped.view(y.sizes()), 0);
  };
}

constexpr Operator kDropouts[] = {{"DropoutTraining", refuses_dropout, make_dropout}};

}  // namespace

std::span<const Operator> dropout_operators() {
  return kDropouts;
}

}  // namespace trainyard::torch_plugin

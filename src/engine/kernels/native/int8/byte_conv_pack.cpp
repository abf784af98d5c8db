// How a convolution of bytes keeps its weights.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/kernels/native/int8/byte_conv.h"
#include "engine/kernels/native/int8/step_order.h"

namespace trainyard::kernels::native {

// Index of weight `k` of a tap of an output channel.
int64_t ByteConv::weight_at(int64_t channel, int64_t tap, int64_t k) const {
  const int64_t inner = shape_.in_channels / shape_.groups;
  const int64_t c = merged_ ? k % inner : k;
  const int64_t at = merged_ ? tap * shape_.window_columns + k / inner : tap;
  return (channel * inner + c) * shape_.taps() + at;
}

// Can two neighboring products of any bytes with these weights be added in 16 bits?
bool ByteConv::pairs_fit(const ByteConvNumbers& numbers) const {
  constexpr int kByte = std::numeric_limits<uint8_t>::max();
  constexpr int kMost = std::numeric_limits<int16_t>::max();
  // Each weight small enough, as those of seven bits are: nothing else to look at.
  const int8_t* end =
      numbers.weights + shape_.out_channels * shape_.in_channels / shape_.groups * shape_.taps();
  if (std::none_of(numbers.weights, end,
                   [](int8_t w) { return 2 * kByte * std::abs(w) > kMost; })) {
    return true;
  }
  for (int64_t channel = 0; channel < shape_.out_channels; ++channel) {
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t k = 0; k < depth_; k += 2) {
        int above = 0;
        int below = 0;
        for (int64_t i = k; i < std::min(k + 2, depth_); ++i) {
          const int w = numbers.weights[weight_at(channel, tap, i)];
          (w > 0 ? above : below) += w;
        }
        if (kByte * above > kMost || kByte * below < -kMost) return false;
      }
    }
  }
  return true;
}

void ByteConv::pack(const ByteConvNumbers& numbers) {
  weights_ = PackedBuffer(weight_bytes_ / static_cast<int64_t>(sizeof(float)));
  const int64_t per_channel = shape_.in_channels / shape_.groups * shape_.taps();
  for (Block& block : blocks_) {
    for (int64_t i = 0; i < block.channels; ++i) {
      const int64_t channel = block.channel + i;
      int64_t sum = 0;
      for (int64_t j = 0; j < per_channel; ++j) sum += numbers.weights[channel * per_channel + j];
      const auto at = static_cast<size_t>(block.numbers + i);
      bias_[at] = static_cast<int32_t>(numbers.bias[channel] - numbers.x_zero * sum);
      multiplier_[at] = numbers.multiplier[channel];
    }
    pack_block(block, numbers);
  }
}

// Where each step of a tap lies among those of the tap; writes what ConvTile::order says.
std::vector<int64_t> ByteConv::order_tap(const Block& block, const ByteConvNumbers& numbers,
                                         int64_t tap) {
  TapWeights weights;
  weights.channels = block.channels;
  weights.steps = depth_steps_;
  weights.weights.resize(static_cast<size_t>(block.channels * weights.steps * kDepthStep));
  for (int64_t channel = 0; channel < block.channels; ++channel) {
    int8_t* to = weights.weights.data() + channel * weights.steps * kDepthStep;
    for (int64_t k = 0; k < depth_; ++k) {
      to[k] = numbers.weights[weight_at(block.channel + channel, tap, k)];
    }
  }
  // A last step that is not whole stays the last.
  const StepOrder order = order_steps(weights, read_depth_ / kDepthStep);
  std::vector<int64_t> places(static_cast<size_t>(weights.steps), weights.steps - 1);
  int64_t place = 0;
  for (const std::vector<int32_t>* steps : {&order.pairs, &order.singles}) {
    order_.push_back(static_cast<int32_t>(steps->size()));
    for (const int32_t step : *steps) {
      order_.push_back(step * static_cast<int32_t>(kDepthStep));
      places[static_cast<size_t>(step)] = place++;
    }
  }
  return places;
}

void ByteConv::pack_block(Block& block, const ByteConvNumbers& numbers) {
  auto* packed = reinterpret_cast<int8_t*>(weights_.data()) + block.weights;
  const int64_t lanes = kernels_.lanes;
  const int64_t steps = depth_steps_;
  std::vector<int64_t> places(static_cast<size_t>(steps));
  std::iota(places.begin(), places.end(), int64_t{0});
  block.order = static_cast<int64_t>(order_.size());
  for (int64_t tap = 0; tap < taps_; ++tap) {
    if (!kernels_.exact_pairs && !wide_) places = order_tap(block, numbers, tap);
    for (int64_t channel = 0; channel < block.channels; ++channel) {
      const int64_t vector = channel / lanes;
      const int64_t lane = channel % lanes;
      for (int64_t k = 0; k < depth_; ++k) {
        const int8_t value = numbers.weights[weight_at(block.channel + channel, tap, k)];
        const int64_t place = tap * steps + places[static_cast<size_t>(k / kDepthStep)];
        const int64_t whole = (place * block.vectors + vector) * lanes * kDepthStep;
        const int64_t step = k % kDepthStep;
        if (wide_) {
          // The first two numbers of all channels of a vector, then the other two.
          const int16_t word = value;
          const int64_t at = whole + (step / 2 * lanes + lane) * 2 + step % 2;
          std::memcpy(packed + at * static_cast<int64_t>(sizeof word), &word, sizeof word);
        } else {
          packed[whole + lane * kDepthStep + step] = value;
        }
      }
    }
  }
}

}  // namespace trainyard::kernels::native

#include "kernels/native/int8/byte_conv.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kFewChannels = 16;
// Weights that stay in the second cache while pixels pass, with room for the pixels.
constexpr int64_t kCachedWeights = int64_t{256} << 10;
constexpr int64_t kCachedPixels = int64_t{64} << 10;  // bytes of x that pass all weights together

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

ByteConv::ByteConv(const ByteConvShape& shape, const ByteConvNumbers& numbers, const Finish& finish,
                   const ByteKernels& kernels)
    : shape_(shape), finish_(finish), kernels_(kernels), x_zero_(numbers.x_zero) {
  merged_ = shape.groups == 1 && shape.in_channels < kFewChannels && shape.window_columns > 1 &&
            shape.column_dilation == 1;
  taps_ = merged_ ? shape.window_rows : shape.taps();
  depth_ = merged_ ? shape.window_columns * shape.in_channels : shape.in_channels / shape.groups;
  // Over a copy it does no harm to read a few bytes further; their weights are zero.
  read_depth_ = merged_ ? divide_up(depth_, kDepthStep) * kDepthStep : depth_;
  dense_ = shape.taps() == 1 && shape.row_stride == 1 && shape.column_stride == 1 &&
           shape.out_height == shape.height && shape.out_width == shape.width;
  wide_ = !kernels.exact_pairs && !pairs_fit(numbers);
  tiles_ = divide_up(shape.pixels(), kernels.pixels);
  outside_.assign(static_cast<size_t>(depth_), static_cast<uint8_t>(numbers.x_zero));
  plan_blocks();
  pack(numbers);
  plan_pixels();
}

// Blocks of as even a width as can be.
void ByteConv::plan_blocks() {
  const int64_t per_group = shape_.out_channels / shape_.groups;
  const int64_t vectors = divide_up(per_group, kernels_.lanes);
  const int64_t count = divide_up(vectors, kernels_.vectors);
  const int64_t form = wide_ ? 2 : 1;
  int64_t numbers = 0;
  for (int64_t group = 0; group < shape_.groups; ++group) {
    for (int64_t i = 0; i < count; ++i) {
      const Range part = part_of(vectors, count, i);
      Block block{.group = group,
                  .channel = group * per_group + part.begin * kernels_.lanes,
                  .vectors = part.size(),
                  .weights = weight_bytes_,
                  .numbers = numbers};
      block.channels =
          std::min(part.size() * kernels_.lanes, per_group - part.begin * kernels_.lanes);
      numbers += part.size() * kernels_.lanes;
      weight_bytes_ +=
          taps_ * divide_up(depth_, kDepthStep) * part.size() * kernels_.lanes * kDepthStep * form;
      blocks_.push_back(block);
    }
  }
  bias_.assign(static_cast<size_t>(numbers), 0);
  multiplier_.assign(static_cast<size_t>(numbers), 0.0F);
}

// Index of weight `k` of a tap of an output channel.
int64_t ByteConv::weight_at(int64_t channel, int64_t tap, int64_t k) const {
  const int64_t inner = shape_.in_channels / shape_.groups;
  const int64_t c = merged_ ? k % inner : k;
  const int64_t at = merged_ ? tap * shape_.window_columns + k / inner : tap;
  return (channel * inner + c) * shape_.taps() + at;
}

// Can two neighbouring products of any bytes with these weights be added in 16 bits?
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
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  weights_ = PackedBuffer(divide_up(weight_bytes_, kFloat));
  const int64_t per_channel = shape_.in_channels / shape_.groups * shape_.taps();
  for (const Block& block : blocks_) {
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

// Channel by channel, so that weights are read in order.
void ByteConv::pack_block(const Block& block, const ByteConvNumbers& numbers) {
  auto* packed = reinterpret_cast<int8_t*>(weights_.data()) + block.weights;
  const int64_t lanes = kernels_.lanes;
  const int64_t steps = divide_up(depth_, kDepthStep);
  for (int64_t channel = 0; channel < block.channels; ++channel) {
    const int64_t vector = channel / lanes;
    const int64_t lane = channel % lanes;
    for (int64_t tap = 0; tap < taps_; ++tap) {
      const int64_t first = tap * steps * block.vectors + vector;
      for (int64_t k = 0; k < depth_; ++k) {
        const int8_t value = numbers.weights[weight_at(block.channel + channel, tap, k)];
        const int64_t whole = (first + k / kDepthStep * block.vectors) * lanes * kDepthStep;
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

void ByteConv::plan_pixels() {
  const int64_t height = merged_ ? (shape_.out_height - 1) * shape_.row_stride +
                                       (shape_.window_rows - 1) * shape_.row_dilation + 1
                                 : shape_.height;
  if (merged_) {
    padded_height_ = height;
    padded_row_ = ((shape_.out_width - 1) * shape_.column_stride + shape_.window_columns) *
                  shape_.in_channels;
  }
  const int64_t row = merged_ ? padded_row_ : shape_.width * shape_.in_channels;
  for (int64_t i = 0; i < shape_.batch * shape_.out_height; ++i) {
    const int64_t image = i / shape_.out_height;
    for (int64_t r = 0; r < shape_.window_rows; ++r) {
      const int64_t y = i % shape_.out_height * shape_.row_stride + r * shape_.row_dilation -
                        (merged_ ? 0 : shape_.pad_top);
      row_offsets_.push_back(y < 0 || y >= height ? -1 : (image * height + y) * row);
    }
  }
  for (int64_t i = 0; i < shape_.out_width; ++i) {
    for (int64_t c = 0; c < (merged_ ? 1 : shape_.window_columns); ++c) {
      const int64_t x =
          i * shape_.column_stride + c * shape_.column_dilation - (merged_ ? 0 : shape_.pad_left);
      const bool outside = !merged_ && (x < 0 || x >= shape_.width);
      column_offsets_.push_back(outside ? -1 : x * shape_.in_channels);
    }
  }
}

int64_t ByteConv::scratch_bytes() const {
  // The last step of the last pixel reads a few bytes further.
  return merged_ ? shape_.batch * padded_height_ * padded_row_ + kDepthStep : 0;
}

void ByteConv::copy_padded(const uint8_t* x, uint8_t* to) const {
  const int64_t row = shape_.width * shape_.in_channels;
  const int64_t before = std::min(shape_.pad_left * shape_.in_channels, padded_row_);
  const int64_t copied = std::min(row, padded_row_ - before);
  const auto zero = static_cast<int>(x_zero_);
  parallel_for(shape_.batch * padded_height_, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint8_t* line = to + i * padded_row_;
      const int64_t y = i % padded_height_ - shape_.pad_top;
      if (y < 0 || y >= shape_.height) {
        std::memset(line, zero, static_cast<size_t>(padded_row_));
        continue;
      }
      const int64_t from = (i / padded_height_ * shape_.height + y) * row;
      std::memset(line, zero, static_cast<size_t>(before));
      std::memcpy(line + before, x + from, static_cast<size_t>(copied));
      std::memset(line + before + copied, zero, static_cast<size_t>(padded_row_ - before - copied));
    }
  });
}

void ByteConv::run(const ByteConvArgs& args) const {
  const uint8_t* x = args.x;
  if (merged_) {
    copy_padded(args.x, static_cast<uint8_t*>(args.scratch));
    x = static_cast<const uint8_t*>(args.scratch);
  }
  const auto blocks = static_cast<int64_t>(blocks_.size());
  if (weight_bytes_ > kCachedWeights || tiles_ < 2 * kernels_.pixels) {
    parallel_for(blocks * tiles_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        run_tile(args, x, blocks_[static_cast<size_t>(i / tiles_)], i % tiles_);
      }
    });
    return;
  }
  const int64_t passing = std::max<int64_t>(
      1, kCachedPixels / (kernels_.pixels * shape_.in_channels * shape_.row_stride));
  parallel_for(tiles_, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += passing) {
      for (const Block& block : blocks_) {
        for (int64_t i = first; i < std::min(end, first + passing); ++i)
          run_tile(args, x, block, i);
      }
    }
  });
}

void ByteConv::find_rows(const uint8_t* x, int64_t first, int64_t count,
                         const uint8_t** rows) const {
  if (dense_) {
    for (int64_t i = 0; i < count; ++i) rows[i] = x + (first + i) * shape_.in_channels;
    return;
  }
  const int64_t columns = merged_ ? 1 : shape_.window_columns;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t* down = row_offsets_.data() + (first + i) / shape_.out_width * shape_.window_rows;
    const int64_t* across = column_offsets_.data() + (first + i) % shape_.out_width * columns;
    const uint8_t** to = rows + i;
    for (int64_t r = 0; r < shape_.window_rows; ++r) {
      for (int64_t c = 0; c < columns; ++c, to += kMostTilePixels) {
        // Both are zero or more, or one of them is -1.
        *to = (down[r] | across[c]) < 0 ? outside_.data() : x + down[r] + across[c];
      }
    }
  }
}

void ByteConv::run_tile(const ByteConvArgs& args, const uint8_t* x, const Block& block,
                        int64_t tile) const {
  const Range pixels = part_of(shape_.pixels(), tiles_, tile);
  std::array<const uint8_t*, kMostTaps * kMostTilePixels> rows;
  find_rows(x + block.group * depth_, pixels.begin, pixels.size(), rows.data());
  const int64_t at = pixels.begin * shape_.out_channels + block.channel;
  ConvTile job;
  job.rows = rows.data();
  job.taps = taps_;
  job.depth = read_depth_;
  job.weights = reinterpret_cast<const int8_t*>(weights_.data()) + block.weights;
  job.bias = bias_.data() + block.numbers;
  job.multiplier = multiplier_.data() + block.numbers;
  job.finish = &finish_;
  job.channels = block.channels;
  job.stride = shape_.out_channels;
  job.y = args.y == nullptr ? nullptr : args.y + at;
  job.reals = args.reals == nullptr ? nullptr : args.reals + at;
  job.added = args.added == nullptr ? nullptr : args.added + at;
  const auto& functions = wide_ ? kernels_.wide_conv : kernels_.conv;
  functions[block.vectors - 1][pixels.size() - 1](job);
}

}  // namespace trainyard::kernels::native

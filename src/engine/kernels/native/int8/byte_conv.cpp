#include "engine/kernels/native/int8/byte_conv.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/kernels/native/parallel.h"

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
  depth_steps_ = divide_up(depth_, kDepthStep);
  read_depth_ = merged_ ? depth_steps_ * kDepthStep : depth_;
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
      weight_bytes_ += taps_ * depth_steps_ * part.size() * kernels_.lanes * kDepthStep * form;
      blocks_.push_back(block);
    }
  }
  bias_.assign(static_cast<size_t>(numbers), 0);
  multiplier_.assign(static_cast<size_t>(numbers), 0.0F);
}

void ByteConv::plan_pixels() {
  const int64_t pad_top = merged_ ? 0 : shape_.pad_top;
  const int64_t pad_left = merged_ ? 0 : shape_.pad_left;
  int64_t height = shape_.height;
  if (merged_) {
    height = padded_height_ = (shape_.out_height - 1) * shape_.row_stride +
                              (shape_.window_rows - 1) * shape_.row_dilation + 1;
    padded_row_ = ((shape_.out_width - 1) * shape_.column_stride + shape_.window_columns) *
                  shape_.in_channels;
  }
  const int64_t row = merged_ ? padded_row_ : shape_.width * shape_.in_channels;
  const int64_t columns = merged_ ? 1 : shape_.window_columns;
  // From `first` on, all taps inside?
  const auto within = [](int64_t first, int64_t taps, int64_t dilation, int64_t size) {
    return first >= 0 && first + (taps - 1) * dilation < size;
  };
  for (int64_t i = 0; i < shape_.batch * shape_.out_height; ++i) {
    const int64_t first = i % shape_.out_height * shape_.row_stride - pad_top;
    row_starts_.push_back({(i / shape_.out_height * height + first) * row, first,
                           within(first, shape_.window_rows, shape_.row_dilation, height)});
  }
  for (int64_t i = 0; i < shape_.out_width; ++i) {
    const int64_t first = i * shape_.column_stride - pad_left;
    column_starts_.push_back(
        {first * shape_.in_channels, first,
         merged_ || within(first, columns, shape_.column_dilation, shape_.width)});
  }
  const auto is_inside = [](const Start& start) { return start.inside; };
  const auto begin = std::find_if(column_starts_.begin(), column_starts_.end(), is_inside);
  inside_ = {begin - column_starts_.begin(),
             std::find_if_not(begin, column_starts_.end(), is_inside) - column_starts_.begin()};
  for (int64_t r = 0; r < shape_.window_rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      taps_at_.push_back(
          {r * shape_.row_dilation, c * shape_.column_dilation,
           r * shape_.row_dilation * row + c * shape_.column_dilation * shape_.in_channels});
    }
  }
}

int64_t ByteConv::scratch_bytes() const {
  // The last step of the last pixel reads a few bytes further.
  return merged_ ? shape_.batch * padded_height_ * padded_row_ + kDepthStep : 0;
}

void ByteConv::copy_padded(const ByteConvArgs& args, uint8_t* to) const {
  const int64_t row = shape_.width * shape_.in_channels;
  const int64_t before = std::min(shape_.pad_left * shape_.in_channels, padded_row_);
  const int64_t copied = std::min(row, padded_row_ - before);
  const int zero = args.outside != nullptr ? *args.outside : static_cast<int>(x_zero_);
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
      std::memcpy(line + before, args.x + from, static_cast<size_t>(copied));
      std::memset(line + before + copied, zero, static_cast<size_t>(padded_row_ - before - copied));
    }
  });
}

// One image, since tiles go on from one to the next.
bool ByteConv::writes_blocks(const ByteConvShape& shape, int64_t block,
                             const ByteKernels& kernels) {
  return shape.batch == 1 && shape.groups == 1 &&
         (block == kernels.lanes || 2 * block == kernels.lanes);
}

void ByteConv::run(const ByteConvArgs& args) const {
  const uint8_t* x = args.x;
  if (merged_) {
    copy_padded(args, static_cast<uint8_t*>(args.scratch));
    x = static_cast<const uint8_t*>(args.scratch);
  }
  const auto blocks = static_cast<int64_t>(blocks_.size());
  if (weight_bytes_ > kCachedWeights || tiles_ < 2 * kernels_.pixels) {
    parallel_for(blocks * tiles_, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t block = begin / tiles_;
        const int64_t stop = std::min(end, (block + 1) * tiles_);
        run_tiles(args, x, blocks_[static_cast<size_t>(block)],
                  {begin - block * tiles_, stop - block * tiles_});
        begin = stop;
      }
    });
    return;
  }
  const int64_t passing = std::max<int64_t>(
      1, kCachedPixels / (kernels_.pixels * shape_.in_channels * shape_.row_stride));
  parallel_for(tiles_, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += passing) {
      for (const Block& block : blocks_) {
        run_tiles(args, x, block, {first, std::min(end, first + passing)});
      }
    }
  });
}

void ByteConv::find_rows(const uint8_t* x, const uint8_t* outside, int64_t first, int64_t count,
                         const uint8_t** rows) const {
  if (dense_) {
    for (int64_t i = 0; i < count; ++i) rows[i] = x + (first + i) * shape_.in_channels;
    return;
  }
  std::array<int64_t, kMostTilePixels> offsets{};
  std::array<const Start*, kMostTilePixels> down{};
  std::array<const Start*, kMostTilePixels> across{};
  auto y = static_cast<size_t>(first / shape_.out_width);
  auto column = static_cast<size_t>(first % shape_.out_width);
  bool inside = true;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    down[i] = &row_starts_[y];
    across[i] = &column_starts_[column];
    offsets[i] = down[i]->offset + across[i]->offset;
    inside = inside && down[i]->inside && across[i]->inside;
    if (++column == column_starts_.size()) {
      column = 0;
      ++y;
    }
  }
  if (inside) {
    // All that there could be, so that the loop is one of vectors.
    for (const Tap& tap : taps_at_) {
      for (size_t i = 0; i < kMostTilePixels; ++i) rows[i] = x + (offsets[i] + tap.offset);
      rows += kMostTilePixels;
    }
    return;
  }
  const int64_t height = merged_ ? padded_height_ : shape_.height;
  for (const Tap& tap : taps_at_) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const int64_t at_row = down[i]->first + tap.row;
      const int64_t at_column = across[i]->first + tap.column;
      const bool is_pixel =
          at_row >= 0 && at_row < height && at_column >= 0 && at_column < shape_.width;
      rows[i] = is_pixel ? x + (offsets[i] + tap.offset) : outside;
    }
    rows += kMostTilePixels;
  }
}

// How many tiles from this pixel on, of at most `most`, have their windows inside, each a step
// further in the same row than the last.
int64_t ByteConv::tiles_in_row(int64_t first, int64_t most) const {
  if (dense_) return std::clamp((shape_.pixels() - first) / kernels_.pixels, int64_t{1}, most);
  const int64_t column = first % shape_.out_width;
  if (column < inside_.begin || !row_starts_[static_cast<size_t>(first / shape_.out_width)].inside)
    return 1;
  return std::clamp((inside_.end - column) / kernels_.pixels, int64_t{1}, most);
}

void ByteConv::run_tiles(const ByteConvArgs& args, const uint8_t* x, const Block& block,
                         Range tiles) const {
  while (tiles.begin < tiles.end) {
    const int64_t first = tiles.begin * kernels_.pixels;
    const int64_t count = tiles_in_row(first, tiles.size());
    run_tile(args, x, block, {first, std::min(first + kernels_.pixels, shape_.pixels())}, count);
    tiles.begin += count;
  }
}

void ByteConv::run_tile(const ByteConvArgs& args, const uint8_t* x, const Block& block,
                        Range pixels, int64_t tiles) const {
  std::array<const uint8_t*, kMostTaps * kMostTilePixels> rows;
  const uint8_t* outside = args.outside != nullptr ? args.outside : outside_.data();
  find_rows(x + block.group * depth_, outside, pixels.begin, pixels.size(), rows.data());
  const int64_t at = pixels.begin * shape_.out_channels + block.channel;
  ConvTile job;
  job.rows = rows.data();
  job.tiles = tiles;
  job.advance = kernels_.pixels * shape_.column_stride * shape_.in_channels;
  job.taps = taps_;
  job.depth = read_depth_;
  job.weights = reinterpret_cast<const int8_t*>(weights_.data()) + block.weights;
  job.order = order_.data() + block.order;
  job.bias = (args.bias != nullptr ? args.bias : bias_.data()) + block.numbers;
  job.multiplier =
      (args.multiplier != nullptr ? args.multiplier : multiplier_.data()) + block.numbers;
  job.shift = args.shift == nullptr ? nullptr : args.shift + block.numbers;
  job.sums = args.sums;
  job.finish = &finish_;
  job.channels = block.channels;
  job.stride = shape_.out_channels;
  job.y = args.y == nullptr ? nullptr : args.y + at;
  if (args.reals != nullptr && args.real_block == 1) {
    job.reals = args.reals + at;
    job.real_pixel = shape_.out_channels;
  } else if (args.reals != nullptr) {
    const int64_t plane = shape_.pixels() * args.real_block;
    job.reals =
        args.reals + block.channel / args.real_block * plane + pixels.begin * args.real_block;
    job.real_pixel = args.real_block;
    job.real_vector = kernels_.lanes / args.real_block * plane;
    job.real_half = args.real_block == kernels_.lanes ? kernels_.lanes / 2 : plane;
  }
  job.added = args.added == nullptr ? nullptr : args.added + at;
  const auto& functions = wide_ ? kernels_.wide_conv : kernels_.conv;
  functions[block.vectors - 1][pixels.size() - 1](job);
}

}  // namespace trainyard::kernels::native

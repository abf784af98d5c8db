#include "engine/kernels/native/conv/direct_conv.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/conv/direct_tile.h"
#include "engine/kernels/native/cpu.h"

namespace trainyard::kernels::native {
namespace {

constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
// Of input that a thread goes over again and again, for one group of channels after the other, with
// its output: half of a usual second-level cache.
constexpr int64_t kCachedImage = 512 << 10;
// Of weights that it goes over again and again, for one tile after the other.
constexpr int64_t kTileWeights = 160 << 10;
// The step of channels in packed weights.
constexpr int64_t kHalfBlock = 8;

// The share of `parts` threads that have work all the time.
double balance(int64_t items, int64_t parts) {
  return static_cast<double>(items) / static_cast<double>(divide_up(items, parts) * parts);
}

int64_t packed_depth(const DirectShape& shape) {
  return divide_up(shape.in_channels, kHalfBlock) * kHalfBlock;
}

bool reads_in_place(const DirectShape& shape) {
  return shape.kernel == 1 && shape.stride == 1 && shape.pad_top == 0 && shape.pad_left == 0 &&
         shape.pad_bottom == 0 && shape.pad_right == 0;
}

}  // namespace

bool direct_pays(const DirectShape& shape) {
  if (!cpu_has_avx512() || shape.block != channel_block()) return false;
  const int64_t lanes = divide_up(shape.out_channels, kDirectLanes) * kDirectLanes;
  if (shape.block == kVector) {
    constexpr double kFilled = 0.85;  // of the lanes
    constexpr int64_t kLeastDepth = 32;
    return reads_in_place(shape) && shape.in_channels >= kLeastDepth &&
           static_cast<double>(shape.out_channels) >= kFilled * static_cast<double>(lanes);
  }
  constexpr int64_t kLeastChannels = 8;
  constexpr int64_t kLeastPositions = 4;  // fewer leave too few sums in flight
  // Of few channels or many positions reading and writing are much of the work, at which oneDNN is
  // a little better. It computes blocks that are not full as if they were.
  constexpr int64_t kFewChannels = 32;
  constexpr int64_t kManyPositions = 400;
  const int64_t positions = shape.out_height() * shape.out_width();
  if (shape.kernel == 1 && shape.in_channels % shape.block == 0 &&
      (std::min(shape.in_channels, shape.out_channels) <= kFewChannels ||
       positions > kManyPositions)) {
    return false;
  }
  return shape.in_channels >= kLeastChannels && shape.out_channels >= kLeastChannels &&
         positions >= kLeastPositions;
}

DirectConv::DirectConv(const DirectShape& shape, const float* weights, const float* bias,
                       Activation activation)
    : shape_(shape), activation_(activation) {
  TY_CHECK(cpu_has_avx512(), "the processor lacks AVX-512");
  TY_CHECK(shape.batch > 0 && shape.in_channels > 0 && shape.out_channels > 0 &&
               shape.out_height() > 0 && shape.out_width() > 0,
           "an empty convolution");
  if (shape_.src_image_stride == 0) {
    shape_.src_image_stride = in_planes() * shape.block * shape.height * shape.width;
  }
  if (shape_.dst_image_stride == 0) {
    shape_.dst_image_stride = divide_up(shape.out_channels, shape.block) * shape.block *
                              shape.out_height() * shape.out_width();
  }
  make_plan();
  pack(weights, bias);
}

void DirectConv::set_finish(DirectFinish finish, float alpha) {
  finish_ = finish;
  finish_alpha_ = alpha;
}

int64_t DirectConv::in_planes() const {
  return divide_up(shape_.in_channels, shape_.block);
}

void DirectConv::make_plan() {
  const int64_t in_bytes = in_planes() * shape_.block * kFloatBytes;
  const int64_t out_bytes = shape_.out_channels * kFloatBytes;
  plan_.copies = !reads_in_place(shape_);
  if (!plan_.copies) {
    plan_.rows = 1;
    plan_.positions = shape_.height * shape_.width;
    plan_.chunk = std::max(direct_positions(2), kCachedImage / (in_bytes + out_bytes));
    plan_.x_plane = plan_.positions * shape_.block;
    plan_.taps = {0};
  } else {
    plan_.rows = shape_.out_height();
    plan_.positions = shape_.out_width();
    plan_.phases = std::min(shape_.kernel, shape_.stride);
    plan_.copied_columns = plan_.positions + (shape_.kernel - 1) / shape_.stride;
    // A window of one row leaves out those between.
    plan_.row_step = shape_.kernel == 1 ? 1 : shape_.stride;
    // Each piece of the rows reads all weights from memory again, so pieces are as large as the
    // cache allows. Of the output only one group's part is in use at a time, which is little.
    const int64_t row_bytes = plan_.row_step * plan_.phases * plan_.copied_columns * in_bytes;
    plan_.chunk = std::clamp<int64_t>(kCachedImage / row_bytes, 1, plan_.rows);
    plan_.chunk = divide_up(plan_.rows, divide_up(plan_.rows, plan_.chunk));
    plan_.copied_rows = (plan_.chunk - 1) * plan_.row_step + shape_.kernel;
    const int64_t copied_row = plan_.copied_columns * shape_.block;
    plan_.x_row = plan_.row_step * copied_row;
    plan_.x_plane = plan_.phases * plan_.copied_rows * copied_row;
    for (int64_t i = 0; i < shape_.kernel; ++i) {
      for (int64_t j = 0; j < shape_.kernel; ++j) {
        plan_.taps.push_back((j % shape_.stride * plan_.copied_rows + i) * copied_row +
                             j / shape_.stride * shape_.block);
      }
    }
  }
}

void DirectConv::pack(const float* weights, const float* bias) {
  const int64_t taps = shape_.kernel * shape_.kernel;
  const int64_t depth = packed_depth(shape_);
  const int64_t lanes = divide_up(shape_.out_channels, kDirectLanes) * kDirectLanes;
  // Few positions in a row make few sums, so more channels share them.
  const int64_t widest = shape_.block == 16 && plan_.positions <= direct_positions(4) ? 4 : 2;
  weights_ = PackedBuffer(lanes * taps * depth);
  bias_ = PackedBuffer(lanes);
  if (bias != nullptr) std::copy_n(bias, shape_.out_channels, bias_.data());
  for (int64_t channel = 0; channel < lanes;) {
    int64_t vectors = widest;
    while (channel + vectors * kDirectLanes > lanes) vectors /= 2;
    const int64_t begin = channel * taps * depth;
    float* const packed = weights_.data() + begin;
    groups_.push_back({.channel = channel, .vectors = vectors, .begin = begin});
    const int64_t width = vectors * kDirectLanes;
    for (int64_t o = channel; o < std::min(channel + width, shape_.out_channels); ++o) {
      for (int64_t i = 0; i < shape_.in_channels; ++i) {
        const int64_t first = i / shape_.block * shape_.block;
        const int64_t block = std::min(shape_.block, depth - first);
        float* const to = packed + (first * taps + i - first) * width + o - channel;
        const float* const from = weights + (o * shape_.in_channels + i) * taps;
        for (int64_t tap = 0; tap < taps; ++tap) to[tap * block * width] = from[tap];
      }
    }
    channel += width;
  }
  const int64_t block_bytes = taps * shape_.block * widest * kDirectLanes * kFloatBytes;
  const int64_t blocks = std::max<int64_t>(1, kTileWeights / block_bytes);
  plan_.depth = divide_up(in_planes(), divide_up(in_planes(), blocks)) * shape_.block;
}

int64_t DirectConv::scratch_bytes(int threads) const {
  return threads * copy_floats() * kFloatBytes;
}

// Threads share the channels if there are more weights than input, so that each reads its own part
// of the larger; else they share images and rows or positions.
void DirectConv::run(const float* src, const float* added, float* dst, void* scratch,
                     int threads) const {
  constexpr double kEven = 0.9;
  const int64_t in_image = plan_.copies ? plan_.rows : plan_.positions;
  const int64_t all_positions = shape_.batch * plan_.rows * plan_.positions;
  const auto groups = static_cast<int64_t>(groups_.size());
  const int64_t units = shape_.batch * in_image;
  const bool by_channel = all_positions < shape_.out_channels * shape_.kernel * shape_.kernel &&
                          balance(groups, threads) >= std::min(kEven, balance(units, threads));
  parallel(threads, [&](int id) {
    float* const copy = static_cast<float*>(scratch) + id * copy_floats();
    const Range all = by_channel ? Range{0, units} : part_of(units, threads, id);
    const Range groups_here = by_channel ? part_of(groups, threads, id) : Range{0, groups};
    if (groups_here.size() == 0) return;
    for (int64_t at = all.begin; at < all.end;) {
      const int64_t image = at / in_image;
      const int64_t first = at - image * in_image;
      const int64_t end = std::min(first + all.end - at, in_image);
      run_part({.src = src + image * shape_.src_image_stride,
                .added = added == nullptr ? nullptr : added + image * shape_.dst_image_stride,
                .dst = dst + image * shape_.dst_image_stride,
                .range = {first, end},
                .groups = groups_here},
               copy);
      at += end - first;
    }
  });
}

// As many rows or positions at a time as stay in cache.
void DirectConv::run_part(const Part& part, float* copy) const {
  const int64_t count = part.range.size();
  const int64_t chunks = divide_up(count, plan_.chunk);
  for (int64_t c = 0; c < chunks; ++c) {
    const Range chunk = part_of(count, chunks, c);
    Part piece = part;
    piece.range = {part.range.begin + chunk.begin, part.range.begin + chunk.end};
    const float* x = copy;
    if (plan_.copies) {
      copy_rows(part.src, piece.range, copy);
    } else {
      x = part.src + piece.range.begin * shape_.block;
    }
    run_chunk(piece, x);
  }
}

// The input of some rows of output: [block of channels][phase of columns][row][column].
void DirectConv::copy_rows(const float* src, Range rows, float* to) const {
  const int64_t block = shape_.block;
  const int64_t stride = shape_.stride;
  const int64_t copied = (rows.size() - 1) * plan_.row_step + shape_.kernel;
  const int64_t between = shape_.kernel == 1 ? stride : 1;
  for (int64_t plane = 0; plane < in_planes(); ++plane) {
    const float* const image = src + plane * shape_.height * shape_.width * block;
    for (int64_t phase = 0; phase < plan_.phases; ++phase) {
      // Columns of the copy that the image has: the first is at phase - pad_left.
      const int64_t begin = std::max<int64_t>(0, divide_up(shape_.pad_left - phase, stride));
      const int64_t room = shape_.width - 1 + shape_.pad_left - phase;
      const int64_t end =
          std::clamp(room >= 0 ? room / stride + 1 : 0, begin, plan_.copied_columns);
      for (int64_t r = 0; r < copied; ++r) {
        const int64_t row = rows.begin * stride - shape_.pad_top + r * between;
        float* const out = to + plane * plan_.x_plane +
                           (phase * plan_.copied_rows + r) * plan_.copied_columns * block;
        if (row < 0 || row >= shape_.height) {
          std::fill_n(out, plan_.copied_columns * block, 0.0F);
          continue;
        }
        std::fill_n(out, std::min(begin, plan_.copied_columns) * block, 0.0F);
        const float* from =
            image + (row * shape_.width + begin * stride + phase - shape_.pad_left) * block;
        for (int64_t x = begin; x < end; ++x, from += stride * block) {
          std::copy_n(from, block, out + x * block);
        }
        std::fill_n(out + end * block, (plan_.copied_columns - end) * block, 0.0F);
      }
    }
  }
}

void DirectConv::run_chunk(const Part& part, const float* x) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto taps = static_cast<int64_t>(plan_.taps.size());
  const int64_t block = shape_.block;
  const int64_t rows = plan_.copies ? part.range.size() : 1;
  const int64_t count = plan_.copies ? plan_.positions : part.range.size();
  const int64_t first = plan_.copies ? part.range.begin * plan_.positions : part.range.begin;
  const int64_t y_plane = plan_.rows * plan_.positions * block;
  const int64_t depth = packed_depth(shape_);
  for (int64_t g = part.groups.begin; g < part.groups.end; ++g) {
    const Group& group = groups_[static_cast<size_t>(g)];
    const int64_t width = group.vectors * kDirectLanes;
    const int64_t tiles = divide_up(count, direct_positions(group.vectors));
    const int64_t most = divide_up(count, tiles);
    const int64_t of_most = count - tiles * (most - 1);  // the others have one position less
    const int64_t out = group.channel / block * y_plane + first * block;
    DirectTile tile{
        .x_plane = plan_.x_plane,
        .taps = plan_.taps.data(),
        .num_taps = taps,
        .y_plane = y_plane,
        .out_blocks = divide_up(std::min(width, shape_.out_channels - group.channel), block)};
    for (int64_t c = 0; c < depth; c += plan_.depth) {
      const bool is_last = c + plan_.depth >= depth;
      tile.in_channels = std::min(plan_.depth, depth - c);
      tile.weights = weights_.data() + group.begin + c * taps * width;
      tile.bias = c == 0 ? bias_.data() + group.channel : nullptr;
      tile.low = is_last ? activation_.low : -kInfinity;
      tile.high = is_last ? activation_.high : kInfinity;
      // Every tile fetches its share of the weights that come next.
      const int64_t lines = divide_up(block * group.vectors, rows * tiles);
      const int64_t fetched = lines * taps * divide_up(tile.in_channels, block);
      tile.next = tile.weights + tile.in_channels * taps * width;
      const float* const end = std::min<const float*>(weights_.data() + weights_.size(),
                                                      tile.next + plan_.depth * taps * width);
      for (int64_t row = 0; row < rows; ++row) {
        tile.x = x + row * plan_.x_row + c / block * plan_.x_plane;
        int64_t at = out + row * plan_.positions * block;
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t positions = t < of_most ? most : most - 1;
          tile.y = part.dst + at;
          tile.added = c == 0 && part.added != nullptr ? part.added + at : nullptr;
          // The first group brings the input that the others find.
          tile.x_ahead = g == part.groups.begin && !plan_.copies ? positions * block : 0;
          tile.next_lines = tile.next < end ? lines : 0;
          direct_tile(positions, group.vectors, block)(tile);
          if (is_last && finish_ != nullptr) {
            for (int64_t b = 0; b < tile.out_blocks; ++b) {
              float* const y = tile.y + b * y_plane;
              finish_(y, positions * block, finish_alpha_, y);
            }
          }
          tile.next += fetched * kDirectLanes;
          tile.x += positions * block;
          at += positions * block;
        }
      }
    }
  }
}

}  // namespace trainyard::kernels::native

#include "engine/kernels/native/conv/pointwise.h"

#include <algorithm>

#include "base/error.h"
#include "engine/kernels/native/conv/pointwise_tile.h"
#include "engine/kernels/native/cpu.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kGroupChannels = kPointwiseVectors * kPointwiseLanes;
// Of input that a thread goes over again and again, for one group of channels after the other: a
// quarter of a usual second-level cache.
constexpr int64_t kCachedInput = 256 << 10;

int64_t blocks_of(int64_t channels) {
  return (channels + kVector - 1) / kVector;
}

int64_t vectors_of(int64_t channels) {
  return (channels + kPointwiseLanes - 1) / kPointwiseLanes;
}

// The share of `parts` threads that have work all the time.
double balance(int64_t items, int64_t parts) {
  const int64_t rounds = (items + parts - 1) / parts;
  return static_cast<double>(items) / static_cast<double>(rounds * parts);
}

}  // namespace

bool pointwise_pays(const PointwiseShape& shape) {
  constexpr double kFilled = 0.85;  // of the lanes
  constexpr int64_t kLeastDepth = 32;
  return cpu_has_avx512() && shape.in_channels >= kLeastDepth && channel_block() == kVector &&
         static_cast<double>(shape.out_channels) >=
             kFilled * static_cast<double>(vectors_of(shape.out_channels) * kPointwiseLanes);
}

PointwiseConv::PointwiseConv(const PointwiseShape& shape, const float* weights, const float* bias,
                             Activation activation)
    : shape_(shape), activation_(activation) {
  TY_CHECK(cpu_has_avx512(), "the processor lacks AVX-512");
  TY_CHECK(
      shape.batch > 0 && shape.in_channels > 0 && shape.out_channels > 0 && shape.positions > 0,
      "an empty convolution");
  const int64_t in = blocks_of(shape.in_channels) * kVector;
  if (shape_.src_image_stride == 0) shape_.src_image_stride = in * shape.positions;
  if (shape_.dst_image_stride == 0) {
    shape_.dst_image_stride = blocks_of(shape.out_channels) * kVector * shape.positions;
  }
  const int64_t lanes = vectors_of(shape.out_channels) * kPointwiseLanes;
  weights_ = PackedBuffer(in * lanes);
  bias_ = PackedBuffer(lanes);
  for (int64_t o = 0; o < shape.out_channels; ++o) {
    const int64_t first = o / kGroupChannels * kGroupChannels;
    const int64_t width = std::min(kGroupChannels, lanes - first);
    float* to = weights_.data() + first * in + (o - first);
    for (int64_t i = 0; i < shape.in_channels; ++i) {
      to[i * width] = weights[o * shape.in_channels + i];
    }
    if (bias != nullptr) bias_.data()[o] = bias[o];
  }
}

int64_t PointwiseConv::groups() const {
  return (shape_.out_channels + kGroupChannels - 1) / kGroupChannels;
}

// Threads share the channels if there are more weights than input, so that each reads its own part
// of the larger; else they share images and positions.
void PointwiseConv::run(const float* src, const float* added, float* dst, int threads) const {
  constexpr double kEven = 0.9;
  const int64_t positions = shape_.batch * shape_.positions;
  const bool by_channel = positions < shape_.out_channels && balance(groups(), threads) > kEven;
  parallel(threads, [&](int id) {
    const Range all = by_channel ? Range{0, positions} : part_of(positions, threads, id);
    const Range groups_here = by_channel ? part_of(groups(), threads, id) : Range{0, groups()};
    for (int64_t at = all.begin; at < all.end;) {
      const int64_t image = at / shape_.positions;
      const int64_t first = at - image * shape_.positions;
      const int64_t end = std::min(first + all.end - at, shape_.positions);
      run_part({.src = src + image * shape_.src_image_stride,
                .added = added == nullptr ? nullptr : added + image * shape_.dst_image_stride,
                .dst = dst + image * shape_.dst_image_stride,
                .positions = {first, end},
                .groups = groups_here});
      at += end - first;
    }
  });
}

// As many positions at a time as stay in cache.
void PointwiseConv::run_part(const Part& part) const {
  const int64_t bytes = shape_.in_channels * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::max(kPointwisePositions, kCachedInput / bytes);
  const int64_t count = part.positions.size();
  const int64_t chunks = (count + most - 1) / most;
  for (int64_t c = 0; c < chunks; ++c) {
    const Range chunk = part_of(count, chunks, c);
    Part piece = part;
    piece.positions = {part.positions.begin + chunk.begin, part.positions.begin + chunk.end};
    run_positions(piece);
  }
}

void PointwiseConv::run_positions(const Part& part) const {
  const int64_t in_blocks = blocks_of(shape_.in_channels);
  const int64_t count = part.positions.size();
  const int64_t tiles = (count + kPointwisePositions - 1) / kPointwisePositions;
  const int64_t most = (count + tiles - 1) / tiles;
  const int64_t of_most = count - tiles * (most - 1);  // the others have one position less
  const int64_t begin = part.positions.begin * kVector;
  for (int64_t group = part.groups.begin; group < part.groups.end; ++group) {
    const int64_t channel = group * kGroupChannels;
    const int64_t channels = std::min(kGroupChannels, shape_.out_channels - channel);
    const int64_t out = channel * shape_.positions + begin;
    PointwiseTile tile{.x = part.src + begin,
                       .x_plane = shape_.positions * kVector,
                       .in_blocks = in_blocks,
                       .weights = weights_.data() + channel * in_blocks * kVector,
                       .bias = bias_.data() + channel,
                       .added = part.added == nullptr ? nullptr : part.added + out,
                       .y = part.dst + out,
                       .y_plane = shape_.positions * kVector,
                       .out_blocks = blocks_of(channels),
                       .low = activation_.low,
                       .high = activation_.high};
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t positions = t < of_most ? most : most - 1;
      pointwise_tile(positions, vectors_of(channels))(tile);
      tile.x += positions * kVector;
      tile.y += positions * kVector;
      if (tile.added != nullptr) tile.added += positions * kVector;
    }
  }
}

}  // namespace trainyard::kernels::native

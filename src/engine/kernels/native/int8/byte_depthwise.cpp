#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "engine/kernels/native/int8/byte_conv.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

// Can two products of any bytes with any of these weights be added in 16 bits?
bool all_pairs_fit(const int8_t* weights, int64_t count) {
  constexpr int kMost = std::numeric_limits<int16_t>::max();
  constexpr int kByte = std::numeric_limits<uint8_t>::max();
  return std::all_of(weights, weights + count,
                     [](int8_t w) { return 2 * kByte * std::abs(w) <= kMost; });
}

}  // namespace

bool ByteDepthwise::takes(const ByteConvShape& shape) {
  return shape.groups > 1 && shape.groups == shape.in_channels &&
         shape.groups == shape.out_channels && shape.window_rows <= kMostDepthwiseRows &&
         (shape.window_columns - 1) * shape.column_dilation < kMostDepthwiseSpan;
}

ByteDepthwise::ByteDepthwise(const ByteConvShape& shape, const ByteConvNumbers& numbers,
                             const Finish& finish, const ByteKernels& kernels)
    : shape_(shape), finish_(finish) {
  plan_blocks(numbers, kernels);
  const DepthwiseKernel& kernel = *blocks_[0].kernel;
  if (kernel.takes_two && shape.window_rows == kTwoRowsWindow && shape.row_stride == 1 &&
      shape.row_dilation == 1) {
    rows_at_once_ = 2;
  }
  // Kernels read whole blocks of it.
  outside_.assign(static_cast<size_t>(shape.width * shape.in_channels + kernel.channels),
                  static_cast<uint8_t>(numbers.x_zero));
  for (const Block& block : blocks_) pack_block(block, numbers);
}

void ByteDepthwise::plan_blocks(const ByteConvNumbers& numbers, const ByteKernels& kernels) {
  constexpr int64_t kLine = 64;
  const bool wide =
      !kernels.exact_pairs && !all_pairs_fit(numbers.weights, shape_.in_channels * shape_.taps());
  int64_t bytes = 0;
  for (int64_t first = 0; first < shape_.in_channels; first += blocks_.back().channels) {
    const int64_t rest = shape_.in_channels - first;
    const DepthwiseKernel* kernel = wide ? &kernels.wide_depthwise
                                    : rest <= kernels.narrow_depthwise.channels
                                        ? &kernels.narrow_depthwise
                                        : &kernels.depthwise;
    blocks_.push_back({kernel, first, std::min(rest, kernel->channels), bytes});
    const int64_t size = kernel->bytes(shape_.window_rows, shape_.window_columns);
    bytes += (size + kLine - 1) / kLine * kLine;
  }
  packed_ = PackedBuffer(bytes / static_cast<int64_t>(sizeof(float)));
}

void ByteDepthwise::pack_block(const Block& block, const ByteConvNumbers& numbers) {
  const int64_t width = block.kernel->channels;
  std::vector<int8_t> weights(static_cast<size_t>(width * shape_.taps()), 0);
  std::vector<int32_t> bias(static_cast<size_t>(width), 0);
  std::vector<float> multiplier(static_cast<size_t>(width), 0.0F);
  for (int64_t i = 0; i < block.channels; ++i) {
    int64_t sum = 0;
    for (int64_t tap = 0; tap < shape_.taps(); ++tap) {
      const int8_t w = numbers.weights[(block.first + i) * shape_.taps() + tap];
      weights[static_cast<size_t>(i * shape_.taps() + tap)] = w;
      sum += w;
    }
    const auto at = static_cast<size_t>(i);
    bias[at] = static_cast<int32_t>(numbers.bias[block.first + i] - numbers.x_zero * sum);
    multiplier[at] = numbers.multiplier[block.first + i];
  }
  block.kernel->pack(weights.data(), bias.data(), multiplier.data(), shape_.window_rows,
                     shape_.window_columns,
                     reinterpret_cast<uint8_t*>(packed_.data()) + block.packed);
}

void ByteDepthwise::run(const uint8_t* x, uint8_t* y) const {
  const int64_t per_image = (shape_.out_height + rows_at_once_ - 1) / rows_at_once_;
  const auto blocks = static_cast<int64_t>(blocks_.size());
  parallel_for(shape_.batch * per_image * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run_block(x, y, blocks_[static_cast<size_t>(i % blocks)], i / blocks);
    }
  });
}

// A block of channels of one row of results, or two.
void ByteDepthwise::run_block(const uint8_t* x, uint8_t* y, const Block& block,
                              int64_t lines) const {
  const int64_t per_image = (shape_.out_height + rows_at_once_ - 1) / rows_at_once_;
  const int64_t image = lines / per_image;
  const int64_t line = lines % per_image * rows_at_once_;
  const int64_t row = shape_.width * shape_.in_channels;
  const uint8_t* picture = x + image * shape_.height * row;
  // Rows that are not of the window are read as well, in groups of four, and count nothing.
  std::array<const uint8_t*, kMostDepthwiseRows> rows{};
  for (int64_t r = 0; r < kMostDepthwiseRows; ++r) {
    const int64_t from = line * shape_.row_stride + r * shape_.row_dilation - shape_.pad_top;
    const bool wanted = r < shape_.window_rows + rows_at_once_ - 1;
    const bool inside = wanted && from >= 0 && from < shape_.height;
    rows[static_cast<size_t>(r)] = inside ? picture + from * row + block.first : outside_.data();
  }
  uint8_t* to = y + (image * shape_.out_height + line) * shape_.out_width * shape_.in_channels;
  DepthwiseRow job;
  job.rows = rows.data();
  job.outside = outside_.data();
  job.end = x + shape_.batch * shape_.height * row;
  job.window_rows = shape_.window_rows;
  job.window_columns = shape_.window_columns;
  job.stride = shape_.column_stride;
  job.dilation = shape_.column_dilation;
  job.pad = shape_.pad_left;
  job.width = shape_.width;
  job.results = shape_.out_width;
  job.pixel = shape_.in_channels;
  job.channels = block.channels;
  job.packed = reinterpret_cast<const uint8_t*>(packed_.data()) + block.packed;
  job.finish = &finish_;
  job.y = to + block.first;
  if (rows_at_once_ > 1 && line + 1 < shape_.out_height) {
    job.below = to + shape_.out_width * shape_.in_channels + block.first;
  }
  block.kernel->run(job);
}

}  // namespace trainyard::kernels::native

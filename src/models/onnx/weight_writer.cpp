#include "models/onnx/weight_writer.h"

#include <algorithm>
#include <bit>
#include <thread>

namespace trainyard::onnx_io {

static_assert(std::endian::native == std::endian::little);

namespace {

// Large enough for two threads to share, small enough to stay in the last-level cache.
constexpr int64_t kPiece = int64_t{1} << 20;
constexpr int64_t kWritePiece = int64_t{1} << 26;

}  // namespace

void WeightWriter::put(const void* data, int64_t bytes, AtomicFile& file) {
  const auto* from = static_cast<const char*>(data);
  for (int64_t at = 0; at < bytes; at += kWritePiece) {
    const int64_t size = std::min(kWritePiece, bytes - at);
    file.write(from + at, static_cast<size_t>(size));
    done_ += size;
    if (progress_) progress_(done_, total_);
  }
}

void WeightWriter::write(const Value& initializer, AtomicFile& file) {
  if (initializer.constant) {
    put(initializer.constant->data(), initializer.constant->num_bytes(), file);
    return;
  }
  const int64_t count = initializer.type.shape.num_elements();
  const DType dtype = initializer.type.dtype;
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  for (int64_t at = 0; at < count; at += kPiece) {
    const int64_t size = std::min(kPiece, count - at);
    if (initializer.rule.kind == InitRule::Kind::kConstant) {
      Tensor same(dtype, Shape{size});
      fill_by_rule(initializer.rule, seed_, initializer.name, same);
      put(same.data(), same.num_bytes(), file);
      continue;
    }
    piece_.resize(static_cast<size_t>(size));
    fill_range_by_rule(initializer.rule, seed_, initializer.name, at, piece_, threads);
    if (dtype == DType::kF32) {
      put(piece_.data(), size * dtype_size(dtype), file);
    } else {
      const Tensor converted = cast(Tensor::of<float>(Shape{size}, piece_), dtype);
      put(converted.data(), converted.num_bytes(), file);
    }
  }
}

}  // namespace trainyard::onnx_io

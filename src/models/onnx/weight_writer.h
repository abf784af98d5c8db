// Streams the numbers of initializers into a file, generating them piece by piece where they are
// rules.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/file.h"
#include "ir/graph.h"

namespace trainyard::onnx_io {

class WeightWriter {
 public:
  // `total` is the number of bytes that will be written over the writer's life.
  WeightWriter(uint64_t seed, int64_t total, std::function<void(int64_t, int64_t)> progress)
      : seed_(seed), total_(total), progress_(std::move(progress)) {}

  // Little-endian, row-major: as raw_data and external data hold them.
  void write(const Value& initializer, AtomicFile& file);

 private:
  void put(const void* data, int64_t bytes, AtomicFile& file);

  uint64_t seed_;
  int64_t total_;
  std::function<void(int64_t, int64_t)> progress_;
  int64_t done_ = 0;
  std::vector<float> piece_;
};

}  // namespace trainyard::onnx_io

// Memory for constants a kernel packs once and reads in every run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace trainyard::kernels::native {

// Zero-filled floats, aligned to a huge page when there are enough of them to fill one: packed
// weights are streamed, and small pages would cost more in address translation than in reading.
class PackedBuffer {
 public:
  PackedBuffer() = default;
  explicit PackedBuffer(int64_t floats);

  float* data() { return block_ ? block_->data : nullptr; }
  const float* data() const { return block_ ? block_->data : nullptr; }
  int64_t size() const { return block_ ? block_->floats : 0; }

 private:
  friend class SharedBuffers;
  struct Block {
    std::shared_ptr<const void> owner;
    float* data = nullptr;
    int64_t floats = 0;
  };
  std::shared_ptr<Block> block_;
};

// While one lives, it knows the buffers that this thread makes. One at a time per thread.
class SharedBuffers {
 public:
  // Compact: kernels choose forms of their weights that take less memory where that costs little
  // speed.
  explicit SharedBuffers(bool compact = false);
  ~SharedBuffers();
  SharedBuffers(const SharedBuffers&) = delete;
  SharedBuffers& operator=(const SharedBuffers&) = delete;

  // Whether one lives on this thread.
  static bool active();
  static bool compact();

  // Those made since, which change no more, become one with others in the process that hold the
  // same numbers: networks compiled for several batch sizes have their weights once.
  void share();

 private:
  friend class PackedBuffer;
  bool compact_;
  std::vector<std::weak_ptr<PackedBuffer::Block>> made_;
};

}  // namespace trainyard::kernels::native

// Memory for constants a kernel packs once and reads in every run.
#pragma once

#include <cstdint>
#include <memory>

namespace trainyard::kernels::native {

// Zero-filled floats, aligned to a huge page when there are enough of them to fill one: packed
// weights are streamed, and small pages would cost more in address translation than in reading.
class PackedBuffer {
 public:
  PackedBuffer() = default;
  explicit PackedBuffer(int64_t floats);

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float, Free> data_;
  int64_t size_ = 0;
};

}  // namespace trainyard::kernels::native

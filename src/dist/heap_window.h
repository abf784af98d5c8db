// A window on the heap, for ranks of one process.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "dist/communicator.h"

namespace trainyard::dist {

class HeapWindow : public SharedWindow {
 public:
  // Zeroed.
  HeapWindow(int64_t members, int64_t bytes)
      : bytes_(bytes), stride_((bytes + kAlignment - 1) / kAlignment * kAlignment) {
    const auto total = static_cast<size_t>(std::max<int64_t>(members * stride_, 1));
    memory_.reset(static_cast<std::byte*>(::operator new (total, std::align_val_t{kAlignment})));
    std::fill_n(memory_.get(), total, std::byte{});
  }

  std::span<std::byte> part(int64_t member) const override {
    return {memory_.get() + member * stride_, static_cast<size_t>(bytes_)};
  }

 private:
  static constexpr int64_t kAlignment = 128;
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };

  int64_t bytes_ = 0;
  int64_t stride_ = 0;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace trainyard::dist

// A mapped file that becomes shorter takes its pages with it: who reads them next gets SIGBUS. With
// a guard the process then says which file it was and ends with code 1, as for any failed reading.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <string>

namespace trainyard {

class MappedGuard {
 public:
  // Watches [data, data + bytes), where `path` is mapped. The handler is set with the first guard;
  // signals that have nothing to do with watched memory go where they went before.
  MappedGuard(const void* data, size_t bytes, const std::filesystem::path& path);
  ~MappedGuard();
  MappedGuard(const MappedGuard&) = delete;
  MappedGuard& operator=(const MappedGuard&) = delete;

  // For the handler, which may neither lock nor allocate.
  bool covers(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= data_ && at < data_ + bytes_;
  }
  const std::string& message() const { return message_; }

 private:
  const std::byte* data_;
  size_t bytes_;
  std::string message_;
  std::atomic<const MappedGuard*>* place_ = nullptr;  // where the handler finds it
};

}  // namespace trainyard

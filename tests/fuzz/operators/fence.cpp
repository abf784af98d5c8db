#include "fuzz/operators/fence.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace trainyard::fuzz {
namespace {

constexpr int kUnlikely = 0xA7;

size_t rounded_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Tensor fenced(TensorType type, size_t alignment) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = rounded_up(static_cast<size_t>(type.num_bytes()), alignment);
  const size_t whole = rounded_up(bytes, page) + 2 * page;  // a fence in front and one behind
  void* memory = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_failure("out of memory: {} bytes", whole);
  auto* inside = static_cast<std::byte*>(memory) + page;
  mprotect(inside, whole - 2 * page, PROT_READ | PROT_WRITE);
  std::byte* data = inside + (whole - 2 * page) - bytes;
  if (bytes > 0) std::memset(data, kUnlikely, bytes);
  const std::shared_ptr<void> owner(memory, [whole](void* at) { munmap(at, whole); });
  return {std::move(type), owner, data};
}

Tensor fenced_copy(const Tensor& tensor) {
  if (tensor.dtype() == DType::kText) return tensor.clone();
  Tensor copy = fenced(tensor.type(), static_cast<size_t>(dtype_size(tensor.dtype())));
  if (tensor.num_bytes() > 0) {
    std::memcpy(copy.data(), tensor.data(), static_cast<size_t>(tensor.num_bytes()));
  }
  return copy;
}

}  // namespace trainyard::fuzz

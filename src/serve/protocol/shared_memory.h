// Regions of system shared memory that clients have registered, in which tensors of requests and
// answers lie in place of the body (Triton's extension).
//
// They are read and written by system calls and not mapped: a client that makes its region shorter
// afterwards gets an error, and does not end the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace trainyard::serve {

// A part of an object of shm_open(). Closed with its last user, so that requests under way may
// finish after the region is unregistered.
class SharedRegion {
 public:
  // Throws RequestError for a key that is no name, that is not there, or that is too short.
  SharedRegion(std::string key, uint64_t offset, uint64_t bytes);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  const std::string& key() const { return key_; }
  uint64_t offset() const { return offset_; }
  uint64_t bytes() const { return bytes_; }
  // `at` counts from the beginning of the region, within which the caller stays. Both throw
  // RequestError where the memory has become shorter.
  void read(uint64_t at, std::span<std::byte> target) const;
  void write(uint64_t at, std::span<const std::byte> source) const;

 private:
  std::string key_;
  uint64_t offset_;
  uint64_t bytes_;
  int file_ = -1;
};

// Where one tensor lies.
struct SharedPlace {
  std::string name;  // of the region
  std::shared_ptr<const SharedRegion> region;
  uint64_t offset = 0;  // within the region
  uint64_t bytes = 0;
};

// Thread-safe.
class SharedMemory {
 public:
  // `description` has the members key, offset (0 if it is not there) and byte_size. Throws
  // RequestError for a name that is taken or a region that cannot be opened.
  void add(const std::string& name, const Json& description);
  // An unknown name is no error, as in Triton; an empty one means all.
  void remove(const std::string& name);
  // [{"name", "key", "offset", "byte_size"}] of one, or of all if `name` is empty. Throws
  // RequestError for an unknown name.
  Json status(const std::string& name) const;
  // Throws RequestError for an unknown region, or a place that does not lie within it.
  SharedPlace place(const std::string& name, uint64_t offset, uint64_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const SharedRegion>> regions_;
};

// The members shared_memory_region, shared_memory_offset and shared_memory_byte_size of a tensor's
// parameters, if there are any. `memory` is null where shared memory is switched off. Throws
// RequestError with `where`.
std::optional<SharedPlace> shared_place(const Json& parameters, const SharedMemory* memory,
                                        std::string_view where);
// Whether a parameter of a tensor is one of those.
bool is_shared_parameter(std::string_view name);
// The same members, for an answer whose tensor has `bytes`.
Json shared_parameters(const SharedPlace& place, size_t bytes);
// Writes a tensor of an answer. Throws RequestError if the place is too small.
void write_shared(const SharedPlace& place, std::string_view bytes, std::string_view output);

}  // namespace trainyard::serve

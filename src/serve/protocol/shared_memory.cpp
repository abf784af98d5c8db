#include "serve/protocol/shared_memory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse_number.h"
#include "http/status.h"

namespace trainyard::serve {
namespace {

constexpr size_t kMostRegions = 1024;
constexpr size_t kLongestKey = 255;

// A name of shm_open(): one slash in front at most, and none behind it.
bool is_key(std::string_view key) {
  if (key.starts_with('/')) key.remove_prefix(1);
  return !key.empty() && key.size() < kLongestKey && key != "." && key != ".." &&
         key.find('/') == std::string_view::npos && key.find('\0') == std::string_view::npos;
}

// A whole number, or one in quotes: JSON made from protobuf has those of 64 bits as texts.
uint64_t size_of(const Json& value, std::string_view name, std::string_view where) {
  std::optional<int64_t> number;
  if (value.is_int()) number = value.as_int();
  if (value.is_string()) number = parse_number<int64_t>(value.as_string());
  if (!number || *number < 0) {
    refuse(Status::kBadRequest, "{}: {} is {}, expected a whole number of bytes", where, name,
           value.dump(-1));
  }
  return static_cast<uint64_t>(*number);
}

}  // namespace

SharedRegion::SharedRegion(std::string key, uint64_t offset, uint64_t bytes)
    : key_(std::move(key)), offset_(offset), bytes_(bytes) {
  if (!is_key(key_)) {
    refuse(Status::kBadRequest, "key '{}' is no name of shared memory, as /name", key_);
  }
  file_ = shm_open(key_.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file_ < 0) {
    refuse(Status::kBadRequest, "Unable to open shared memory region: '{}': {}", key_,
           std::strerror(errno));
  }
  struct stat info = {};
  const bool known = fstat(file_, &info) == 0 && S_ISREG(info.st_mode);
  const auto size = known ? static_cast<uint64_t>(info.st_size) : 0;
  if (offset > size || bytes > size - offset) {
    close(file_);
    refuse(Status::kBadRequest,
           "failed to register shared memory region '{}': invalid args: offset {} and byte_size {}"
           " exceed its {} bytes",
           key_, offset, bytes, size);
  }
}

SharedRegion::~SharedRegion() {
  close(file_);
}

void SharedRegion::read(uint64_t at, std::span<std::byte> target) const {
  size_t done = 0;
  while (done < target.size()) {
    const ssize_t got = pread(file_, target.data() + done, target.size() - done,
                              static_cast<off_t>(offset_ + at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      refuse(Status::kBadRequest, "shared memory '{}' has become shorter than it was", key_);
    }
    done += static_cast<size_t>(got);
  }
}

// Writing behind the end would make the object longer, so its length is looked at first.
void SharedRegion::write(uint64_t at, std::span<const std::byte> source) const {
  struct stat info = {};
  const uint64_t end = offset_ + at + source.size();
  if (fstat(file_, &info) != 0 || static_cast<uint64_t>(info.st_size) < end) {
    refuse(Status::kBadRequest, "shared memory '{}' has become shorter than it was", key_);
  }
  size_t done = 0;
  while (done < source.size()) {
    const ssize_t put = pwrite(file_, source.data() + done, source.size() - done,
                               static_cast<off_t>(offset_ + at + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      refuse(Status::kUnavailable, "shared memory '{}' cannot be written: {}", key_,
             std::strerror(errno));
    }
    done += static_cast<size_t>(put);
  }
}

void SharedMemory::add(const std::string& name, const Json& description) {
  const std::string where = fmt::format("shared memory region '{}'", name);
  const Json* const key = description.find("key");
  const Json* const bytes = description.find("byte_size");
  const Json* const offset = description.find("offset");
  if (key == nullptr || !key->is_string()) refuse(Status::kBadRequest, "{} has no 'key'", where);
  if (bytes == nullptr) refuse(Status::kBadRequest, "{} has no 'byte_size'", where);
  auto region = std::make_shared<const SharedRegion>(
      key->as_string(), offset == nullptr ? 0 : size_of(*offset, "offset", where),
      size_of(*bytes, "byte_size", where));
  const std::lock_guard lock(mutex_);
  if (regions_.contains(name)) {
    refuse(Status::kBadRequest, "shared memory region '{}' already in manager", name);
  }
  if (regions_.size() == kMostRegions) {
    refuse(Status::kBadRequest, "there are {} regions of shared memory already; unregister some",
           kMostRegions);
  }
  regions_.emplace(name, std::move(region));
}

void SharedMemory::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (name.empty()) {
    regions_.clear();
  } else {
    regions_.erase(name);
  }
}

Json SharedMemory::status(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (!name.empty() && !regions_.contains(name)) {
    refuse(Status::kNotFound, "Unable to find system shared memory region: '{}'", name);
  }
  Json list = Json::array();
  for (const auto& [known, region] : regions_) {
    if (!name.empty() && known != name) continue;
    list.push_back(Json::object({{"name", known},
                                 {"key", region->key()},
                                 {"offset", region->offset()},
                                 {"byte_size", region->bytes()}}));
  }
  return list;
}

SharedPlace SharedMemory::place(const std::string& name, uint64_t offset, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(name);
  if (found == regions_.end()) {
    refuse(Status::kBadRequest, "Unable to find shared memory region: '{}'", name);
  }
  const uint64_t size = found->second->bytes();
  if (offset > size || bytes > size - offset) {
    refuse(Status::kBadRequest,
           "Invalid offset + byte size for shared memory region: '{}': {} + {} exceed its {} bytes",
           name, offset, bytes, size);
  }
  return {name, found->second, offset, bytes};
}

bool is_shared_parameter(std::string_view name) {
  return name == "shared_memory_region" || name == "shared_memory_offset" ||
         name == "shared_memory_byte_size";
}

std::optional<SharedPlace> shared_place(const Json& parameters, const SharedMemory* memory,
                                        std::string_view where) {
  const Json* const region = parameters.find("shared_memory_region");
  if (region == nullptr) return std::nullopt;
  if (memory == nullptr) {
    refuse(Status::kNotImplemented,
           "{}: shared memory is switched off; send the data, or start the server with "
           "shared_memory",
           where);
  }
  const Json* const bytes = parameters.find("shared_memory_byte_size");
  if (bytes == nullptr || !region->is_string()) {
    refuse(Status::kBadRequest, "{}: shared_memory_region goes with shared_memory_byte_size",
           where);
  }
  const Json* const offset = parameters.find("shared_memory_offset");
  return memory->place(region->as_string(),
                       offset == nullptr ? 0 : size_of(*offset, "shared_memory_offset", where),
                       size_of(*bytes, "shared_memory_byte_size", where));
}

Json shared_parameters(const SharedPlace& place, size_t bytes) {
  Json json = Json::object({{"shared_memory_region", place.name}});
  if (place.offset > 0) json["shared_memory_offset"] = place.offset;
  json["shared_memory_byte_size"] = bytes;
  return json;
}

void write_shared(const SharedPlace& place, std::string_view bytes, std::string_view output) {
  if (bytes.size() > place.bytes) {
    refuse(Status::kBadRequest,
           "shared memory size specified with the request for output '{}' ({} bytes) should be at "
           "least {} bytes to hold the results",
           output, place.bytes, bytes.size());
  }
  place.region->write(place.offset, std::as_bytes(std::span(bytes)));
}

}  // namespace trainyard::serve

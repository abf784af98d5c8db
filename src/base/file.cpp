#include "base/file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.h"
#include "base/printable.h"

namespace trainyard {
namespace {

// A mapped file that becomes shorter takes its pages with it: who reads them next gets SIGBUS. With
// a guard the process then says which file it was and ends with code 1, as for any failed reading.
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

// Files mapped at the same time; those beyond end the process without a message.
constexpr size_t kMostWatched = 1024;

std::array<std::atomic<const MappedGuard*>, kMostWatched> watched{};
struct sigaction former_action {};

void on_lost_page(int signal, siginfo_t* info, void* context) {
  for (const auto& place : watched) {
    const MappedGuard* guard = place.load();
    if (guard == nullptr || !guard->covers(info->si_addr)) continue;
    const std::string& text = guard->message();
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(1);
  }
  if ((former_action.sa_flags & SA_SIGINFO) != 0 && former_action.sa_sigaction != nullptr) {
    return former_action.sa_sigaction(signal, info, context);
  }
  // The instruction is tried again, and ends the process as it would have without us.
  ::sigaction(SIGBUS, &former_action, nullptr);
}

void set_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_lost_page;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &former_action);
  });
}

MappedGuard::MappedGuard(const void* data, size_t bytes, const std::filesystem::path& path)
    : data_(static_cast<const std::byte*>(data)),
      bytes_(bytes),
      message_(fmt::format("trainyard: {}: became shorter, or could not be read, while it was in "
                           "use\n",
                           printable(path.string()))) {
  set_handler();
  for (auto& place : watched) {
    const MappedGuard* none = nullptr;
    if (!place.compare_exchange_strong(none, this)) continue;
    place_ = &place;
    return;
  }
}

MappedGuard::~MappedGuard() {
  if (place_ != nullptr) place_->store(nullptr);
}

// Where files are mapped, by address.
struct Mapping {
  Mapping(size_t bytes, const void* data, const std::filesystem::path& path)
      : size(bytes), guard(data, bytes, path) {}

  size_t size;
  MappedGuard guard;
};
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, Mapping> list;
};

Mappings& mappings() {
  static Mappings all;
  return all;
}

// The largest single write the kernel takes is just under 2 GiB.
constexpr size_t kWriteChunk = size_t{1} << 30;

int open_for_reading(const std::filesystem::path& path, struct stat& info) {
  // O_NONBLOCK: a pipe in place of a file must not wait for its other end before it is refused.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  TY_REQUIRE(fd >= 0, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    throw_error("{}: not a regular file", path.string());
  }
  return fd;
}

// How many bytes were written; fewer than asked for where errno says why.
size_t write_all(int fd, const char* from, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t put = ::write(fd, from + done, std::min(bytes - done, kWriteChunk));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  return done;
}

[[noreturn]] void fail_to_write(const std::filesystem::path& path) {
  throw_failure("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

}  // namespace

std::string read_file(const std::filesystem::path& path, int64_t max_bytes) {
  struct stat info {};
  const int fd = open_for_reading(path, info);
  if (info.st_size > max_bytes) {
    ::close(fd);
    throw_error("{}: {} bytes is more than the {} this kind of file may have", path.string(),
                info.st_size, max_bytes);
  }
  std::string content(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(fd, content.data() + done, content.size() - done);
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  ::close(fd);
  TY_REQUIRE(done == content.size(), "{}: only {} of {} bytes could be read", path.string(), done,
             content.size());
  return content;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  struct stat info {};
  // A file in its place would take /dev/null from everybody.
  TY_REQUIRE(::stat(path_.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode),
             "{}: cannot be written: not a regular file", path_.string());
  std::string name = path_.string() + ".XXXXXX";
  fd_ = ::mkstemp(name.data());
  if (fd_ < 0) fail_to_write(path_);
  temporary_ = name;
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const size_t written = write_all(fd_, static_cast<const char*>(data), bytes);
  if (written < bytes) fail_to_write(path_);
  position_ += static_cast<int64_t>(bytes);
}

void AtomicFile::sync() {
  // Some file systems have nothing to wait for and say so with EINVAL.
  if (::fsync(fd_) != 0 && errno != EINVAL) fail_to_write(path_);
}

void AtomicFile::commit() {
  constexpr mode_t kEveryoneReads = 0644;
  const bool ok = ::fchmod(fd_, kEveryoneReads) == 0 && ::close(fd_) == 0 &&
                  ::rename(temporary_.c_str(), path_.c_str()) == 0;
  const int reason = errno;
  fd_ = -1;
  if (!ok) {
    ::unlink(temporary_.c_str());
    throw_failure("{}: cannot be written: {}", path_.string(), std::strerror(reason));
  }
}

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  constexpr mode_t kEveryoneReads = 0644;
  fd_ =
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kEveryoneReads);
  if (fd_ < 0) fail_to_write(path_);
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd_);
    throw_error("{}: not a regular file", path_.string());
  }
  size_ = ::lseek(fd_, 0, SEEK_END);
}

AppendFile::~AppendFile() {
  ::close(fd_);
}

void AppendFile::append(std::string_view record) {
  if (write_all(fd_, record.data(), record.size()) < record.size()) {
    const int reason = errno;
    // Where even this fails, readers skip the torn record.
    const bool taken_back = ::ftruncate(fd_, size_) == 0;
    throw_failure("{}: cannot be written: {}{}", path_.string(), std::strerror(reason),
                  taken_back ? "" : " (its last record is incomplete)");
  }
  size_ += static_cast<int64_t>(record.size());
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  struct stat info {};
  const int fd = open_for_reading(path, info);
  size_ = static_cast<size_t>(info.st_size);
  void* address = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  ::close(fd);
  TY_REQUIRE(address != MAP_FAILED, "{}: cannot be mapped: {}", path.string(),
             std::strerror(errno));
  data_ = static_cast<const std::byte*>(address);
  if (data_ == nullptr) return;
  const std::scoped_lock lock(mappings().mutex);
  mappings().list.try_emplace(reinterpret_cast<uintptr_t>(data_), size_, data_, path);
}

MappedFile::~MappedFile() {
  const std::scoped_lock lock(mappings().mutex);
  mappings().list.erase(reinterpret_cast<uintptr_t>(data_));
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void release_mapped_pages(const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + bytes) / page * page;
  const std::scoped_lock lock(mappings().mutex);
  const auto next = mappings().list.upper_bound(begin);
  if (next == mappings().list.begin() || first >= last) return;
  const auto& [start, mapping] = *std::prev(next);
  if (begin + bytes > start + mapping.size) return;
  auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(data)) + (first - begin);
  ::madvise(at, last - first, MADV_DONTNEED);
}

}  // namespace trainyard

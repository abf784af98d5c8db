// Whole files in and out; regular files alone, so that no pipe or device makes a reader wait.
// Writing is atomic: a reader sees the old file or the new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

// Throws Error if the file is missing or cannot be read, or is larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes = int64_t{1} << 31);

// Writes to a temporary name in the same folder and renames; throws Failure and leaves no trace
// otherwise.
void write_file(const std::filesystem::path& path, std::string_view content);

// A file being written: bytes go to a temporary name until commit(); without it the destructor
// removes them.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  int64_t position() const { return position_; }
  // Waits until the bytes are on the disk, so that a power cut after commit() loses nothing.
  void sync();
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  int64_t position_ = 0;
};

// A file that grows by whole records, each handed to the system at once, so that a killed process
// leaves at most one record torn. A record that does not fit is taken back.
class AppendFile {
 public:
  // Creates the file if it is not there. Throws Failure if it cannot be written, Error if it is no
  // regular file.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view record);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

// A read-only mapping of a whole file; the pages are shared with the page cache.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Gives the memory of whole pages in this range back to the system if they belong to a mapped file,
// which is read again when they are touched. Does nothing for other memory.
void release_mapped_pages(const void* data, size_t bytes);

}  // namespace trainyard

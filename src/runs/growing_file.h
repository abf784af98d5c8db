// Files that others write to while they are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace trainyard::runs {

// A regular file alone: no link leads out of a folder, and no pipe makes a reader wait.
class GrowingFile {
 public:
  explicit GrowingFile(const std::filesystem::path& path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // When it was opened; -1: there is no such file.
  int64_t size() const { return size_; }
  // Fewer bytes where it ends.
  std::string read(int64_t offset, size_t bytes) const;

 private:
  int fd_;
  int64_t size_ = -1;
};

// Size and time of a regular file that is no link, to see whether it has changed; 0 and 0: there is
// none.
struct FileMark {
  int64_t size = 0;
  int64_t time = 0;  // in nanoseconds
  bool operator==(const FileMark&) const = default;
};
FileMark mark_of(const std::filesystem::path& file);

// Whole lines from `offset` on; a torn last one is left out.
struct Piece {
  std::string text;
  int64_t next = 0;   // where the line behind them begins
  bool more = false;  // there is more than was asked for
};
// At most so many bytes, but one line at least. Empty where there is no such file.
Piece read_lines(const std::filesystem::path& file, int64_t offset, size_t most);

}  // namespace trainyard::runs

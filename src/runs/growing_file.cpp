#include "runs/growing_file.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trainyard::runs {
namespace {

constexpr size_t kLongestLine = 16 << 20;

}  // namespace

GrowingFile::GrowingFile(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  struct stat status {};
  if (fd_ >= 0 && fstat(fd_, &status) == 0 && S_ISREG(status.st_mode)) size_ = status.st_size;
}

GrowingFile::~GrowingFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::string GrowingFile::read(int64_t offset, size_t bytes) const {
  std::string text(bytes, '\0');
  size_t filled = 0;
  while (size_ >= 0 && filled < bytes) {
    const ssize_t count =
        ::pread(fd_, text.data() + filled, bytes - filled, offset + static_cast<int64_t>(filled));
    if (count <= 0) break;
    filled += static_cast<size_t>(count);
  }
  text.resize(filled);
  return text;
}

FileMark mark_of(const std::filesystem::path& file) {
  struct stat status {};
  if (lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return {status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Piece read_lines(const std::filesystem::path& file, int64_t offset, size_t most) {
  const GrowingFile opened(file);
  Piece piece{.text = {}, .next = offset};
  if (offset < 0 || opened.size() <= offset) return piece;
  // No more room than there is to read: of a thousand short files that is felt.
  const auto there = static_cast<size_t>(opened.size() - offset) + 1;
  for (size_t room = std::min(most, there);; room *= 2) {
    piece.text = opened.read(offset, room);
    const size_t end = piece.text.rfind('\n') + 1;  // npos + 1 is 0
    const bool all = piece.text.size() < room;
    if (end == 0 && !all && room < kLongestLine) continue;
    piece.text.resize(end);
    piece.next = offset + static_cast<int64_t>(end);
    piece.more = !all && end > 0;
    return piece;
  }
}

}  // namespace trainyard::runs

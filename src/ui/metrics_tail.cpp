#include "ui/metrics_tail.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace trainyard::ui {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr size_t kLongestLine = 16 << 20;
// So much of what was read is compared with the file at the next look.
constexpr size_t kMark = 256;
// Of a piece with more lines, those of steps are counted alone: only the last of them matter.
constexpr int64_t kAllLines = 512;
constexpr int64_t kLastLines = 16;

// Regular files alone: no link leads out of the folder, and no pipe makes us wait.
class File {
 public:
  explicit File(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    struct stat status {};
    if (fd_ >= 0 && fstat(fd_, &status) == 0 && S_ISREG(status.st_mode)) size_ = status.st_size;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // -1: it cannot be read.
  int64_t size() const { return size_; }
  std::string read(int64_t offset, size_t bytes) const {
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

 private:
  int fd_;
  int64_t size_ = -1;
};

// What is looked at of a long piece: lines that end an epoch or a test.
bool ends_epoch(std::string_view line) {
  return line.find("\"train_loss\"") != std::string_view::npos ||
         line.find("\"test_") != std::string_view::npos;
}

}  // namespace

Piece read_lines(const std::filesystem::path& file, int64_t offset, size_t most) {
  const File opened(file);
  Piece piece{.text = {}, .next = offset};
  if (offset < 0 || opened.size() <= offset) return piece;
  for (size_t room = most;; room *= 2) {
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

std::optional<Json> numbers_of(std::string_view line) {
  try {
    const Json whole = Json::parse(line, "a line of metrics");
    const Json* step = whole.is_object() ? whole.find("step") : nullptr;
    if (step == nullptr || !step->is_int()) return std::nullopt;
    Json::Object numbers;
    for (const auto& [name, value] : whole.members()) {
      if (value.is_number() || value.is_null()) numbers.emplace_back(name, value);
    }
    return Json::object_of(std::move(numbers));
  } catch (const Error&) {
    return std::nullopt;
  }
}

uint64_t first_generation() {
  static const uint64_t first =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  return first;
}

// A resume cuts the file and writes on, so it may be longer again by now.
bool MetricsTail::was_cut(const std::filesystem::path& file, int64_t size) const {
  if (size < offset_) return true;
  return File(file).read(offset_ - static_cast<int64_t>(mark_.size()), mark_.size()) != mark_;
}

void MetricsTail::begin_again() {
  const uint64_t generation = generation_ + 1;
  *this = {};
  generation_ = generation;
}

void MetricsTail::take_line(std::string_view line) {
  const std::optional<Json> numbers = numbers_of(line);
  if (!numbers) {
    ++bad_lines_;
    return;
  }
  for (const auto& [name, value] : numbers->members()) {
    if (value.is_number()) last_[name] = value.as_number();
  }
  const Json* top1 = numbers->find("test_top1");
  if (top1 == nullptr || !top1->is_number()) return;
  best_top1_ = std::max(best_top1_.value_or(top1->as_number()), top1->as_number());
}

void MetricsTail::take(std::string_view text) {
  const int64_t count = std::count(text.begin(), text.end(), '\n');
  for (int64_t i = 0; i < count; ++i) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (count <= kAllLines || i >= count - kLastLines || ends_epoch(line)) take_line(line);
    text.remove_prefix(end + 1);
  }
  lines_ += count;
}

bool MetricsTail::update(const std::filesystem::path& file) {
  struct stat status {};
  if (lstat(file.c_str(), &status) != 0) status = {};
  const int64_t size = status.st_size;
  const int64_t time = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (size == seen_size_ && time == seen_time_) return false;
  const bool cut = offset_ > 0 && was_cut(file, size);
  if (cut) begin_again();
  seen_size_ = size;
  seen_time_ = time;
  const int64_t before = offset_;
  for (bool more = true; more;) {
    const Piece piece = read_lines(file, offset_, kPiece);
    take(piece.text);
    offset_ = piece.next;
    more = piece.more;
    if (!piece.text.empty())
      mark_ = piece.text.substr(piece.text.size() - std::min(piece.text.size(), kMark));
  }
  return cut || offset_ != before;
}

}  // namespace trainyard::ui

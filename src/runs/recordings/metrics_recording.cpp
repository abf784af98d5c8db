#include "runs/recordings/metrics_recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::runs {
namespace {

constexpr size_t kPiece = 1 << 20;
// A longer file is read from its end first.
constexpr int64_t kLong = 32 << 10;
constexpr int64_t kEnd = 8 << 10;
// So much of what was read is compared with the file at the next look.
constexpr size_t kMark = 256;
// Of a piece with more lines, those of steps are counted alone: only the last of them matter.
constexpr int64_t kAllLines = 64;
constexpr int64_t kLastLines = 16;
// Of one answer; whoever asks goes on behind it.
constexpr size_t kMostNumbers = 4 << 20;

// Of one answer, too: others wait meanwhile.
constexpr size_t kMostBadLines = 10'000;
// A number beyond is no step.
constexpr double kMostStep = 9e15;
constexpr std::array<std::string_view, 6> kStepNames = {"step",      "_step", "global_step",
                                                        "iteration", "iter",  "global_iter"};

// What is looked at of a long piece: lines that end an epoch or a test.
bool ends_epoch(std::string_view line) {
  return line.find("\"test_") != std::string_view::npos ||
         line.find("\"train_loss\"") != std::string_view::npos;
}

Json numbers_in(const Json& line) {
  Json::Object numbers;
  for (const auto& [name, value] : line.members()) {
    if (value.is_number() || value.is_null()) numbers.emplace_back(name, value);
  }
  return Json::object_of(std::move(numbers));
}

// What is seen at a glance to be none is not parsed: saying why takes longer than reading a line.
std::optional<Json> object_of(std::string_view line) {
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  if (!line.ends_with('}')) return std::nullopt;
  try {
    Json whole = Json::parse(line, "a line of metrics");
    if (whole.is_object()) return whole;
  } catch (const Error&) {
    // Counted by whoever asks.
  }
  return std::nullopt;
}

// Until `use` says that it is enough; returns what is left.
template <typename Use>
std::string_view for_each_line(std::string_view text, const Use& use) {
  bool more = true;
  while (more && !text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    more = use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text;
}

std::vector<double> computed_by_workers(std::string_view line) {
  std::vector<double> computed;
  const std::optional<Json> whole = object_of(line);
  const Json* workers = whole ? whole->find("workers") : nullptr;
  if (workers == nullptr || !workers->is_array()) return computed;
  for (const Json& worker : workers->items()) {
    const Json* time = worker.is_object() ? worker.find("compute_ms") : nullptr;
    if (time == nullptr || !time->is_number()) return {};
    computed.push_back(time->as_number());
  }
  return computed;
}

int64_t lines_before(const std::filesystem::path& file, int64_t position) {
  const GrowingFile opened(file);
  const int64_t end = std::clamp<int64_t>(position, 0, std::max<int64_t>(0, opened.size()));
  const std::string text = opened.read(0, static_cast<size_t>(end));
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

std::optional<Json> numbers_of(std::string_view line) {
  const std::optional<Json> whole = object_of(line);
  const Json* step = whole ? whole->find("step") : nullptr;
  if (step == nullptr || !step->is_int()) return std::nullopt;
  return numbers_in(*whole);
}

std::optional<Json> numbers_of_others(std::string_view line, int64_t number) {
  const std::optional<Json> whole = object_of(line);
  if (!whole) return std::nullopt;
  Json step = number;
  for (const std::string_view name : kStepNames) {
    const Json* value = whole->find(name);
    if (value == nullptr || !value->is_number()) continue;
    const double number_of_step = value->as_number();
    if (std::fabs(number_of_step) < kMostStep) step = static_cast<int64_t>(number_of_step);
    break;
  }
  Json numbers = numbers_in(*whole);
  numbers["step"] = step;
  return numbers;
}

MetricsRecording::MetricsRecording(std::filesystem::path file, Lines lines)
    : file_(std::move(file)), kind_(lines) {}

std::string MetricsRecording::problem() const {
  if (bad_lines_ == 0) return {};
  return fmt::format("{}: {} lines are no objects with a step", file_.filename().string(),
                     bad_lines_);
}

// A resume cuts the file and writes on, so it may be longer again by now.
bool MetricsRecording::was_cut(int64_t size) const {
  if (size < size_) return true;
  return GrowingFile(file_).read(size_ - static_cast<int64_t>(mark_.size()), mark_.size()) != mark_;
}

void MetricsRecording::begin_again() {
  const uint64_t generation = generation_ + 1;
  *this = MetricsRecording(std::move(file_), kind_);
  generation_ = generation;
}

void MetricsRecording::take_line(std::string_view line, bool is_end) {
  const std::optional<Json> numbers =
      kind_ == Lines::kOurs ? numbers_of(line) : numbers_of_others(line, count_);
  if (is_end && line.find("\"workers\"") != std::string_view::npos) {
    std::vector<double> computed = computed_by_workers(line);
    if (!computed.empty()) workers_ms_ = std::move(computed);
  }
  if (!numbers) {
    ++bad_lines_;
    return;
  }
  for (const auto& [name, value] : numbers->members()) {
    if (value.is_number()) (is_end ? last_ : earlier_)[name] = value.as_number();
  }
  const Json* top1 = numbers->find("test_top1");
  if (top1 == nullptr || !top1->is_number()) return;
  best_top1_ = std::max(best_top1_.value_or(top1->as_number()), top1->as_number());
}

void MetricsRecording::take(std::string_view text, bool is_end) {
  const int64_t count = std::count(text.begin(), text.end(), '\n');
  const int64_t first = count <= kAllLines ? 0 : count - kLastLines;
  int64_t number = 0;
  for_each_line(text, [&](std::string_view line) {
    if (number >= first || ends_epoch(line)) take_line(line, is_end);
    ++number;
    ++count_;
    return true;
  });
}

void MetricsRecording::read_end(int64_t size) {
  const int64_t begin = size - kEnd;
  const std::string text =
      GrowingFile(file_).read(begin, static_cast<size_t>(std::max<int64_t>(0, size - begin)));
  const size_t line = text.find('\n');
  if (line == std::string::npos) return;  // a line as long as that: all is read in order
  unread_to_ = begin + static_cast<int64_t>(line) + 1;
  size_ = unread_to_;
  whole_ = false;
}

bool MetricsRecording::update() {
  const bool got_whole = std::exchange(got_whole_, false);
  const FileMark mark = mark_of(file_);
  if (mark == seen_) return got_whole;
  const bool cut = size_ > 0 && was_cut(mark.size);
  if (cut) begin_again();
  seen_ = mark;
  if (size_ == 0 && mark.size > kLong && kind_ == Lines::kOurs) read_end(mark.size);
  const int64_t before = size_;
  for (bool more = true; more;) {
    const Piece piece = read_lines(file_, size_, kPiece);
    take(piece.text, true);
    size_ = piece.next;
    more = piece.more;
    if (!piece.text.empty()) {
      mark_ = piece.text.substr(piece.text.size() - std::min(piece.text.size(), kMark));
    }
  }
  return cut || got_whole || size_ != before;
}

bool MetricsRecording::read_more(size_t bytes) {
  if (whole_) return true;
  const Piece piece = read_lines(file_, unread_from_,
                                 std::min(bytes, static_cast<size_t>(unread_to_ - unread_from_)));
  take(piece.text, false);
  unread_from_ = piece.text.empty() ? unread_to_ : piece.next;
  whole_ = unread_from_ >= unread_to_;
  if (whole_) {
    got_whole_ = true;
    last_.merge(earlier_);  // what the end has is newer, and stays
    earlier_.clear();
  }
  return whole_;
}

Numbers MetricsRecording::numbers(uint64_t generation, int64_t position) const {
  Numbers numbers;
  numbers.from = generation == generation_ ? position : 0;
  Piece piece = read_lines(file_, numbers.from, kMostNumbers);
  int64_t number = kind_ == Lines::kOurs ? 0 : lines_before(file_, numbers.from);
  size_t bad = 0;
  const std::string_view left = for_each_line(piece.text, [&](std::string_view line) {
    std::optional<Json> found =
        kind_ == Lines::kOurs ? numbers_of(line) : numbers_of_others(line, number);
    if (!found) ++bad;
    if (found) numbers.lines.push_back(std::move(*found));
    ++number;
    return bad < kMostBadLines;
  });
  numbers.next = piece.next - static_cast<int64_t>(left.size());
  numbers.more = piece.more || !left.empty();
  return numbers;
}

}  // namespace trainyard::runs

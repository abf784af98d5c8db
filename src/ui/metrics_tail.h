// metrics.jsonl while it grows: what is new since the last look, and what it comes to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace trainyard::ui {

// Whole lines from `offset` on, of a regular file that is no link; a torn last one is left out.
struct Piece {
  std::string text;
  int64_t next = 0;   // where the line behind them begins
  bool more = false;  // there is more than was asked for
};
// At most so many bytes, but one line at least. Empty where there is no such file.
Piece read_lines(const std::filesystem::path& file, int64_t offset, size_t most);

// The numbers of a line by name: what is a list or a text is left out. Nothing for a line that is
// no object with a step.
std::optional<Json> numbers_of(std::string_view line);

// Of this process; those of another mean nothing here.
uint64_t first_generation();

class MetricsTail {
 public:
  // Reads what was appended since. A file that was cut, or replaced by another, is read again from
  // its beginning. True if anything has changed.
  bool update(const std::filesystem::path& file);

  int64_t size() const { return offset_; }          // of the lines that were read, in bytes
  int64_t lines() const { return lines_; }          // whole ones
  int64_t bad_lines() const { return bad_lines_; }  // of those that were looked at
  // Counts how often the file was begun again: offsets of one generation mean nothing in the next.
  uint64_t generation() const { return generation_; }
  // The last number under each name.
  const std::map<std::string, double, std::less<>>& last() const { return last_; }
  std::optional<double> best_top1() const { return best_top1_; }

 private:
  bool was_cut(const std::filesystem::path& file, int64_t size) const;
  void begin_again();
  void take(std::string_view text);
  void take_line(std::string_view line);

  int64_t offset_ = 0;
  int64_t seen_size_ = 0;  // of the file, with a torn line
  int64_t seen_time_ = 0;  // when it was written, in nanoseconds
  std::string mark_;       // the last bytes before offset_
  uint64_t generation_ = first_generation();
  int64_t lines_ = 0;
  int64_t bad_lines_ = 0;
  std::map<std::string, double, std::less<>> last_;
  std::optional<double> best_top1_;
};

}  // namespace trainyard::ui

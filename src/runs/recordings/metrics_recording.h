// metrics.jsonl, or a file of another program with an object of numbers in each line.
#pragma once

#include "runs/growing_file.h"
#include "runs/recordings/recording.h"

namespace trainyard::runs {

class MetricsRecording final : public Recording {
 public:
  // Lines of others may say their step under another name, or not at all: it is their number then.
  enum class Lines : uint8_t { kOurs, kOfOthers };
  MetricsRecording(std::filesystem::path file, Lines lines);

  // Reads what was appended since. A file that was cut, or replaced by another, is read again from
  // its beginning.
  bool update() override;
  bool read_more(size_t bytes) override;
  Numbers numbers(uint64_t generation, int64_t position) const override;
  std::string problem() const override;

 private:
  bool was_cut(int64_t size) const;
  void begin_again();
  void read_end(int64_t size);
  void take(std::string_view text, bool is_end);
  void take_line(std::string_view line, bool is_end);

  std::filesystem::path file_;
  Lines kind_;
  FileMark seen_;
  std::string mark_;         // the last bytes before size_
  int64_t unread_from_ = 0;  // of what lies before the end that was read first
  int64_t unread_to_ = 0;
  std::map<std::string, double, std::less<>> earlier_;  // the last numbers before unread_to_
  bool got_whole_ = false;                              // since the last update
  int64_t bad_lines_ = 0;                               // of those that were looked at
};

// The numbers of a line by name: what is a list or a text is left out. Nothing for a line that is
// no object with a step.
std::optional<Json> numbers_of(std::string_view line);
// The same of a line of another program, which is the `number`th.
std::optional<Json> numbers_of_others(std::string_view line, int64_t number);

}  // namespace trainyard::runs

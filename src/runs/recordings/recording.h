// The numbers of a run while it goes on: its last ones for a table, all of them for curves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trainyard::runs {

// Lines of numbers by name, each with a step.
struct Numbers {
  std::vector<Json> lines;
  int64_t from = 0;
  int64_t next = 0;   // the position to go on from
  bool more = false;  // ask again at once
};

// Not thread-safe. Files of strangers: what cannot be read is counted and left out.
class Recording {
 public:
  virtual ~Recording() = default;

  // Reads what is new. True if anything has changed. Of a long file the end comes first: best() and
  // count() then wait for read_more().
  virtual bool update() = 0;
  // Reads at most so many bytes of what update() left out; true if it has got to their end.
  virtual bool read_more(size_t /*bytes*/) { return true; }
  // From that position on, or from the beginning if it is of another generation.
  virtual Numbers numbers(uint64_t generation, int64_t position) const = 0;

  // Of what was read: grows while the run goes on.
  int64_t size() const { return size_; }
  // Lines or points; nothing while they are not counted yet.
  std::optional<int64_t> count() const { return whole_ ? std::optional(count_) : std::nullopt; }
  bool whole() const { return whole_; }
  // Positions of one generation mean nothing in the next.
  uint64_t generation() const { return generation_; }
  // The last number under each name.
  const std::map<std::string, double, std::less<>>& last() const { return last_; }
  // Of the test, where the run records it.
  std::optional<double> best_top1() const { return best_top1_; }
  // Milliseconds that each worker computed in the last step that says so; empty: one worker.
  const std::vector<double>& workers_ms() const { return workers_ms_; }
  // With what was read; empty: none.
  virtual std::string problem() const { return {}; }

 protected:
  int64_t size_ = 0;
  int64_t count_ = 0;
  bool whole_ = true;
  uint64_t generation_ = first_generation();
  std::map<std::string, double, std::less<>> last_;
  std::optional<double> best_top1_;
  std::vector<double> workers_ms_;

 private:
  // Of this process; those of another mean nothing here.
  static uint64_t first_generation();
};

// Who wrote a folder.
enum class Source : uint8_t { kTrainyard, kTensorBoard, kMlflow, kJsonl };
std::string_view name_of(Source source);
// What a folder is by its files; nothing if it is no run.
std::optional<Source> source_of(const std::filesystem::path& folder);

std::unique_ptr<Recording> open_recording(Source source, const std::filesystem::path& folder);
// What the run was asked to do, as far as the folder says: an object. Throws Error for files that
// are damaged.
Json settings_of_others(Source source, const std::filesystem::path& folder);

}  // namespace trainyard::runs

// What a long run shows of itself on stderr: one line that is rewritten on a terminal, a plain line
// now and then elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "train/score.h"

namespace trainyard::train {

// After a step.
struct StepReport {
  int64_t epoch = 1;  // counted from 1
  int64_t epochs = 1;
  int64_t step = 0;  // of the epoch, counted from 1
  int64_t steps = 1;
  int64_t images = 0;              // in this step
  double loss = 0;                 // of the epoch so far
  std::vector<Score> scores = {};  // of the epoch so far
  double wait_seconds = 0;         // for data, in this step
  int64_t tokens = 0;              // of a sample that is a row of them; 0: it is a picture
  double step_loss = 0;            // of this step
};

// Not for several threads.
class Progress {
 public:
  enum class Mode { kTerminal, kLines, kQuiet };

  // What suits stderr; kQuiet if asked for.
  static Mode mode_for_stderr(bool quiet);

  // `out` must outlive it. `clock` gives seconds and is the steady clock unless a test says
  // otherwise.
  Progress(std::ostream& out, Mode mode, std::function<double()> clock = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: draws a few times a second on a terminal, every 10 s elsewhere.
  void step(const StepReport& report);
  // A line that stays.
  void note(std::string_view text);

 private:
  // The whole line, or as much of it as fits, by what matters most.
  std::string line(const StepReport& report, double now) const;
  void clear();

  std::ostream& out_;
  Mode mode_;
  std::function<double()> clock_;
  double begin_;
  double drawn_;  // when the last line was drawn
  int64_t steps_done_ = 0;
  // Since the last line.
  int64_t images_ = 0;
  double waited_ = 0;
  bool line_open_ = false;
};

}  // namespace trainyard::train

#include "train/progress.h"

#include <algorithm>
#include <cmath>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "base/machine_facts.h"
#include "base/stopwatch.h"
#include "base/terminal.h"
#include "base/text.h"

namespace trainyard::train {
namespace {

constexpr double kTerminalInterval = 0.2;
constexpr double kLineInterval = 10;
constexpr int64_t kBarWidth = 20;
constexpr size_t kUsualWidth = 80;

size_t terminal_width() {
  const size_t columns = terminal_columns(STDERR_FILENO);
  return columns > 0 ? columns : kUsualWidth;
}

std::string bar(int64_t done, int64_t all) {
  const auto filled = static_cast<size_t>(kBarWidth * done / std::max<int64_t>(all, 1));
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, ' ') + "] ";
}

// Fractions of a second are no estimate.
std::string time_left(double seconds) {
  constexpr double kMinutes = 120;
  return seconds < kMinutes ? fmt::format("{:.0f} s", seconds) : seconds_text(seconds);
}

// What a line is made of. Where there is no room, parts go whole, in this order; 0: never.
struct Part {
  std::string text;
  int dispensable = 0;
};

std::string joined(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) text += part.text;
  return text;
}

std::string fitted(std::vector<Part> parts, size_t width) {
  constexpr int kLast = 4;
  for (int next = 1; next <= kLast && joined(parts).size() > width; ++next) {
    std::erase_if(parts, [&](const Part& part) { return part.dispensable == next; });
  }
  return joined(parts).substr(0, width);
}

}  // namespace

Progress::Mode Progress::mode_for_stderr(bool quiet) {
  if (quiet) return Mode::kQuiet;
  return ::isatty(STDERR_FILENO) != 0 ? Mode::kTerminal : Mode::kLines;
}

Progress::Progress(std::ostream& out, Mode mode, std::function<double()> clock)
    : out_(out),
      mode_(mode),
      clock_(clock ? std::move(clock) : [watch = Stopwatch()] { return watch.seconds(); }),
      begin_(clock_()),
      drawn_(begin_) {}

Progress::~Progress() {
  clear();
  out_.flush();
}

void Progress::step(const StepReport& report) {
  ++steps_done_;
  images_ += report.images;
  waited_ += report.wait_seconds;
  if (mode_ == Mode::kQuiet) return;
  const double now = clock_();
  if (now - drawn_ < (mode_ == Mode::kTerminal ? kTerminalInterval : kLineInterval)) return;
  const std::string text = line(report, now);
  if (mode_ == Mode::kTerminal) {
    // A line that wraps could not be rewritten.
    clear();
    out_ << text << std::flush;
    line_open_ = true;
  } else {
    out_ << text << std::endl;
  }
  drawn_ = now;
  images_ = 0;
  waited_ = 0;
}

void Progress::note(std::string_view text) {
  if (mode_ == Mode::kQuiet) return;
  clear();
  out_ << text << std::endl;
}

std::string Progress::line(const StepReport& report, double now) const {
  const double seconds = now - drawn_;
  const int64_t left = (report.epochs - report.epoch) * report.steps + report.steps - report.step;
  const double left_seconds =
      static_cast<double>(left) * (now - begin_) / static_cast<double>(steps_done_);
  std::vector<Part> parts = {{fmt::format("epoch {}/{} ", report.epoch, report.epochs)}};
  if (mode_ == Mode::kTerminal) parts.push_back({bar(report.step, report.steps), 1});
  parts.push_back({fmt::format("step {}/{} loss {:.4f}", report.step, report.steps, report.loss)});
  for (const Score& score : report.scores) {
    parts.push_back({score.is_share ? fmt::format(" {} {:.2f}%", score.name, 100 * score.value)
                                    : fmt::format(" {} {:.4f}", score.name, score.value)});
  }
  const double rate = static_cast<double>(images_) / seconds;
  parts.push_back({report.tokens > 0
                       ? fmt::format(" {} tokens/s", si(rate * static_cast<double>(report.tokens)))
                       : fmt::format(" {} images/s", si(rate)),
                   4});
  parts.push_back({fmt::format(" wait {:.1f}%", 100 * waited_ / seconds), 2});
  parts.push_back({fmt::format(" ETA {}", time_left(left_seconds))});
  parts.push_back({fmt::format(" mem {}", bytes_text(static_cast<double>(resident_bytes()))), 3});
  return mode_ == Mode::kTerminal ? fitted(std::move(parts), terminal_width() - 1) : joined(parts);
}

void Progress::clear() {
  if (!line_open_) return;
  out_ << "\r\x1b[K";
  line_open_ = false;
}

}  // namespace trainyard::train

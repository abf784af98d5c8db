#include "studies/side_by_side.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "base/child_process.h"

namespace trainyard::recipes {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);

struct Running {
  int64_t id = 0;
  std::unique_ptr<ChildProcess> process;
};

// Its output ends with it; what it says there is in its run directory too.
bool has_ended(const Running& training) {
  std::string output;
  while (training.process->read_some(output, 0)) {
    if (output.empty()) return false;
    output.clear();
  }
  return true;
}

class Pool {
 public:
  explicit Pool(const SideBySide& trainings) : trainings_(trainings) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // They save what they have.
  ~Pool() {
    for (const Running& training : running_) training.process->send(SIGTERM);
    for (const Running& training : running_) training.process->wait();
  }

  bool run() {
    start();
    while (!running_.empty()) {
      std::this_thread::sleep_for(kLook);
      if (trainings_.should_stop && trainings_.should_stop()) return false;
      collect();
      start();
    }
    return true;
  }

 private:
  void start() {
    while (static_cast<int64_t>(running_.size()) < trainings_.most) {
      const std::optional<TrainingJob> job = trainings_.next();
      if (!job) return;
      const ChildOptions options{.log = job->log, .own_group = true};
      running_.push_back({job->id, std::make_unique<ChildProcess>(job->command, options)});
    }
  }

  void collect() {
    for (size_t i = 0; i < running_.size();) {
      if (!has_ended(running_[i])) {
        ++i;
        continue;
      }
      const Running ended = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
      trainings_.ended(ended.id, ended.process->wait());
    }
  }

  const SideBySide& trainings_;
  std::vector<Running> running_;
};

}  // namespace

bool run_side_by_side(const SideBySide& trainings) {
  return Pool(trainings).run();
}

int64_t shared_threads(int64_t wanted, int64_t side_by_side) {
  if (wanted > 0 || side_by_side == 1) return wanted;
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max<int64_t>(1, cores / side_by_side);
}

}  // namespace trainyard::recipes

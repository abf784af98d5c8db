// Trainings as processes of their own, several at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::recipes {

struct TrainingJob {
  int64_t id = 0;
  std::vector<std::string> command;
  std::filesystem::path log = {};  // of its progress; empty: where ours goes
};

struct SideBySide {
  int64_t most = 1;  // at once
  // The next training, or none for now: asked again when one has ended.
  std::function<std::optional<TrainingJob>()> next = {};
  // May throw, which stops the others.
  std::function<void(int64_t id, int code)> ended = {};
  std::function<bool()> should_stop = {};
};

// Until there is nothing left to start and none runs. False if somebody wants to stop: what ran has
// saved what it had.
bool run_side_by_side(const SideBySide& trainings);

// Threads of each of so many trainings: `wanted`, or where that is 0 the cores shared out.
int64_t shared_threads(int64_t wanted, int64_t side_by_side);

}  // namespace trainyard::recipes

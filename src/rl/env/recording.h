// Recorded runs of other implementations of our environments, and how far ours agree with them.
// docs/rl.md describes the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::rl {

// States may differ by so much, observations by so much (they are floats).
inline constexpr double kStateTolerance = 1e-9;
inline constexpr double kObservationTolerance = 1e-6;

struct RecordingCheck {
  std::string file;  // its name
  std::string environment;
  int64_t steps = 0;
  int64_t mismatches = 0;  // steps, starts and resets that differ
  double worst = 0;        // largest difference of a number of a state or an observation
  std::string first = {};  // what the first mismatch is; empty: there is none
};

// Every step from the recorded state before it, and each run once more from its start as far as
// rounding lets that agree. Throws Error for a file that is no recording.
RecordingCheck check_recording(const std::filesystem::path& file);

// Of a folder (its *.json and *.json.gz that are recordings) or a file.
std::vector<RecordingCheck> check_recordings(const std::filesystem::path& path);

}  // namespace trainyard::rl

// The scalars of TensorBoard's event files: of a folder, all files as one run.
#pragma once

#include <set>

#include "runs/recordings/recording.h"

namespace trainyard::runs {

class EventRecording final : public Recording {
 public:
  explicit EventRecording(std::filesystem::path folder) : folder_(std::move(folder)) {}

  bool update() override;
  // A position counts bytes of all files, in the order of their names.
  Numbers numbers(uint64_t generation, int64_t position) const override;
  std::string problem() const override { return problem_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, int64_t> files_;  // by name: bytes that were read
  std::string problem_;
};

// The names of event files in a folder, in order.
std::set<std::string> event_files(const std::filesystem::path& folder);

}  // namespace trainyard::runs

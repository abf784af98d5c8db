// TensorBoard event files: the scalars of a run by step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/file.h"

namespace trainyard::runs {

struct Scalar {
  std::string tag;  // "train/loss"; TensorBoard groups by what is before the slash
  double value = 0;
};

// Each process writes a file of its own; TensorBoard reads all files of a folder as one run.
class EventWriter {
 public:
  // The run goes on behind `last_step` (0: from the beginning): TensorBoard is told to forget later
  // steps of earlier files. Throws Failure if the file cannot be written.
  EventWriter(const std::filesystem::path& folder, int64_t last_step);

  void write(int64_t step, std::span<const Scalar> scalars);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  AppendFile file_;
};

}  // namespace trainyard::runs

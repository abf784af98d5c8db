// A run of an MLflow file store: a folder with a file for each metric, parameter and tag.
#pragma once

#include "runs/growing_file.h"
#include "runs/recordings/recording.h"

namespace trainyard::runs {

class MlflowRecording final : public Recording {
 public:
  explicit MlflowRecording(std::filesystem::path folder) : folder_(std::move(folder)) {}

  bool update() override;
  // Always all of them: files grow side by side.
  Numbers numbers(uint64_t generation, int64_t position) const override;

 private:
  std::filesystem::path folder_;
  std::map<std::string, FileMark> files_;  // by the metric's name
};

// Parameters by name, and what meta.yaml says of the run.
Json mlflow_settings(const std::filesystem::path& folder);

}  // namespace trainyard::runs

// TensorBoard event files: the scalars of a run by step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/file.h"

namespace trainyard::runs {

struct Scalar {
  std::string tag;  // "train/loss"; TensorBoard groups by what is before the slash
  double value = 0;
};

using Setting = std::variant<std::string, double, bool>;

// Each process writes a file of its own; TensorBoard reads all files of a folder as one run.
class EventWriter {
 public:
  // The run resumes behind `last_step` (0: from the beginning): TensorBoard is asked to drop later
  // steps of earlier files. Throws Failure if the file cannot be written.
  EventWriter(const std::filesystem::path& folder, int64_t last_step);

  void write(int64_t step, std::span<const Scalar> scalars);

  // The settings of the run, for the table of TensorBoard's HPARAMS page.
  void write_settings(const std::map<std::string, Setting>& settings);
  // A PNG file and its size in pixels.
  void write_picture(int64_t step, const std::string& tag, std::string_view png, int64_t height,
                     int64_t width);
  // How the numbers are spread, in 30 buckets of the same width. Those that are not finite are left
  // out; without any other nothing is written.
  void write_histogram(int64_t step, const std::string& tag, std::span<const float> numbers);

  const std::filesystem::path& path() const { return path_; }

 private:
  void write_summary(int64_t step, std::string_view value);

  std::filesystem::path path_;
  AppendFile file_;
};

}  // namespace trainyard::runs

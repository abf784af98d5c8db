// Run directories as trainings leave them behind, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/file.h"

namespace trainyard::ui {

inline void append(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::app) << text;
}

inline std::string step_line(int64_t step, double loss) {
  return fmt::format("{{\"step\":{},\"loss\":{}}}\n", step, loss);
}

inline std::string epoch_line(int64_t step, int64_t epoch, double top1) {
  return fmt::format(
      "{{\"step\":{},\"epoch\":{},\"train_loss\":0.5,\"images_per_s\":100,\"seconds\":{},"
      "\"test_top1\":{},\"confusion\":[[1,0],[0,1]]}}\n",
      step, epoch, 2 * epoch, top1);
}

// With two steps and an epoch.
inline std::filesystem::path make_run(const std::filesystem::path& root, const std::string& name,
                                      int64_t batch, int64_t seed) {
  const std::filesystem::path folder = root / name;
  std::filesystem::create_directories(folder);
  write_file(folder / "config.yaml", fmt::format("model: lenet5\nbatch: {}\nepochs: 3\nseed: {}\n"
                                                 "name: {}\n",
                                                 batch, seed, "x"));
  append(folder / "metrics.jsonl", step_line(1, 2.5) + step_line(2, 2) + epoch_line(2, 1, 0.75));
  return folder;
}

}  // namespace trainyard::ui

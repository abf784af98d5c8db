#include "train/training_set.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace trainyard::train {
namespace {

std::string resolved(const std::string& data) {
  TrainConfig config;
  config.data = data;
  resolve_paths(config);
  return config.data;
}

// A run is repeated from another directory than the one it began in.
TEST(TrainingSet, PathsInSettingsAreAbsolute) {
  const TemporaryFolder folder("training_set");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const char* name : {"photos", "mnist", "synthetic"}) {
    std::filesystem::create_directories(folder / name);
  }
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(resolved("photos"), here + "/photos");
  EXPECT_EQ(resolved("folder:photos"), "folder:" + here + "/photos");
  EXPECT_EQ(resolved("mnist"), here + "/mnist") << "a folder of a format's name is meant";
  EXPECT_EQ(resolved("synthetic"), "synthetic");
  EXPECT_EQ(resolved("fashion-mnist"), "fashion-mnist");
  EXPECT_EQ(resolved("nothing"), "nothing");
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace trainyard::train

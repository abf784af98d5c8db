// A folder that exists as long as a test does.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

namespace trainyard {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view name)
      : path_(std::filesystem::temp_directory_path() /
              ("trainyard_" + std::string(name) + "." + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace trainyard

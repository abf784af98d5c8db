// The pages of `trainyard ui` beside a command that runs for long.
#pragma once

#include <filesystem>
#include <memory>

#include "base/child_process.h"

namespace trainyard::cli {

// A process of its own that ends with this one. Says on stderr where the page is.
class UiProcess {
 public:
  // Makes the folder if it is not there. Throws Failure if the page cannot be started.
  explicit UiProcess(const std::filesystem::path& runs);
  ~UiProcess();
  UiProcess(const UiProcess&) = delete;
  UiProcess& operator=(const UiProcess&) = delete;

 private:
  std::unique_ptr<ChildProcess> child_;
};

// Starts this program with these words; it goes on when this process ends. Its texts go to `log`.
void start_apart(std::vector<std::string> words, const std::filesystem::path& log);

}  // namespace trainyard::cli

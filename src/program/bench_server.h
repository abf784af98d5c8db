// A server for `serve bench`, as a process of its own.
#pragma once

#include <string>
#include <vector>

#include "base/child_process.h"

namespace trainyard::cli {

class BenchServer {
 public:
  // `trainyard serve ARGUMENTS` on a free port, ready once this returns. Throws Failure if it ends
  // before.
  explicit BenchServer(const std::vector<std::string>& arguments);
  // Asks it to end, and waits.
  ~BenchServer();
  BenchServer(const BenchServer&) = delete;
  BenchServer& operator=(const BenchServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  ChildProcess process_;
  std::string url_;
};

}  // namespace trainyard::cli

// Threads that wait for work together, so that a timing has no start of threads in it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trainyard::device {

// One caller at a time. The caller works as the first member.
class ThreadTeam {
 public:
  explicit ThreadTeam(int members);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int members() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls work(member) once for each member and waits for all. `work` must not throw.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int member);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  uint64_t round_ = 0;
  int busy_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace trainyard::device

// A thread for what takes long: loading and unloading models, and looking at the disk.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace trainyard::serve {

class Loader {
 public:
  // `idle` is called between tasks every so often; a period of 0: never. Neither throws.
  Loader(std::chrono::milliseconds period, std::function<void()> idle);
  // Ends the task under way and forgets the others.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // False if too many wait.
  bool post(std::function<void()> task);

 private:
  void work();

  std::chrono::milliseconds period_;
  std::function<void()> idle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace trainyard::serve

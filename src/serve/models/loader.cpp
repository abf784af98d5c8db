#include "serve/models/loader.h"

namespace trainyard::serve {

constexpr size_t kMostTasks = 64;

Loader::Loader(std::chrono::milliseconds period, std::function<void()> idle)
    : period_(period), idle_(std::move(idle)), thread_([this] { work(); }) {}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

bool Loader::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= kMostTasks) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
  return true;
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const auto something = [&] { return ending_ || !tasks_.empty(); };
    if (period_.count() > 0) {
      changed_.wait_for(lock, period_, something);
    } else {
      changed_.wait(lock, something);
    }
    if (ending_) return;
    std::function<void()> task = idle_;
    if (!tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace trainyard::serve

#include "engine/device/thread_team.h"

namespace trainyard::device {

ThreadTeam::ThreadTeam(int members) {
  for (int member = 1; member < members; ++member) {
    threads_.emplace_back([this, member] { serve(member); });
  }
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(const std::function<void(int)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = static_cast<int>(threads_.size());
    ++round_;
  }
  changed_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadTeam::serve(int member) {
  uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || round_ != done; });
    if (stopping_) return;
    done = round_;
    const std::function<void(int)>* work = work_;
    lock.unlock();
    (*work)(member);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace trainyard::device

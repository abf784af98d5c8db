// Answers given in the order in which requests came, whichever instance computed them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace trainyard::serve {

// Every number from 0 on is finished once. Thread-safe.
class OrderedAnswers {
 public:
  // Calls `answer` once all smaller numbers have been finished, maybe from another thread.
  void finish(uint64_t order, std::function<void()> answer);

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::function<void()>> waiting_;
  uint64_t next_ = 0;
  bool answering_ = false;  // some thread is calling answers
};

}  // namespace trainyard::serve

#include "serve/scheduling/ordered_answers.h"

namespace trainyard::serve {

void OrderedAnswers::finish(uint64_t order, std::function<void()> answer) {
  std::unique_lock lock(mutex_);
  waiting_.emplace(order, std::move(answer));
  if (answering_) return;
  answering_ = true;
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    const std::function<void()> ready = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    ++next_;
    lock.unlock();
    ready();
    lock.lock();
  }
  answering_ = false;
}

}  // namespace trainyard::serve

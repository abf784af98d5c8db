#include "serve/scheduling/slow_work.h"

#include <algorithm>
#include <sys/resource.h>
#include <system_error>

#include <fmt/format.h>

#include "http/events.h"

namespace trainyard::serve {
namespace {

// About what decoding takes on a slow core.
constexpr std::chrono::nanoseconds kPerPixel{50};
// Of a piece: about what a camera gives takes a fraction of a second.
constexpr int64_t kUsualPixels = int64_t{1} << 24;
// A third of the time where others want the same core, all of it where nobody does.
constexpr int kNice = 5;

// Nothing that is thrown leaves the thread; who posted it has answered as far as it could.
bool do_piece(const SlowWork::Piece& piece) {
  try {
    return piece();
  } catch (const std::exception& error) {
    say_event(fmt::format("work was given up: {}", error.what()));
    return false;
  }
}

}  // namespace

Clock::time_point SlowWork::turn_of(Clock::time_point arrived, int64_t pixels) {
  return arrived + kPerPixel * pixels;
}

bool SlowWork::later(const Waiting& a, const Waiting& b) {
  return a.turn != b.turn ? a.turn > b.turn : a.order > b.order;
}

SlowWork::~SlowWork() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Under the lock. One thread will do if there are no more to be had.
bool SlowWork::start_thread() {
  const bool enough = threads_.size() >= static_cast<size_t>(most_threads_) ||
                      busy_ + static_cast<int>(waiting_.size()) < static_cast<int>(threads_.size());
  try {
    if (!enough) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    if (threads_.empty()) say_event(fmt::format("no thread for slow work: {}", error.what()));
  }
  return !threads_.empty();
}

void SlowWork::post(Clock::time_point turn, Piece piece) {
  {
    const std::lock_guard lock(mutex_);
    if (start_thread()) {
      waiting_.push_back({turn, next_order_++, std::move(piece)});
      std::push_heap(waiting_.begin(), waiting_.end(), later);
      piece = nullptr;
    }
  }
  changed_.notify_all();
  while (piece != nullptr && do_piece(piece)) {
  }
}

void SlowWork::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && busy_ == 0; });
}

void SlowWork::work() {
  if (nice_ != 0) setpriority(PRIO_PROCESS, 0, nice_);  // on Linux, of the calling thread alone
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    Waiting now = std::move(waiting_.back());
    waiting_.pop_back();
    ++busy_;
    lock.unlock();
    const bool more = do_piece(now.piece);
    // What it holds ends before others learn that it is done.
    if (!more) now.piece = nullptr;
    lock.lock();
    --busy_;
    if (more) {
      waiting_.push_back(std::move(now));
      std::push_heap(waiting_.begin(), waiting_.end(), later);
    }
    changed_.notify_all();
  }
}

PictureWork::PictureWork(int cores) : usual_(cores), large_(std::max(1, cores / 2), kNice) {}

SlowWork& PictureWork::of(int64_t pixels) {
  return pixels <= kUsualPixels ? usual_ : large_;
}

void PictureWork::finish() {
  usual_.finish();
  large_.finish();
}

}  // namespace trainyard::serve

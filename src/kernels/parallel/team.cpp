#include "kernels/parallel/team.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trainyard::kernels {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "futexes are plain words");

// Longer than the gap between two nodes and shorter than a time slice: a sleeping thread takes tens
// of microseconds to come back, and one that spins keeps its core from others.
constexpr int kSpinMicroseconds = 50;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Spins until ready(), but not for long; says whether it was.
template <typename Ready>
bool spin_until(const Ready& ready) {
  constexpr int kBetweenLooks = 16;
  const int64_t end = now_ns() + int64_t{kSpinMicroseconds} * 1000;
  do {
    for (int i = 0; i < kBetweenLooks; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (now_ns() < end);
  return false;
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
          nullptr, 0);
}

void wake(std::atomic<uint32_t>& sleeps, std::atomic<uint32_t>& word) {
  if (sleeps.load() == 0 || sleeps.exchange(0) == 0) return;
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

constexpr uint32_t kStateMask = 3;
constexpr uint32_t kNextRegion = 4;

}  // namespace

Place& place() {
  thread_local Place of_thread;
  return of_thread;
}

Team::~Team() {
  function_ = nullptr;
  for (const auto& slot : slots_) {
    slot->word.store((slot->word.load() & ~kStateMask) + kNextRegion + kOpen);
    wake(slot->helper_sleeps, slot->word);
    slot->thread.join();
  }
}

void Team::grow(int parts) {
  for (int part = static_cast<int>(slots_.size()) + 1; part < parts; ++part) {
    Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
    slot.thread = std::thread([this, &slot, part] { help(slot, part); });
  }
}

void Team::run_part(int part) {
  Place& here = place();
  const Place before = here;
  here = {part, parts_, this};
  function_(data_);
  here = before;
}

void Team::run(int parts, Function function, void* data) {
  grow(parts);
  function_ = function;
  data_ = data;
  parts_ = parts;
  arrived_.store(0, std::memory_order_relaxed);
  for (int part = 1; part < parts; ++part) {
    Slot& slot = *slots_[static_cast<size_t>(part) - 1];
    const uint32_t open =
        (slot.word.load(std::memory_order_relaxed) & ~kStateMask) + kNextRegion + kOpen;
    slot.word.store(open);  // all that the helper reads is written before
    wake(slot.helper_sleeps, slot.word);
  }
  run_part(0);
  for (int part = 1; part < parts; ++part) {
    Slot& slot = *slots_[static_cast<size_t>(part) - 1];
    uint32_t open = (slot.word.load(std::memory_order_relaxed) & ~kStateMask) + kOpen;
    if (slot.word.compare_exchange_strong(open, open + kOwner)) {
      run_part(part);
    } else {
      wait_until_done(slot);
    }
  }
}

void Team::help(Slot& slot, int part) {
  for (;;) {
    uint32_t open = wait_for_work(slot);
    // The owner may have taken the part meanwhile, and even opened the next.
    if (!slot.word.compare_exchange_strong(open, open + kHelper)) continue;
    if (function_ == nullptr) return;
    run_part(part);
    slot.word.store(open + kDone);
    wake(slot.owner_sleeps, slot.word);
  }
}

uint32_t Team::wait_for_work(Slot& slot) {
  uint32_t word = 0;
  const auto open = [&] {
    word = slot.word.load(std::memory_order_acquire);
    return (word & kStateMask) == kOpen;
  };
  while (!spin_until(open)) {
    slot.helper_sleeps.store(1);
    word = slot.word.load();
    if ((word & kStateMask) != kOpen) futex_wait(slot.word, word);
    slot.helper_sleeps.store(0);
  }
  return word;
}

void Team::wait_until_done(Slot& slot) {
  const auto done = [&] {
    return (slot.word.load(std::memory_order_acquire) & kStateMask) == kDone;
  };
  while (!spin_until(done)) {
    slot.owner_sleeps.store(1);
    const uint32_t word = slot.word.load();
    // An idle core makes the scheduler look for a thread that waits for one: the helper.
    if ((word & kStateMask) != kDone) futex_wait(slot.word, word);
    slot.owner_sleeps.store(0);
  }
}

void Team::meet() {
  const int64_t parts = parts_;
  const int64_t wanted = (arrived_.fetch_add(1) / parts + 1) * parts;
  const auto all_came = [&] { return arrived_.load(std::memory_order_acquire) >= wanted; };
  while (!spin_until(all_came)) std::this_thread::yield();
}

}  // namespace trainyard::kernels

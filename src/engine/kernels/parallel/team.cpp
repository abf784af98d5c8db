#include "engine/kernels/parallel/team.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "base/error.h"
#include "base/relax.h"

namespace trainyard::kernels {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "futexes are plain words");

// Longer than the gap between two nodes and shorter than a time slice: a sleeping thread takes tens
// of microseconds to come back, and one that spins keeps its core from others.
constexpr int kSpinMicroseconds = 50;

int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Spins until ready(), but not for long; says whether it was. Calls look() now and then.
template <typename Ready, typename Look>
bool spin_until(const Ready& ready, const Look& look) {
  constexpr int kBetweenLooks = 16;
  const int64_t end = now_ns() + int64_t{kSpinMicroseconds} * 1000;
  do {
    look();
    for (int i = 0; i < kBetweenLooks; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (now_ns() < end);
  return false;
}

void look_at_nothing() {}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
          nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

constexpr uint32_t kStateMask = 3;
constexpr uint32_t kAsleep = 4;
constexpr uint32_t kNextRegion = 8;

// Returns the word with that state.
template <typename Look>
uint32_t wait_for_state(uint32_t wanted, std::atomic<uint32_t>& word, const Look& look) {
  uint32_t seen = 0;
  const auto ready = [&] {
    seen = word.load(std::memory_order_acquire);
    return (seen & kStateMask) == wanted;
  };
  while (!spin_until(ready, look)) {
    const uint32_t asleep = seen | kAsleep;
    // Not if the word has changed since it was seen. After a wake-up for nothing the bit is set.
    if (seen == asleep || word.compare_exchange_strong(seen, asleep)) futex_wait(word, asleep);
  }
  return seen;
}

// The word of a part in the region after the one of `word`, for anyone to take.
uint32_t next_open(uint32_t word) {
  return (word & ~(kStateMask | kAsleep)) + kNextRegion;
}

}  // namespace

Place& place() {
  thread_local Place of_thread;
  return of_thread;
}

Team::~Team() {
  function_ = nullptr;
  for (const auto& slot : slots_) {
    change(slot->word, next_open(slot->word.load()));
    slot->thread.join();
  }
}

void Team::grow(int parts) {
  slots_.reserve(static_cast<size_t>(parts));
  for (int part = static_cast<int>(slots_.size()) + 1; part < parts; ++part) {
    auto slot = std::make_unique<Slot>();
    try {
      slot->thread = std::thread([this, slot = slot.get(), part] { help(*slot, part); });
    } catch (const std::system_error& problem) {
      throw_failure("thread {} of {} cannot be started: {}; ask for fewer with `threads`", part + 1,
                    parts, problem.code().message());
    }
    slots_.push_back(std::move(slot));
    threads_.store(part + 1, std::memory_order_relaxed);
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
  owners_core_.store(sched_getcpu(), std::memory_order_relaxed);
  for (int part = 1; part < parts; ++part) {
    Slot& slot = *slots_[static_cast<size_t>(part) - 1];
    // All that the helper reads is written before.
    change(slot.word, next_open(slot.word.load(std::memory_order_relaxed)));
  }
  run_part(0);
  for (int part = 1; part < parts; ++part) {
    Slot& slot = *slots_[static_cast<size_t>(part) - 1];
    uint32_t word = slot.word.load(std::memory_order_relaxed);
    if ((word & kStateMask) == kOpen && slot.word.compare_exchange_strong(word, word + kOwner)) {
      run_part(part);
    } else {
      // A sleeping owner leaves its core idle, for which the scheduler finds the helper.
      wait_for(kDone, slot.word);
    }
  }
}

void Team::help(Slot& slot, int part) {
  for (;;) {
    uint32_t open = wait_for_region(slot.word);
    // The owner may have taken the part meanwhile, and even opened the next.
    if (!slot.word.compare_exchange_strong(open, open + kHelper)) continue;
    if (function_ == nullptr) return;
    run_part(part);
    change(slot.word, open + kDone);
  }
}

// Only one thread at a time waits for a word to change.
uint32_t Team::wait_for(State wanted, std::atomic<uint32_t>& word) {
  return wait_for_state(wanted, word, look_at_nothing);
}

uint32_t Team::wait_for_region(std::atomic<uint32_t>& word) {
  return wait_for_state(kOpen, word, [this] { leave_owners_core(); });
}

// Has the scheduler move the calling thread by forbidding that core for a moment. Not where there
// are fewer cores than threads, which have to share.
void Team::leave_owners_core() const {
  const int core = owners_core_.load(std::memory_order_relaxed);
  if (core < 0 || sched_getcpu() != core) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  if (!CPU_ISSET(core, &allowed) ||
      CPU_COUNT(&allowed) < threads_.load(std::memory_order_relaxed)) {
    return;
  }
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (sched_setaffinity(0, sizeof others, &others) == 0) {
    sched_setaffinity(0, sizeof allowed, &allowed);
  }
}

void Team::change(std::atomic<uint32_t>& word, uint32_t value) {
  if ((word.exchange(value) & kAsleep) != 0) futex_wake(word);
}

void Team::meet() {
  const int64_t parts = parts_;
  const int64_t wanted = (arrived_.fetch_add(1) / parts + 1) * parts;
  const auto all_came = [&] { return arrived_.load(std::memory_order_acquire) >= wanted; };
  while (!spin_until(all_came, look_at_nothing)) std::this_thread::yield();
}

}  // namespace trainyard::kernels

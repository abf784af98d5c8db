#include "dist/shared_host.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "base/error.h"

namespace trainyard::dist {
namespace {

// Returns at once if the word is not `seen`; otherwise after a wake of it, the given time or, now
// and then, for no reason.
void sleep_while(const uint32_t* word, uint32_t seen, double seconds) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void wake_sleepers(const uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// A member's part of the control window: each word in a cache line of its own. The first member
// holds the tickets of all.
constexpr int64_t kLine = 128;
constexpr int64_t kArrival = 0;
constexpr int64_t kSleepers = kLine;
constexpr int64_t kTickets = 2 * kLine;
constexpr int64_t kControlBytes = 4 * kLine;

std::atomic_ref<uint64_t> word(const SharedWindow& window, int64_t member, int64_t offset) {
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(
      window.part(member).subspan(static_cast<size_t>(offset)).data()));
}

// An arrival is the number of the meeting above the size of the message: one word, so that both
// are read together.
constexpr int kSizeBits = 40;
constexpr uint64_t kSizeMask = (uint64_t{1} << kSizeBits) - 1;
constexpr uint64_t kMeetingMask = (uint64_t{1} << (64 - kSizeBits)) - 1;

// The half of an arrival that no two meetings in a row have in common: what sleepers look at.
const uint32_t* upper_half(const SharedWindow& window, int64_t member) {
  static_assert(std::endian::native == std::endian::little && kSizeBits >= 32);
  return reinterpret_cast<const uint32_t*>(window.part(member).data() + kArrival) + 1;
}

// Whether meeting `a` is `b` or follows it; numbers wrap around.
bool reached(uint64_t a, uint64_t b) {
  return ((a - b) & kMeetingMask) <= kMeetingMask / 2;
}

// A moment at most: what a cache line takes a few times over. With fewer cores than members
// somebody else needs this one.
int spins_for(size_t members) {
  return members <= std::thread::hardware_concurrency() ? 100 : 0;
}

// Then it looks again so often, in case a rank is on its way, before it sleeps.
constexpr int kLooks = 64;

constexpr size_t kPage = 4096;

}  // namespace

SharedHost::SharedHost(Communicator& comm)
    : comm_(comm),
      ranks_(comm.host_members()),
      me_(std::find(ranks_.begin(), ranks_.end(), comm.rank()) - ranks_.begin()),
      spins_(spins_for(ranks_.size())),
      control_(comm.open_window(kControlBytes)),
      stage_(comm.open_window(2 * kSlot)) {
  const std::span<std::byte> mine = control_->part(me_);
  std::fill(mine.begin(), mine.end(), std::byte{});
  comm.barrier();
}

std::span<std::byte> SharedHost::allocate(int64_t bytes) {
  const SharedWindow& window = *windows_.emplace_back(comm_.open_window(bytes));
  const std::span<std::byte> mine = window.part(me_);
  std::fill(mine.begin(), mine.end(), std::byte{});
  meet(bytes);
  for (int64_t m = 0; m < members(); ++m) {
    const std::span<std::byte> part = window.part(m);
    for (size_t at = 0; at < part.size(); at += kPage) {
      static_cast<void>(*static_cast<const volatile std::byte*>(&part[at]));
    }
  }
  meet(bytes);
  return mine;
}

std::optional<std::vector<std::byte*>> SharedHost::parts_of(std::span<const std::byte> mine) const {
  for (const auto& window : windows_) {
    const std::span<std::byte> part = window->part(me_);
    const std::less_equal<> before;
    if (!before(part.data(), mine.data())) continue;
    if (!before(mine.data() + mine.size(), part.data() + part.size())) continue;
    std::vector<std::byte*> parts;
    const auto offset = static_cast<size_t>(mine.data() - part.data());
    for (int64_t m = 0; m < members(); ++m) parts.push_back(window->part(m).data() + offset);
    return parts;
  }
  return std::nullopt;
}

void SharedHost::meet(int64_t bytes) {
  const uint64_t meeting = ++meetings_ & kMeetingMask;
  const uint64_t size = static_cast<uint64_t>(bytes) & kSizeMask;
  // Either this rank sees a sleeper or the sleeper sees this arrival: both orders are strict.
  word(*control_, me_, kArrival).store(meeting << kSizeBits | size);
  if (word(*control_, me_, kSleepers).load() > 0) wake_sleepers(upper_half(*control_, me_));
  for (int64_t m = 0; m < members(); ++m) {
    if (m == me_) continue;
    uint64_t seen = 0;
    const std::atomic_ref<uint64_t> arrival = word(*control_, m, kArrival);
    const int64_t other = ranks_[static_cast<size_t>(m)];
    const auto ready = [&] {
      seen = arrival.load(std::memory_order_acquire);
      return reached(seen >> kSizeBits, meeting);
    };
    int looks = comm_.computes() ? 0 : kLooks;
    const auto rest = [&] {
      if (looks-- > 0) {
        std::this_thread::yield();
        return;
      }
      const std::atomic_ref<uint64_t> sleepers = word(*control_, m, kSleepers);
      ++sleepers;
      sleep_while(upper_half(*control_, m), static_cast<uint32_t>(seen >> 32), kAskEvery);
      --sleepers;
    };
    const bool there = comm_.wait_for(other, spins_, ready, rest);
    if (!there) {
      throw_failure("rank {} waited {} s for rank {}, to reduce {} bytes{}", comm_.rank(),
                    comm_.limit_s(), other, bytes, comm_.stopped_ranks());
    }
    // A member that is already one meeting further had the right size at this one or has failed.
    if (seen >> kSizeBits == meeting && (seen & kSizeMask) != size) {
      throw_failure("rank {} works on {} bytes but rank {} on {}", comm_.rank(), bytes, other,
                    seen & kSizeMask);
    }
  }
}

std::byte* SharedHost::next_slot() {
  slot_ = 1 - slot_;
  return stage_->part(me_).data() + slot_ * kSlot;
}

std::vector<const std::byte*> SharedHost::slots() const {
  std::vector<const std::byte*> result;
  for (int64_t m = 0; m < members(); ++m) result.push_back(stage_->part(m).data() + slot_ * kSlot);
  return result;
}

// Two counters take turns: the one that is not in use goes back to zero while nobody looks at it.
void SharedHost::start_tickets() {
  counter_ = 1 - counter_;
  if (me_ == 0) {
    word(*control_, 0, kTickets + (1 - counter_) * kLine).store(0, std::memory_order_relaxed);
  }
}

int64_t SharedHost::ticket() {
  return static_cast<int64_t>(
      word(*control_, 0, kTickets + counter_ * kLine).fetch_add(1, std::memory_order_relaxed));
}

}  // namespace trainyard::dist

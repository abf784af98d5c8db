#include "dist/threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/stopwatch.h"
#include "dist/heap_window.h"
#include "dist/wait.h"

namespace trainyard::dist {
namespace {

// Everything the ranks share: letters on their way and windows, all under one lock.
class SharedState {
 public:
  // Copies the bytes, so a sender never waits: as MPI does with small messages.
  void post(int64_t from, const Outgoing& out) {
    {
      const std::lock_guard lock(mutex_);
      letters_[{from, out.to}].emplace_back(out.bytes.begin(), out.bytes.end());
    }
    changed_.notify_all();
  }

  // `keep_waiting` is asked a few times a second, with the seconds so far.
  void take(int64_t to, const Incoming& in, const std::function<bool(double)>& keep_waiting) {
    std::unique_lock lock(mutex_);
    // The reference stays valid while the lock is released: a map does not move its entries.
    auto& queue = letters_[{in.from, to}];
    const Stopwatch watch;
    AwakeTime awake;
    while (!changed_.wait_for(lock, kLook, [&] { return !queue.empty() || first_gone_ >= 0; })) {
      // Time in which this process did not run does not count (dist/wait.h).
      const double waited = awake.look(watch.seconds());
      lock.unlock();
      if (!keep_waiting(waited)) {
        throw_failure("rank {} waited {:.1f} s for {} bytes from rank {}", to, waited,
                      in.bytes.size(), in.from);
      }
      lock.lock();
    }
    if (queue.empty()) throw_failure("rank {}: rank {} has failed", to, first_gone_);
    const std::vector<std::byte> letter = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    if (letter.size() != in.bytes.size()) {
      throw_failure("rank {} expected {} bytes from rank {}, which sent {}", to, in.bytes.size(),
                    in.from, letter.size());
    }
    std::copy(letter.begin(), letter.end(), in.bytes.begin());
  }

  // Starts looking behind `last`, the answer before.
  std::optional<int64_t> find(int64_t to, std::span<const int64_t> from, int64_t last,
                              double seconds) {
    std::optional<int64_t> found;
    const auto look = [&] {
      for (const int64_t rank : from) {
        const auto letters = letters_.find({rank, to});
        if (letters == letters_.end() || letters->second.empty()) continue;
        // Round robin over ranks, so that a busy one cannot starve the others.
        if (!found || (*found <= last && rank > last)) found = rank;
      }
      return found || first_gone_ >= 0;
    };
    std::unique_lock lock(mutex_);
    const Stopwatch watch;
    AwakeTime awake;
    const std::chrono::duration<double> slice = kLook;
    while (
        !changed_.wait_for(lock, std::min(slice, std::chrono::duration<double>(seconds)), look)) {
      if (awake.look(watch.seconds()) >= seconds) break;
    }
    if (!found && first_gone_ >= 0) throw_failure("rank {}: rank {} has failed", to, first_gone_);
    return found;
  }

  // The `sequence`-th window of a host; whoever asks first makes it.
  std::shared_ptr<HeapWindow> window(int64_t host, int64_t sequence, int64_t members,
                                     int64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<HeapWindow>& made = windows_[{host, sequence}];
    if (!made) made = std::make_shared<HeapWindow>(members, bytes);
    return made;
  }

  // The first failure is the cause; others follow from it and are dropped.
  void fail(int64_t rank, std::exception_ptr reason) {
    {
      const std::lock_guard lock(mutex_);
      if (first_gone_ < 0) {
        first_gone_ = rank;
        first_ = std::move(reason);
      }
    }
    changed_.notify_all();
  }

  void tell_waiting(int64_t rank, int64_t task) {
    const std::lock_guard lock(mutex_);
    waiting_[rank] = task;
  }

  int64_t waiting_at(int64_t rank) const {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(rank);
    return found == waiting_.end() ? 0 : found->second;
  }

  void require_all_alive(int64_t rank) const {
    const std::lock_guard lock(mutex_);
    if (first_gone_ >= 0) throw_failure("rank {}: rank {} has failed", rank, first_gone_);
  }

  // After all threads have ended, so without the lock.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  using Pair = std::pair<int64_t, int64_t>;
  static constexpr auto kLook = std::chrono::milliseconds(50);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Pair, std::deque<std::vector<std::byte>>> letters_;
  std::map<Pair, std::shared_ptr<HeapWindow>> windows_;
  std::map<int64_t, int64_t> waiting_;  // task by rank
  int64_t first_gone_ = -1;
  std::exception_ptr first_;
};

class WindowShare : public SharedWindow {
 public:
  explicit WindowShare(std::shared_ptr<HeapWindow> window) : window_(std::move(window)) {}
  std::span<std::byte> part(int64_t member) const override { return window_->part(member); }

 private:
  std::shared_ptr<HeapWindow> window_;
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(SharedState& hub, int64_t rank, std::vector<int64_t> hosts)
      : Communicator(rank, std::move(hosts)), hub_(hub) {}

  void exchange(const Outgoing* out, const Incoming* in) override {
    if (out != nullptr) hub_.post(rank(), *out);
    if (in == nullptr) return;
    hub_.take(rank(), *in, [&](double waited) { return keep_waiting(in->from, waited); });
  }

  std::optional<int64_t> find_message(std::span<const int64_t> from, double seconds) override {
    const auto found = hub_.find(rank(), from, last_found_, seconds);
    if (found) last_found_ = *found;
    return found;
  }

  void tell_waiting(int64_t task) override { hub_.tell_waiting(rank(), task); }

  std::unique_ptr<SharedWindow> open_window(int64_t bytes) override {
    const auto members = static_cast<int64_t>(host_members().size());
    const int64_t host = hosts()[static_cast<size_t>(rank())];
    // Ranks open windows in the same order, so the count names the same one on each.
    return std::make_unique<WindowShare>(hub_.window(host, windows_++, members, bytes));
  }

 protected:
  std::vector<int64_t> waiting_at() override {
    std::vector<int64_t> tasks;
    for (int64_t r = 0; r < size(); ++r) tasks.push_back(hub_.waiting_at(r));
    return tasks;
  }
  void require_all_alive() const override { hub_.require_all_alive(rank()); }

 private:
  SharedState& hub_;
  int64_t windows_ = 0;
  int64_t last_found_ = -1;
};

}  // namespace

void run_in_threads(const ThreadRanks& settings, const std::function<void(Communicator&)>& body) {
  TY_CHECK(settings.ranks >= 1, "{} ranks", settings.ranks);
  std::vector<int64_t> hosts;
  for (int64_t r = 0; r < settings.ranks; ++r) {
    hosts.push_back(settings.per_host > 0 ? r / settings.per_host : 0);
  }
  SharedState hub;
  // Threads are joined at the end of this block, before the hub goes.
  {
    std::vector<std::jthread> threads;
    for (int64_t r = 0; r < settings.ranks; ++r) {
      threads.emplace_back([&, r] {
        ThreadRank rank(hub, r, hosts);
        rank.set_limit_s(settings.limit_s);
        try {
          body(rank);
        } catch (...) {
          hub.fail(r, std::current_exception());
        }
      });
    }
  }
  hub.rethrow();
}

}  // namespace trainyard::dist

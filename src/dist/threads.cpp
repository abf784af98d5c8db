#include "dist/threads.h"

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
#include "dist/heap_window.h"

namespace trainyard::dist {
namespace {

// Everything the ranks share: letters on their way and windows, all under one lock.
class Hub {
 public:
  void post(int64_t from, const Outgoing& out) {
    {
      const std::lock_guard lock(mutex_);
      letters_[{from, out.to}].emplace_back(out.bytes.begin(), out.bytes.end());
    }
    changed_.notify_all();
  }

  void take(int64_t to, const Incoming& in, double limit_s) {
    std::unique_lock lock(mutex_);
    auto& queue = letters_[{in.from, to}];
    changed_.wait_for(lock, std::chrono::duration<double>(limit_s),
                      [&] { return !queue.empty() || gone_.contains(in.from); });
    if (queue.empty()) {
      if (gone_.contains(in.from)) throw_failure("rank {}: rank {} has failed", to, in.from);
      throw_failure("rank {} waited {} s for {} bytes from rank {}", to, limit_s, in.bytes.size(),
                    in.from);
    }
    const std::vector<std::byte> letter = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    if (letter.size() != in.bytes.size()) {
      throw_failure("rank {} expected {} bytes from rank {}, which sent {}", to, in.bytes.size(),
                    in.from, letter.size());
    }
    std::copy(letter.begin(), letter.end(), in.bytes.begin());
  }

  // The `sequence`-th window of a host; whoever asks first makes it.
  std::shared_ptr<HeapWindow> window(int64_t host, int64_t sequence, int64_t members,
                                     int64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<HeapWindow>& made = windows_[{host, sequence}];
    if (!made) made = std::make_shared<HeapWindow>(members, bytes);
    return made;
  }

  void fail(int64_t rank, std::exception_ptr reason) {
    {
      const std::lock_guard lock(mutex_);
      gone_.emplace(rank, reason);
      if (!first_) first_ = std::move(reason);
    }
    changed_.notify_all();
  }

  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  using Pair = std::pair<int64_t, int64_t>;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Pair, std::deque<std::vector<std::byte>>> letters_;
  std::map<Pair, std::shared_ptr<HeapWindow>> windows_;
  std::map<int64_t, std::exception_ptr> gone_;
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
  ThreadRank(Hub& hub, int64_t rank, std::vector<int64_t> hosts)
      : Communicator(rank, std::move(hosts)), hub_(hub) {}

  void exchange(const Outgoing* out, const Incoming* in) override {
    if (out != nullptr) hub_.post(rank(), *out);
    if (in != nullptr) hub_.take(rank(), *in, limit_s());
  }

  std::unique_ptr<SharedWindow> open_window(int64_t bytes) override {
    const auto members = static_cast<int64_t>(host_members().size());
    const int64_t host = hosts()[static_cast<size_t>(rank())];
    return std::make_unique<WindowShare>(hub_.window(host, windows_++, members, bytes));
  }

 private:
  Hub& hub_;
  int64_t windows_ = 0;
};

}  // namespace

void run_in_threads(const ThreadRanks& settings, const std::function<void(Communicator&)>& body) {
  TY_CHECK(settings.ranks >= 1, "{} ranks", settings.ranks);
  std::vector<int64_t> hosts;
  for (int64_t r = 0; r < settings.ranks; ++r) {
    hosts.push_back(settings.per_host > 0 ? r / settings.per_host : 0);
  }
  Hub hub;
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

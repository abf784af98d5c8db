// The ranks of a job and how they reach each other. Transports implement it: one process, threads
// of one process, MPI (dist/mpi).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dist/elements.h"
#include "dist/wait.h"

namespace trainyard::dist {

// Memory that the ranks of one host all see: a part for each of them, in the order of their ranks,
// all of one size, aligned to cache lines.
class SharedWindow {
 public:
  virtual ~SharedWindow() = default;
  virtual std::span<std::byte> part(int64_t member) const = 0;
};

struct Outgoing {
  int64_t to = 0;
  std::span<const std::byte> bytes;
};

struct Incoming {
  int64_t from = 0;
  std::span<std::byte> bytes;
};

// One rank's end. Used by one thread at a time. Messages between two ranks arrive in the order in
// which they were sent, and sender and receiver agree on the size. Every wait has a limit, after
// which it throws Failure with the rank that was waited for; a rank that is known to have ended is
// not waited for.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return static_cast<int64_t>(hosts_.size()); }
  // The host of each rank, as a number.
  std::span<const int64_t> hosts() const { return hosts_; }
  // The ranks on the host of this one, itself among them, ascending.
  std::vector<int64_t> host_members() const;

  double limit_s() const { return limit_s_; }
  void set_limit_s(double seconds) { limit_s_ = seconds; }
  // Whether another thread of this rank computes while one waits: the wait then leaves it the core
  // instead of looking all the time. May change during a wait.
  void set_computes(bool computes) { computes_ = computes; }
  bool computes() const { return computes_; }
  // Called a few times a second during a wait, with the rank that is waited for and the seconds so
  // far.
  using LateHandler = std::function<void(int64_t rank, double seconds)>;
  void on_late(LateHandler handler) { late_ = std::move(handler); }
  // What is known of the process of a rank: "process 123 is stopped". Empty: nothing.
  virtual std::string condition(int64_t /*rank*/) const { return {}; }
  // The first rank whose process is stopped, as far as that can be known.
  std::optional<int64_t> find_stopped() const;
  // "; rank 2: process 123 is stopped" for every such rank. One that is waited for may itself
  // wait for these.
  std::string stopped_ranks() const;

  // Announces to all ranks that this one waits at `task`, a number from 1 of what all do in the
  // same order. Does not wait for them.
  virtual void tell_waiting(int64_t /*task*/) {}
  // Whom the ranks that said so wait for, if this one waits for `rank`: that may itself be waiting,
  // as in a ring. It is the rank that has said so least lately.
  int64_t find_late(int64_t rank);

  // Polls `ready`, which depends on `rank`; false if the limit was reached. Throws Failure if a
  // rank has ended.
  template <typename Ready>
  bool wait_for(int64_t rank, int spins, Ready&& ready) const {
    Backoff naps(20e-6);
    return wait_for(rank, spins, ready, [&] { computes_ ? naps() : std::this_thread::yield(); });
  }
  // `rest` is called between looks; it may take up to kAskEvery.
  template <typename Ready, typename Rest>
  bool wait_for(int64_t rank, int spins, Ready&& ready, Rest&& rest) const {
    return poll_until(spins, ready, rest,
                      [&](double waited) { return keep_waiting(rank, waited); });
  }
  // Ends a wait that another thread of this rank is in; from now on none lasts.
  void give_up() { given_up_ = true; }

  // Sends and receives at the same time; either may be null.
  virtual void exchange(const Outgoing* out, const Incoming* in) = 0;
  void send(int64_t to, std::span<const std::byte> bytes);
  void receive(int64_t from, std::span<std::byte> bytes);
  // Whose message can be received now, of those in `from`; waits up to `seconds` for one to come.
  // Looks at them in turn, so that none is passed over. Throws Failure if a rank has ended.
  virtual std::optional<int64_t> find_message(std::span<const int64_t> from, double seconds) = 0;
  // Returns once every rank has called it.
  void barrier();
  // Rank 0's text, on every rank.
  std::string share_text(std::string text);

  // Called by all ranks with the same size, in the same order; so is the end of a window.
  virtual std::unique_ptr<SharedWindow> open_window(int64_t bytes) = 0;

  // Whether the transport has an all-reduce of its own, which is otherwise InternalError.
  virtual bool has_library() const { return false; }
  virtual void library_all_reduce(Elements data);

 protected:
  Communicator(int64_t rank, std::vector<int64_t> hosts) : rank_(rank), hosts_(std::move(hosts)) {}
  virtual bool is_stopped(int64_t /*rank*/) const { return false; }
  // The last task at which each rank has said that it waits; 0: none yet.
  virtual std::vector<int64_t> waiting_at() { return std::vector<int64_t>(hosts_.size(), 0); }
  // Throws Failure naming the first rank that has ended, as far as that can be known.
  virtual void require_all_alive() const {}
  // Asked a few times a second during a wait for `rank`.
  bool keep_waiting(int64_t rank, double waited) const;

 private:
  int64_t rank_ = 0;
  std::vector<int64_t> hosts_;
  double limit_s_ = 60;
  std::atomic<bool> computes_ = false;
  LateHandler late_;
  std::atomic<bool> given_up_ = false;
};

}  // namespace trainyard::dist

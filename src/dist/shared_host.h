// The ranks of one host, meeting in memory that all of them see.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "dist/communicator.h"

namespace trainyard::dist {

// Made, and used, by all ranks of the job in the same order.
class SharedHost {
 public:
  explicit SharedHost(Communicator& comm);

  int64_t members() const { return static_cast<int64_t>(ranks_.size()); }
  int64_t me() const { return me_; }
  // The rank of each member.
  const std::vector<int64_t>& ranks() const { return ranks_; }

  // This rank's part of a new window, zeroed. It lives as long as this object. Its pages are with
  // the rank that owns them and mapped by all, so that no reduction has to wait for that.
  std::span<std::byte> allocate(int64_t bytes);

  // If `mine` lies in this rank's part of a window: the same place in every member's part.
  std::optional<std::vector<std::byte*>> parts_of(std::span<const std::byte> mine) const;

  // Returns once every member of the host has called it with the same `bytes`, the size of what is
  // worked on; what members wrote before is visible after. Failure names the member that is missing
  // or has another size.
  void meet(int64_t bytes);

  // A buffer of kSlot bytes of this rank, which the others read after the next meet(). It stays
  // untouched until this rank has met twice more and asks again.
  static constexpr int64_t kSlot = 256 * 1024;
  std::byte* next_slot();
  // The members' current slots, in order.
  std::vector<const std::byte*> slots() const;

  // Hands out 0, 1, 2, … to whichever member asks, each number once, from start_tickets() on, which
  // all call between two meetings.
  void start_tickets();
  int64_t ticket();

 private:
  Communicator& comm_;
  std::vector<int64_t> ranks_;
  int64_t me_ = 0;
  int spins_ = 0;
  uint64_t meetings_ = 0;
  int64_t slot_ = 0;
  int64_t counter_ = 0;
  std::unique_ptr<SharedWindow> control_;
  std::unique_ptr<SharedWindow> stage_;
  std::vector<std::unique_ptr<SharedWindow>> windows_;
};

}  // namespace trainyard::dist

// shared: the ranks of one host sum in memory that all of them see. A message that lies in a window
// (Collectives::allocate) is summed where it is; others pass through slots.
#include <algorithm>
#include <cstring>

#include "dist/all_reduce.h"

namespace trainyard::dist {
namespace {

// Up to here one meeting and a little double work beat two meetings.
constexpr int64_t kStagedBytes = 2 * 1024;
// What a rank claims at a time: long enough to stream, short enough that a rank that is late, or
// was put aside by the system, leaves little for the others to wait for.
constexpr int64_t kLeastClaimBytes = 4 * 1024;
constexpr int64_t kMostClaimBytes = 128 * 1024;

bool available_shared(const ReduceContext& context) {
  return context.host.members() == context.comm.size();
}

// Every rank adds up all slots, in the order of the ranks. The slots take turns, so that nobody
// needs to wait until all have read.
void sum_staged(SharedHost& host, Elements data) {
  const int64_t piece = SharedHost::kSlot / data.item();
  for (int64_t begin = 0; begin < data.count; begin += piece) {
    const Elements part = data.range(begin, std::min(begin + piece, data.count));
    const auto bytes = part.bytes();
    std::copy(bytes.begin(), bytes.end(), host.next_slot());
    host.meet(static_cast<int64_t>(bytes.size()));
    sum_parts(part, host.slots());
  }
}

// Each piece is read once from every part and written once to every part, by whoever is free.
void sum_in_window(SharedHost& host, Elements data, const std::vector<std::byte*>& parts) {
  const auto bytes = static_cast<int64_t>(data.bytes().size());
  const int64_t pages = bytes / host.members() / kLeastClaimBytes;
  const int64_t claim =
      std::clamp(pages * kLeastClaimBytes, kLeastClaimBytes, kMostClaimBytes) / data.item();
  host.start_tickets();
  host.meet(bytes);
  for (int64_t begin = host.ticket() * claim; begin < data.count; begin = host.ticket() * claim) {
    std::vector<std::byte*> at = parts;
    for (std::byte*& part : at) part += begin * data.item();
    sum_in_place(at, std::min(claim, data.count - begin), data.dtype);
  }
  host.meet(bytes);
}

void run_shared(ReduceContext& context, Elements data) {
  if (context.host.members() == 1) return;
  const auto bytes = data.bytes();
  if (static_cast<int64_t>(bytes.size()) > kStagedBytes) {
    if (auto parts = context.host.parts_of(bytes)) {
      sum_in_window(context.host, data, *parts);
      return;
    }
  }
  sum_staged(context.host, data);
}

}  // namespace

extern const AllReduce kShared = {"shared", "in memory that the ranks of the host share",
                                  available_shared, run_shared};

}  // namespace trainyard::dist

#include "support/all_reduce_checks.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/core.h>

namespace trainyard::dist {
namespace {

constexpr int64_t kSizes[] = {0, 1, 3, 1000, 100003};

// What rank r holds: integers whose sums are exact, or numbers in [-1, 1).
template <typename T>
std::vector<T> message(int64_t rank, int64_t count, bool exact) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t mixed = (static_cast<uint32_t>(i) + 77 * static_cast<uint32_t>(rank) + 1) *
                           uint32_t{2654435761};  // 2^32 over the golden ratio
    values[i] = exact ? static_cast<T>(mixed >> 22)
                      : static_cast<T>(mixed >> 8) / static_cast<T>(1 << 23) - T{1};
  }
  return values;
}

template <typename T>
std::vector<T> sum_of_messages(int64_t ranks, int64_t count, bool exact) {
  std::vector<T> sum(static_cast<size_t>(count), T{0});
  for (int64_t r = 0; r < ranks; ++r) {
    const std::vector<T> other = message<T>(r, count, exact);
    for (size_t i = 0; i < other.size(); ++i) sum[i] += other[i];
  }
  return sum;
}

// n-1 additions of numbers below one lose n ulp of n at most, whatever their order.
template <typename T>
T tolerance(int64_t ranks) {
  return static_cast<T>(ranks * ranks) * std::numeric_limits<T>::epsilon();
}

template <typename T>
std::string compare(std::span<const T> found, std::span<const T> wanted, T allowed) {
  for (size_t i = 0; i < found.size(); ++i) {
    if (!(std::abs(found[i] - wanted[i]) <= allowed)) {
      return fmt::format("element {} is {}, expected {}", i, found[i], wanted[i]);
    }
  }
  return "";
}

// Whether all ranks hold the bits of rank 0.
template <typename T>
bool same_everywhere(Collectives& collectives, std::span<const T> found) {
  std::vector<T> first(found.begin(), found.end());
  collectives.broadcast(Elements::of(std::span<T>(first)), 0);
  const bool same =
      found.empty() || std::memcmp(first.data(), found.data(), found.size_bytes()) == 0;
  for (const double equal : collectives.all_gather(same ? 1 : 0)) {
    if (equal == 0) return false;
  }
  return true;
}

template <typename T>
std::string check(Collectives& collectives, const AllReduce& algorithm, std::span<T> memory,
                  bool exact, std::span<const T> wanted) {
  const auto count = static_cast<int64_t>(memory.size());
  const T allowed = exact ? T{0} : tolerance<T>(collectives.comm().size());
  const std::vector<T> mine = message<T>(collectives.comm().rank(), count, exact);
  std::vector<T> before;
  for (int run = 0; run < 2; ++run) {
    std::copy(mine.begin(), mine.end(), memory.begin());
    collectives.all_reduce(Elements::of(memory), algorithm);
    if (std::string wrong = compare<T>(memory, wanted, allowed); !wrong.empty()) return wrong;
    if (run == 1 && !std::equal(before.begin(), before.end(), memory.begin())) {
      return "the second run gives other bits";
    }
    before.assign(memory.begin(), memory.end());
  }
  if (!same_everywhere<T>(collectives, memory)) return "ranks hold different bits";
  return "";
}

template <typename T>
std::string check_type(Collectives& collectives, const AllReduce& algorithm) {
  for (const int64_t count : kSizes) {
    // One element further than the window's start: offsets are no special case.
    const auto window = collectives.allocate((count + 1) * static_cast<int64_t>(sizeof(T)));
    const std::span<T> shared(reinterpret_cast<T*>(window.data()) + 1, static_cast<size_t>(count));
    std::vector<T> own(static_cast<size_t>(count));
    for (const bool exact : {true, false}) {
      const std::vector<T> wanted = sum_of_messages<T>(collectives.comm().size(), count, exact);
      for (const std::span<T> memory : {shared, std::span<T>(own)}) {
        const std::string wrong = check<T>(collectives, algorithm, memory, exact, wanted);
        // All ranks go on or stop together.
        bool fine = true;
        for (const double bad : collectives.all_gather(wrong.empty() ? 0 : 1)) fine &= bad == 0;
        if (!fine) {
          return fmt::format("{}, {} elements of {} bytes, {}, {}: {}", algorithm.name, count,
                             sizeof(T), memory.data() == own.data() ? "outside a window" : "in one",
                             exact ? "integers" : "reals",
                             wrong.empty() ? "another rank is wrong" : wrong);
        }
      }
    }
  }
  return "";
}

}  // namespace

std::string check_all_reduce(Collectives& collectives, const AllReduce& algorithm) {
  std::string wrong = check_type<float>(collectives, algorithm);
  if (wrong.empty()) wrong = check_type<double>(collectives, algorithm);
  return wrong;
}

std::string check_find_message(Communicator& comm) {
  constexpr int64_t kMessages = 3;
  constexpr double kLimit = 20;
  std::string wrong;
  std::byte go{};
  if (comm.rank() > 0) {
    comm.receive(0, {&go, 1});
    for (int64_t i = 0; i < kMessages; ++i) {
      const int64_t value = comm.rank() * kMessages + i;
      comm.send(0, std::as_bytes(std::span(&value, 1)));
    }
    // Until then rank 0 may find whatever is sent.
    comm.receive(0, {&go, 1});
  } else {
    std::vector<int64_t> from;
    for (int64_t r = 1; r < comm.size(); ++r) from.push_back(r);
    if (comm.find_message(from, 0)) wrong = "a message was found that nobody sent";
    for (const int64_t rank : from) comm.send(rank, {&go, 1});
    std::vector<int64_t> got(from.size());
    for (size_t i = 0; i < kMessages * from.size() && wrong.empty(); ++i) {
      const auto rank = comm.find_message(from, kLimit);
      if (!rank) return "no message was found";
      int64_t value = 0;
      comm.receive(*rank, std::as_writable_bytes(std::span(&value, 1)));
      const int64_t wanted = *rank * kMessages + got[static_cast<size_t>(*rank - 1)]++;
      if (value != wanted) wrong = "rank " + std::to_string(*rank) + " sent something else";
    }
    for (const int64_t rank : from) comm.send(rank, {&go, 1});
  }
  return wrong;
}

std::string check_find_late(Communicator& comm) {
  const int64_t last = comm.size() - 1;
  const int64_t neighbor = (comm.rank() + last) % comm.size();
  if (comm.find_late(neighbor) != neighbor) return "somebody is late for nothing";
  comm.barrier();
  for (const int64_t task : {3, 7}) {
    if (comm.rank() != last) comm.tell_waiting(task);
    // Messages of one rank arrive in order: with this one, what was said before has been heard.
    const std::byte token{};
    std::byte heard{};
    for (int64_t distance = 1; distance < comm.size(); ++distance) {
      const Outgoing out{(comm.rank() + distance) % comm.size(), {&token, 1}};
      const Incoming in{(comm.rank() - distance + comm.size()) % comm.size(), {&heard, 1}};
      comm.exchange(&out, &in);
    }
    const int64_t late = comm.find_late(neighbor);
    if (comm.rank() != last && late != last) return "rank " + std::to_string(late) + " is late";
  }
  return {};
}

}  // namespace trainyard::dist

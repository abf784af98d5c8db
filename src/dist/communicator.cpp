#include "dist/communicator.h"

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::dist {

std::vector<int64_t> Communicator::host_members() const {
  std::vector<int64_t> members;
  for (int64_t r = 0; r < size(); ++r) {
    if (hosts_[static_cast<size_t>(r)] == hosts_[static_cast<size_t>(rank_)]) members.push_back(r);
  }
  return members;
}

std::optional<int64_t> Communicator::find_stopped() const {
  for (int64_t r = 0; r < size(); ++r) {
    if (is_stopped(r)) return r;
  }
  return std::nullopt;
}

std::string Communicator::stopped_ranks() const {
  std::string text;
  for (int64_t r = 0; r < size(); ++r) {
    if (is_stopped(r)) text += fmt::format("; rank {}: {}", r, condition(r));
  }
  return text;
}

int64_t Communicator::find_late(int64_t rank) {
  const std::vector<int64_t> tasks = waiting_at();
  for (int64_t r = 0; r < size(); ++r) {
    if (r != rank_ && tasks[static_cast<size_t>(r)] < tasks[static_cast<size_t>(rank)]) rank = r;
  }
  return rank;
}

bool Communicator::keep_waiting(int64_t rank, double waited) const {
  require_all_alive();
  if (late_) late_(rank, waited);
  return waited <= limit_s_ && !given_up_;
}

void Communicator::send(int64_t to, std::span<const std::byte> bytes) {
  const Outgoing out{to, bytes};
  exchange(&out, nullptr);
}

void Communicator::receive(int64_t from, std::span<std::byte> bytes) {
  const Incoming in{from, bytes};
  exchange(nullptr, &in);
}

void Communicator::library_all_reduce(Elements data) {
  TY_CHECK(has_library(), "no library to reduce {} elements", data.count);
}

std::string Communicator::share_text(std::string text) {
  auto size = static_cast<int64_t>(text.size());
  if (rank_ != 0) {
    receive(0, std::as_writable_bytes(std::span(&size, 1)));
    text.resize(static_cast<size_t>(size));
    receive(0, std::as_writable_bytes(std::span(text)));
    return text;
  }
  for (int64_t r = 1; r < this->size(); ++r) {
    send(r, std::as_bytes(std::span(&size, 1)));
    send(r, std::as_bytes(std::span(text)));
  }
  return text;
}

// Dissemination: after round k each rank has heard, directly or not, from 2^(k+1)-1 others.
void Communicator::barrier() {
  for (int64_t distance = 1; distance < size(); distance *= 2) {
    std::byte token{};
    const Outgoing out{(rank_ + distance) % size(), {&token, 1}};
    std::byte heard{};
    const Incoming in{(rank_ - distance + size()) % size(), {&heard, 1}};
    exchange(&out, &in);
  }
}

}  // namespace trainyard::dist

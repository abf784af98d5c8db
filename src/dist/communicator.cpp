#include "dist/communicator.h"

#include "base/error.h"

namespace trainyard::dist {

std::vector<int64_t> Communicator::host_members() const {
  std::vector<int64_t> members;
  for (int64_t r = 0; r < size(); ++r) {
    if (hosts_[static_cast<size_t>(r)] == hosts_[static_cast<size_t>(rank_)]) members.push_back(r);
  }
  return members;
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

#include "http/connection_slots.h"

namespace trainyard::serve {

ConnectionSlot::~ConnectionSlot() {
  seats_.give_back(client_);
}

std::unique_ptr<ConnectionSlot> ConnectionSlots::take(const std::string& client) {
  auto seat = std::unique_ptr<ConnectionSlot>();
  const std::lock_guard lock(mutex_);
  if (taken_ >= most_) return seat;
  size_t& of_client = by_client_[client];
  if (of_client >= most_of_client_) return seat;
  seat = std::make_unique<ConnectionSlot>(*this, client);
  ++of_client;
  ++taken_;
  return seat;
}

void ConnectionSlots::give_back(const std::string& client) {
  const std::lock_guard lock(mutex_);
  --taken_;
  const auto found = by_client_.find(client);
  if (--found->second == 0) by_client_.erase(found);
}

}  // namespace trainyard::serve

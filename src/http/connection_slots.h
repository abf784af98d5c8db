// Places for connections: so many in all, and so many for one client.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace trainyard::serve {

class ConnectionSlots;

// A connection that counts while it lives.
class ConnectionSlot {
 public:
  ConnectionSlot(ConnectionSlots& seats, std::string client)
      : seats_(seats), client_(std::move(client)) {}
  ~ConnectionSlot();
  ConnectionSlot(const ConnectionSlot&) = delete;
  ConnectionSlot& operator=(const ConnectionSlot&) = delete;

 private:
  ConnectionSlots& seats_;
  std::string client_;
};

// Outlives its slots. Thread-safe.
class ConnectionSlots {
 public:
  ConnectionSlots(size_t most, size_t most_of_client)
      : most_(most), most_of_client_(most_of_client) {}

  // Null: all are taken, or this client has as many as it may.
  std::unique_ptr<ConnectionSlot> take(const std::string& client);

 private:
  friend class ConnectionSlot;
  void give_back(const std::string& client);

  size_t most_;
  size_t most_of_client_;
  std::mutex mutex_;
  size_t taken_ = 0;
  std::unordered_map<std::string, size_t> by_client_;
};

}  // namespace trainyard::serve

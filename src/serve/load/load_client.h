// Many keep-alive connections of a load generator, driven by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

struct Address {
  std::string host;  // as it was written
  uint16_t port = 80;
};

// http://HOST:PORT; throws Error for anything else.
Address parse_url(const std::string& url);

struct ClientResponse {
  int status = 0;
  std::string_view head;  // valid during the call
  std::string_view body;
};

// One request as its bytes go over the wire.
std::string http_message(std::string_view method, const std::string& path, const Address& address,
                         std::string_view headers, std::string_view body);

class LoadClient {
 public:
  // Throws Failure if the server cannot be reached.
  LoadClient(const Address& address, size_t connections);
  ~LoadClient();
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;

  size_t idle() const;
  // On an idle connection (TY_CHECKed); `message` lives until the answer. `tag` is handed back.
  void send(const std::string& message, uint64_t tag, Clock::time_point since);

  // A response, or status 0 for a connection that broke, which is then opened again.
  using Done = std::function<void(uint64_t tag, Clock::time_point since, const ClientResponse&)>;
  // Sends and receives until something is done or the time is up. Throws Failure for an answer of
  // more than 1 GiB.
  void wait(std::chrono::microseconds most, const Done& done);

 private:
  struct Connection;
  explicit LoadClient(const Address& address);
  void open(Connection& connection);
  bool send_more(Connection& connection);
  bool receive_more(Connection& connection, const Done& done);

  Address address_;
  int poll_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<size_t> idle_;
};

// One request, one answer, on a connection of its own.
struct Fetched {
  int status = 0;
  std::string head;
  std::string body;
};
// Long enough for a slow model on a busy machine.
inline constexpr std::chrono::milliseconds kLongestAnswer = std::chrono::minutes(5);
// Throws Failure if the server cannot be reached or takes longer than `most` to answer.
Fetched fetch(const Address& address, const std::string& message,
              std::chrono::milliseconds most = kLongestAnswer);

}  // namespace trainyard::serve

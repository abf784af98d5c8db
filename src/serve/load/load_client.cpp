#include "serve/load/load_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/error.h"

namespace trainyard::serve {
namespace {

constexpr size_t kReceiveBytes = 256 << 10;
// Far above what models answer; a server that sends more must not take all memory of the client.
constexpr size_t kMostHead = 64 << 10;
constexpr size_t kMostBody = 1 << 30;

// Blocking. Tries all addresses of the host in turn.
int connect_to(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) {
    throw_error("there is no host '{}'", address.host);
  }
  int fd = -1;
  for (const addrinfo* entry = found; entry != nullptr && fd < 0; entry = entry->ai_next) {
    fd = socket(entry->ai_family, entry->ai_socktype | SOCK_CLOEXEC, entry->ai_protocol);
    if (fd >= 0 && connect(fd, entry->ai_addr, entry->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(found);
  if (fd < 0) {
    throw_failure("{}:{} cannot be reached: {}; is the server running?", address.host, address.port,
                  std::strerror(errno));
  }
  // A request leaves at once, even if it is shorter than a packet.
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// The whole response once it is there; its size in `total`.
// Understands answers with Content-Length only, as they are spelled by servers of the protocol;
// without one the body is empty. Throws Failure if it is larger than any answer.
bool parse_response(std::string_view bytes, ClientResponse& response, size_t& total) {
  const size_t end = bytes.find("\r\n\r\n");
  if (std::min(end, bytes.size()) > kMostHead) {
    throw_failure("the server answers with a head of more than {} KiB", kMostHead >> 10);
  }
  if (end == std::string_view::npos) return false;
  // The views point into the buffer of the connection.
  response.head = bytes.substr(0, end + 2);
  if (response.head.size() > 12) {
    std::from_chars(response.head.data() + 9, response.head.data() + 12, response.status);
  }
  size_t length = 0;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  if (const size_t at = response.head.find(kLength); at != std::string_view::npos) {
    const auto read = std::from_chars(response.head.data() + at + kLength.size(),
                                      response.head.data() + response.head.size(), length);
    if (read.ec == std::errc::result_out_of_range || length > kMostBody) {
      throw_failure("the server answers with more than {} MiB", kMostBody >> 20);
    }
  }
  total = end + 4 + length;
  if (bytes.size() < total) return false;
  response.body = bytes.substr(end + 4, length);
  return true;
}

}  // namespace

Address parse_url(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  std::string rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : url;
  while (rest.ends_with('/')) rest.pop_back();
  const size_t colon = rest.rfind(':');
  Address address{rest.substr(0, colon), 80};
  bool good = !address.host.empty() && rest.find('/') == std::string::npos &&
              url.find("https://") == std::string::npos;
  if (colon != std::string::npos) {
    const char* const end = rest.data() + rest.size();
    const auto result = std::from_chars(rest.data() + colon + 1, end, address.port);
    good = good && result.ec == std::errc() && result.ptr == end;
  }
  TY_REQUIRE(good, "'{}' is no address; expected one as http://127.0.0.1:8000", url);
  return address;
}

std::string http_message(std::string_view method, const std::string& path, const Address& address,
                         std::string_view headers, std::string_view body) {
  std::string message = fmt::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\n{}", method, path,
                                    address.host, address.port, headers);
  if (method == "POST") message += fmt::format("Content-Length: {}\r\n", body.size());
  message += "\r\n";
  message += body;
  return message;
}

// At most one request under way on each.
struct LoadClient::Connection {
  int fd = -1;
  size_t index = 0;
  const std::string* message = nullptr;  // null: idle
  size_t sent = 0;
  std::string received;
  size_t filled = 0;
  uint64_t tag = 0;
  Clock::time_point since;
};

LoadClient::LoadClient(const Address& address)
    : address_(address), poll_(epoll_create1(EPOLL_CLOEXEC)) {
  TY_CHECK(poll_ >= 0, "epoll_create1");
}

// By the other constructor first, so that the destructor closes what is open if one cannot be
// opened.
LoadClient::LoadClient(const Address& address, size_t connections) : LoadClient(address) {
  for (size_t i = 0; i < connections; ++i) {
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->index = i;
    connections_.back()->received.resize(kReceiveBytes);
    open(*connections_.back());
    idle_.push_back(i);
  }
}

LoadClient::~LoadClient() {
  for (const auto& connection : connections_) {
    if (connection->fd >= 0) close(connection->fd);
  }
  close(poll_);
}

void LoadClient::open(Connection& connection) {
  connection.fd = connect_to(address_);
  epoll_event event{};
  // Edge-triggered: each event is worked off until EAGAIN, and no call changes what is waited for.
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.u64 = connection.index;
  epoll_ctl(poll_, EPOLL_CTL_ADD, connection.fd, &event);
}

size_t LoadClient::idle() const {
  return idle_.size();
}

void LoadClient::send(const std::string& message, uint64_t tag, Clock::time_point since) {
  TY_CHECK(!idle_.empty(), "no connection is idle");
  Connection& connection = *connections_[idle_.back()];
  idle_.pop_back();
  connection.message = &message;
  connection.sent = 0;
  connection.filled = 0;
  connection.tag = tag;
  connection.since = since;
  send_more(connection);
}

// False if the connection broke.
bool LoadClient::send_more(Connection& connection) {
  while (connection.message != nullptr && connection.sent < connection.message->size()) {
    const ssize_t bytes =
        ::send(connection.fd, connection.message->data() + connection.sent,
               connection.message->size() - connection.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (bytes < 0) return errno == EAGAIN || errno == EINTR;
    connection.sent += static_cast<size_t>(bytes);
  }
  return true;
}

bool LoadClient::receive_more(Connection& connection, const Done& done) {
  while (true) {
    if (connection.filled == connection.received.size()) {
      connection.received.resize(connection.received.size() * 2);
    }
    const ssize_t bytes = recv(connection.fd, connection.received.data() + connection.filled,
                               connection.received.size() - connection.filled, MSG_DONTWAIT);
    if (bytes < 0) return errno == EAGAIN || errno == EINTR;
    if (bytes == 0) return false;
    connection.filled += static_cast<size_t>(bytes);
    // Bytes that nobody asked for: whatever they answer, it is not the next request.
    if (connection.message == nullptr) return false;
    ClientResponse response;
    size_t total = 0;
    if (!parse_response({connection.received.data(), connection.filled}, response, total)) continue;
    // Idle before the callback, which may send the next request on this very connection.
    connection.message = nullptr;
    idle_.push_back(connection.index);
    done(connection.tag, connection.since, response);
    return response.head.find("Connection: close") == std::string_view::npos;
  }
}

void LoadClient::wait(std::chrono::microseconds most, const Done& done) {
  std::array<epoll_event, 64> events{};
  // Rounded up to whole milliseconds: rounded down, the last one would be spent in a busy loop.
  const int milliseconds =
      static_cast<int>(std::clamp<int64_t>((most.count() + 999) / 1000, 0, 100));
  const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), milliseconds);
  for (int i = 0; i < count; ++i) {
    Connection& connection = *connections_[events[static_cast<size_t>(i)].data.u64];
    const bool good = send_more(connection) && receive_more(connection, done);
    if (good) continue;
    // Forgotten too: if it cannot be opened again, the number may be someone else's by the end.
    close(std::exchange(connection.fd, -1));
    if (connection.message != nullptr) {
      connection.message = nullptr;
      idle_.push_back(connection.index);
      done(connection.tag, connection.since, {});
    }
    open(connection);
  }
}

Fetched fetch(const Address& address, const std::string& message, std::chrono::milliseconds most) {
  LoadClient client(address, 1);
  const Clock::time_point until = Clock::now() + most;
  Fetched fetched;
  bool ended = false;
  client.send(message, 0, Clock::now());
  while (!ended) {
    if (Clock::now() >= until) {
      throw_failure("{}:{} has not answered within {} ms", address.host, address.port,
                    most.count());
    }
    client.wait(std::chrono::milliseconds(100), [&](uint64_t, Clock::time_point,
                                                    const ClientResponse& response) {
      fetched = {response.status, std::string(response.head), std::string(response.body)};
      ended = true;
    });
  }
  return fetched;
}

}  // namespace trainyard::serve

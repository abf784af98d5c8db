// Requests and responses between the sockets and whoever answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/early_numbers.h"
#include "http/body.h"
#include "http/clock.h"
#include "http/memory_budget.h"
#include "http/status.h"

namespace trainyard::serve {

class HttpSession;
struct HttpResponse;

// A thread that serves connections.
class SocketThread {
 public:
  SocketThread() = default;
  virtual ~SocketThread() = default;
  SocketThread(const SocketThread&) = delete;
  SocketThread& operator=(const SocketThread&) = delete;

  // From any thread: calls the session's respond() there.
  virtual void respond(std::shared_ptr<HttpSession> session,
                       std::function<HttpResponse()> make) = 0;
  // From that thread alone: calls `work`, which does not throw, once all that has arrived was
  // handled.
  virtual void later(std::function<void()> work) = 0;
};

// Valid while the request is handled.
struct HttpRequest {
  std::string_view method;
  std::string_view target;  // path and query
  std::string_view host;    // whom the client believes to ask; empty: it did not say
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  Body body;
  // Of its text, while it came; null: none.
  std::shared_ptr<const EarlyNumbers> ahead = nullptr;
  bool has_length = false;  // a body was announced, however long
  std::string_view peer;    // the client's address
  Clock::time_point arrived;
  SocketThread* thread = nullptr;  // the calling one; null: of another protocol

  // The first of that name, whatever its case; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  Status status = Status::kOk;
  std::string_view content_type = "application/json";  // of the program's own texts
  std::string body;
  std::string headers = {};         // further ones, as lines
  MemoryBudget::Share memory = {};  // of the body, until it is sent

  void add_header(std::string_view name, std::string_view value);
};

// {"error": "…"}
HttpResponse error_response(Status status, std::string_view text);
std::string_view reason_phrase(Status status);

// To be called once, from any thread, with what makes the response; it is called on the thread of
// the connection and does not throw.
using Reply = std::function<void(std::function<HttpResponse()>)>;

class HttpHandler {
 public:
  HttpHandler() = default;
  virtual ~HttpHandler() = default;
  HttpHandler(const HttpHandler&) = delete;
  HttpHandler& operator=(const HttpHandler&) = delete;

  // Whether a request is answered before its body is read; nothing: it is to be read. `head` has no
  // body. Does not throw.
  virtual std::optional<HttpResponse> refuse_early(const HttpRequest& /*head*/) {
    return std::nullopt;
  }
  // Runs on the thread of the connection and must not wait. Does not throw.
  virtual void handle(const HttpRequest& request, Reply reply) = 0;
  // Of a request that ended before it could be handled, by the server's own answer.
  virtual void refused(Status status, std::string_view peer) = 0;
};

// What one connection may cost, and all of them. What is slower than the rate is given up once it
// had its grace.
struct HttpLimits {
  size_t body_bytes = size_t{64} << 20;
  size_t header_bytes = 16 << 10;
  size_t connections = 1024;
  size_t client_connections = 768;    // of one address
  std::chrono::seconds idle{75};      // between requests
  std::chrono::seconds header{10};    // from the first byte of a request to the end of its header
  std::chrono::seconds body{30};      // of all of it
  std::chrono::seconds write{30};     // of an answer, and a second more for each 1 MiB
  std::chrono::seconds grace{5};      // of bodies and answers
  size_t bytes_per_s = 16 << 10;      // at least
  std::chrono::seconds last_wait{1};  // for a request on an idle connection when the server ends
  // Of all bodies and answers under way.
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(size_t{1} << 30);
};

}  // namespace trainyard::serve

// Requests and responses between the sockets and whoever answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers_ahead.h"
#include "serve/http/body.h"
#include "serve/protocol/infer_request.h"
#include "serve/protocol/status.h"
#include "serve/protocol/v2_codec.h"

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
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  Body body;
  // Of its text, while it came; null: none.
  std::shared_ptr<const NumbersAhead> ahead = nullptr;
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
  std::string headers = {};  // further ones, as lines

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

  // Runs on the thread of the connection and must not wait. Does not throw.
  virtual void handle(const HttpRequest& request, Reply reply) = 0;
  // Of a request that ended before it could be handled, by the server's own answer.
  virtual void refused(Status status, std::string_view peer) = 0;
};

struct HttpLimits {
  size_t body_bytes = size_t{64} << 20;
  size_t header_bytes = 16 << 10;
  size_t connections = 1024;
  std::chrono::seconds idle{75};    // between requests
  std::chrono::seconds header{10};  // from the first byte of a request to the end of its header
  std::chrono::seconds body{30};    // for each 1 MiB of the body, at least
  std::chrono::seconds write{30};   // for each 1 MiB of the answer, at least
};

}  // namespace trainyard::serve

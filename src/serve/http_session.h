// One connection: requests in, responses out, one after another.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "serve/http.h"
#include "serve/wire.h"

namespace trainyard::serve {

// Lives as long as something is under way on it. Everything happens on the thread of the sockets
// but the handler's reply, which is posted there.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  // Runs work on the thread of the sockets.
  using Post = std::function<void(std::function<void()>)>;

  HttpSession(std::unique_ptr<Wire> wire, std::string peer, HttpHandler& handler,
              const HttpLimits& limits, Post post);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void start();
  // Answers 503 and closes: there are too many.
  void turn_away();
  // Called now and then: ends what takes too long.
  void check_deadline(Clock::time_point now);
  // Ends the connection after the request under way, at once if there is none.
  void finish_soon();

 private:
  struct Parser;
  enum class State : uint8_t { kOpening, kIdle, kHeader, kBody, kHandling, kWriting, kClosed };

  void set_state(State state, std::chrono::seconds limit);
  void read_more();
  void on_read(size_t bytes);
  void parse();
  void on_header();
  bool refuse_header();
  void begin_body();
  void read_body();
  void read_chunks();
  void on_body();
  void handle();
  void respond(HttpResponse response);
  void on_written(bool ok);
  void refuse_and_close(Status status, std::string_view text);
  void close();

  std::unique_ptr<Wire> wire_;
  std::string peer_;
  HttpHandler& handler_;
  const HttpLimits& limits_;
  Post post_;
  std::unique_ptr<Parser> parser_;
  State state_ = State::kOpening;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point arrived_;
  std::string in_;  // what was read and not used yet, from at_ on
  size_t at_ = 0;
  std::shared_ptr<std::string> body_;
  size_t body_filled_ = 0;
  std::string head_;  // of the response
  HttpResponse response_;
  bool keep_alive_ = true;
  bool finish_soon_ = false;
  bool timed_out_ = false;
};

}  // namespace trainyard::serve

// One connection: requests in, responses out, one after another.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "serve/http/http.h"
#include "serve/http/wire.h"

namespace trainyard::serve {

// A connection that counts while it lives.
class Seat {
 public:
  explicit Seat(std::atomic<size_t>& taken) : taken_(taken) { ++taken_; }
  ~Seat() { --taken_; }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

 private:
  std::atomic<size_t>& taken_;
};

// Lives as long as something is under way on it. Everything happens on its thread but the handler's
// reply, which is posted there.
class HttpSession final : public WireUser, public std::enable_shared_from_this<HttpSession> {
 public:
  // Without a seat it is turned away: there are too many.
  HttpSession(std::unique_ptr<Wire> wire, std::string peer, HttpHandler& handler,
              const HttpLimits& limits, SocketThread& thread, std::unique_ptr<Seat> seat);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void start();
  // Called now and then: ends what takes too long.
  void check_deadline(Clock::time_point now);
  // Ends the connection after the request under way, at once if there is none.
  void finish_soon();
  // To the request that is being handled.
  void respond(HttpResponse response);

  void on_open(bool ok) override;
  void on_read(size_t bytes) override;
  void on_written(bool ok) override;

 private:
  struct Parser;
  enum class State : uint8_t {
    kOpening,
    kIdle,
    kHeader,
    kContinuing,  // the client is told to send the body
    kBody,
    kHandling,
    kWriting,
    kLingering,  // refused; what the client still sends is thrown away
    kClosed
  };

  void set_state(State state, std::chrono::seconds limit);
  void read_more();
  void parse();
  void on_header();
  bool refuse_header();
  void begin_body();
  void allocate_body();
  void read_body();
  void read_chunks();
  void on_body();
  void on_response_written(bool ok);
  void linger();
  void refuse_and_close(Status status, std::string_view text);
  void close();

  std::unique_ptr<Wire> wire_;
  std::string peer_;
  HttpHandler& handler_;
  const HttpLimits& limits_;
  SocketThread& thread_;
  std::unique_ptr<Seat> seat_;
  std::unique_ptr<Parser> parser_;
  State state_ = State::kOpening;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point arrived_;
  std::string in_;  // what was read and not used yet, from at_ on
  size_t in_filled_ = 0;
  size_t at_ = 0;
  std::shared_ptr<char[]> body_;  // with room in front, so that tensors are aligned
  size_t body_begin_ = 0;
  size_t body_size_ = 0;
  size_t body_filled_ = 0;
  std::shared_ptr<NumbersAhead> ahead_;
  std::string head_;  // of the response
  HttpResponse response_;
  bool refused_ = false;
  bool keep_alive_ = true;
  bool finish_soon_ = false;
  bool timed_out_ = false;
};

}  // namespace trainyard::serve

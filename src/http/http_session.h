// One connection: requests in, responses out, one after another.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <boost/system/error_code.hpp>

#include "base/early_numbers.h"
#include "http/body.h"
#include "http/connection_slots.h"
#include "http/http.h"
#include "http/memory_budget.h"
#include "http/wire.h"

namespace trainyard::serve {

// Straight into its place, so that large tensors are not copied on the way. Memory is taken as
// bytes come, not as they are announced. All functions throw RequestError (kUnavailable) where the
// budget is spent, and std::bad_alloc.
class IncomingBody {
 public:
  explicit IncomingBody(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}

  // A body of known length. Its first tensor, which follows so many bytes of JSON, will be aligned.
  void begin(size_t bytes, size_t json_bytes);
  bool is_open() const { return memory_ != nullptr; }
  // Where the next bytes go; what came there is then told to add().
  std::span<char> room();
  void add(size_t bytes);
  bool is_complete() const { return filled_ == size_; }
  size_t filled() const { return filled_; }

  // Gives it away with the numbers that were read on the way.
  Body take(std::shared_ptr<const EarlyNumbers>& ahead);
  // The same of a body in chunks, put together.
  Body take_chunks(std::string chunks);
  // Counts the memory of chunks so far.
  void count_chunks(const std::string& chunks);
  void clear();

 private:
  struct Memory {
    std::unique_ptr<char[]> bytes;  // with room in front, so that tensors are aligned
    MemoryBudget::Share share;
  };
  void allocate(size_t capacity);
  void look_ahead();

  std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<Memory> memory_;
  MemoryBudget::Share chunks_share_;
  size_t begin_ = 0;  // in memory_
  size_t capacity_ = 0;
  size_t size_ = 0;
  size_t filled_ = 0;
  size_t json_bytes_ = 0;
  std::shared_ptr<EarlyNumbers> ahead_;
};

// Lives as long as something is under way on it. Everything happens on its thread but the handler's
// reply, which is posted there.
class HttpSession final : public WireUser, public std::enable_shared_from_this<HttpSession> {
 public:
  // Without a seat it is turned away: there are too many.
  HttpSession(std::unique_ptr<Wire> wire, std::string peer, HttpHandler& handler,
              const HttpLimits& limits, SocketThread& thread, std::unique_ptr<ConnectionSlot> seat);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void start();
  // Called now and then: ends what takes too long.
  void check_deadline(Clock::time_point now);
  // Ends the connection after the requests under way. An idle one may bring another until then: it
  // may have been sent before the client could know.
  void finish_soon(Clock::time_point idle_until);
  // To the request that is being handled.
  void respond(HttpResponse response);
  // Ends the connection at once.
  void give_up() { close(); }

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

  // Turns what is thrown into an answer, or ends the connection.
  template <typename F>
  void guard(F&& work);
  void set_state(State state, std::chrono::seconds limit);
  bool is_too_slow(Clock::time_point now) const;
  void read_more();
  void take_read(size_t bytes);
  void parse();
  void on_header();
  bool refuse_header();
  bool refuse_body();
  HttpRequest request_head();
  void begin_body();
  void read_body();
  void read_chunks();
  bool refuse_chunks(const boost::system::error_code& problem);
  void on_body();
  void write_more();
  void on_response_written(bool ok);
  void linger();
  void refuse_and_close(Status status, std::string_view text);
  void close();

  std::unique_ptr<Wire> wire_;
  std::string peer_;
  HttpHandler& handler_;
  const HttpLimits& limits_;
  SocketThread& thread_;
  std::unique_ptr<ConnectionSlot> seat_;
  std::unique_ptr<Parser> parser_;
  State state_ = State::kOpening;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point arrived_;
  std::string in_;  // what was read and not used yet, from at_ on
  size_t in_filled_ = 0;
  size_t at_ = 0;
  IncomingBody body_;
  Clock::time_point began_;  // to read the body, or to write
  std::string head_;         // of the response
  HttpResponse response_;
  size_t written_ = 0;  // of its body
  bool refused_ = false;
  bool keep_alive_ = true;
  std::optional<Clock::time_point> finish_by_;
  bool timed_out_ = false;
};

}  // namespace trainyard::serve

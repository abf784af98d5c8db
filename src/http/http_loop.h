// One thread's share of the connections.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/http_session.h"

namespace trainyard::serve {

class HttpLoop final : public SocketThread {
 public:
  HttpLoop();
  ~HttpLoop() override;
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  boost::asio::io_context& io() { return io_; }
  // Serves on the calling thread until all is finished after stop().
  void run();
  // From any thread: the connection is served from now on.
  void add(std::shared_ptr<HttpSession> session);
  // From any thread: connections end after their requests under way, idle ones after that long.
  // run() ends after the last one if nothing more is added, or when the time is up.
  void stop(std::chrono::milliseconds most, std::chrono::milliseconds idle);
  // From the thread that adds: that was the last.
  void add_no_more();

  void respond(std::shared_ptr<HttpSession> session, std::function<HttpResponse()> make) override;
  void later(std::function<void()> work) override;

 private:
  struct Waiting {
    std::shared_ptr<HttpSession> session;
    std::function<HttpResponse()> make;
  };

  void send();
  // Never throws: what one connection leads to must not end the others.
  void answer(const Waiting& one);
  void sweep_later();
  void check_deadlines();
  void remove_ended();
  void begin_stop(std::chrono::milliseconds most, std::chrono::milliseconds idle);
  void poll_end();

  boost::asio::io_context io_{1};
  boost::asio::steady_timer sweep_;
  boost::asio::steady_timer limit_;
  std::atomic<std::thread::id> thread_;
  std::vector<std::weak_ptr<HttpSession>> sessions_;
  std::optional<Clock::time_point> idle_until_;  // once it stops
  bool last_added_ = false;
  bool working_ = false;  // in what later() was given
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  std::vector<Waiting> sending_;
};

}  // namespace trainyard::serve

// One thread's share of the connections.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "serve/http/http_session.h"

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
  // From any thread: ends connections after their request under way, and run() after the last one
  // or when the time is up.
  void stop(std::chrono::milliseconds most);

  void respond(std::shared_ptr<HttpSession> session, std::function<HttpResponse()> make) override;
  void later(std::function<void()> work) override;

 private:
  struct Waiting {
    std::shared_ptr<HttpSession> session;
    std::function<HttpResponse()> make;
  };

  void send();
  void sweep_later();
  void remove_ended();
  void begin_stop(std::chrono::milliseconds most);
  void poll_end();

  boost::asio::io_context io_{1};
  boost::asio::steady_timer sweep_;
  boost::asio::steady_timer limit_;
  std::atomic<std::thread::id> thread_;
  std::vector<std::weak_ptr<HttpSession>> sessions_;
  bool stopping_ = false;
  bool working_ = false;  // in what later() was given
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  std::vector<Waiting> sending_;
};

}  // namespace trainyard::serve

#include "serve/http/http_loop.h"

#include <boost/asio/post.hpp>

namespace trainyard::serve {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kSweep{250};
constexpr std::chrono::milliseconds kEndSweep{5};

}  // namespace

HttpLoop::HttpLoop() : sweep_(io_), limit_(io_) {}

HttpLoop::~HttpLoop() = default;

void HttpLoop::run() {
  thread_ = std::this_thread::get_id();
  sweep_later();
  io_.run();
}

void HttpLoop::add(std::shared_ptr<HttpSession> session) {
  asio::post(io_, [this, session = std::move(session)] {
    sessions_.push_back(session);
    session->start();
  });
}

void HttpLoop::stop(std::chrono::milliseconds most) {
  asio::post(io_, [this, most] { begin_stop(most); });
}

// The thread is woken once for all that wait: a batch ends many requests at once.
void HttpLoop::respond(std::shared_ptr<HttpSession> session, std::function<HttpResponse()> make) {
  if (thread_.load(std::memory_order_relaxed) == std::this_thread::get_id() && working_) {
    return session->respond(make());
  }
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = waiting_.empty();
    waiting_.push_back({std::move(session), std::move(make)});
  }
  if (first) asio::post(io_, [this] { send(); });
}

void HttpLoop::send() {
  {
    const std::lock_guard lock(mutex_);
    sending_.swap(waiting_);
  }
  for (const Waiting& one : sending_) one.session->respond(one.make());
  sending_.clear();
}

// Asio runs it after all that was ready when it was posted, and has looked for more before.
void HttpLoop::later(std::function<void()> work) {
  asio::post(io_, [this, work = std::move(work)] {
    working_ = true;
    work();
    working_ = false;
  });
}

void HttpLoop::remove_ended() {
  std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
}

void HttpLoop::sweep_later() {
  sweep_.expires_after(kSweep);
  sweep_.async_wait([this](const boost::system::error_code& problem) {
    if (problem) return;
    const Clock::time_point now = Clock::now();
    for (const auto& weak : sessions_) {
      if (const auto session = weak.lock()) session->check_deadline(now);
    }
    remove_ended();
    sweep_later();
  });
}

void HttpLoop::begin_stop(std::chrono::milliseconds most) {
  if (stopping_) return;
  stopping_ = true;
  for (const auto& weak : sessions_) {
    if (const auto session = weak.lock()) session->finish_soon();
  }
  limit_.expires_after(most);
  limit_.async_wait([this](const boost::system::error_code& problem) {
    if (!problem) io_.stop();
  });
  poll_end();
}

void HttpLoop::poll_end() {
  sweep_.expires_after(kEndSweep);
  sweep_.async_wait([this](const boost::system::error_code&) {
    remove_ended();
    if (sessions_.empty()) return io_.stop();
    poll_end();
  });
}

}  // namespace trainyard::serve

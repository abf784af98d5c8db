#include "http/http_loop.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "http/events.h"

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
  // Asio may run on after what a handler has thrown; whose connection it was has ended with it.
  for (bool ended = false; !ended;) {
    try {
      io_.run();
      ended = true;
    } catch (const std::exception& error) {
      say_event(fmt::format("a connection was given up: {}", error.what()));
    }
  }
}

void HttpLoop::add(std::shared_ptr<HttpSession> session) {
  asio::post(io_, [this, session = std::move(session)] {
    sessions_.push_back(session);
    if (idle_until_) session->finish_soon(*idle_until_);
    session->start();
  });
}

void HttpLoop::stop(std::chrono::milliseconds most, std::chrono::milliseconds idle) {
  asio::post(io_, [this, most, idle] { begin_stop(most, idle); });
}

void HttpLoop::add_no_more() {
  asio::post(io_, [this] { last_added_ = true; });
}

// The thread is woken once for all that wait: a batch ends many requests at once.
void HttpLoop::respond(std::shared_ptr<HttpSession> session, std::function<HttpResponse()> make) {
  if (thread_.load(std::memory_order_relaxed) == std::this_thread::get_id() && working_) {
    return answer({std::move(session), std::move(make)});
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
  for (const Waiting& one : sending_) answer(one);
  sending_.clear();
}

void HttpLoop::answer(const Waiting& one) {
  try {
    try {
      one.session->respond(one.make());
    } catch (const std::exception&) {
      one.session->respond(error_response(Status::kUnavailable, "out of memory"));
    }
  } catch (const std::exception&) {
    one.session->give_up();
  }
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
    check_deadlines();
    remove_ended();
    sweep_later();
  });
}

void HttpLoop::check_deadlines() {
  const Clock::time_point now = Clock::now();
  for (const auto& weak : sessions_) {
    if (const auto session = weak.lock()) session->check_deadline(now);
  }
}

void HttpLoop::begin_stop(std::chrono::milliseconds most, std::chrono::milliseconds idle) {
  if (idle_until_) return;
  idle_until_ = Clock::now() + std::min(most, idle);
  for (const auto& weak : sessions_) {
    if (const auto session = weak.lock()) session->finish_soon(*idle_until_);
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
    check_deadlines();
    remove_ended();
    if (sessions_.empty() && last_added_) return io_.stop();
    poll_end();
  });
}

}  // namespace trainyard::serve

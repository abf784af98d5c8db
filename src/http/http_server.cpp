#include "http/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <linux/filter.h>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "engine/kernels/parallel/parallel.h"
#include "http/events.h"
#include "http/http_session.h"
#include "http/wire.h"

namespace trainyard::serve {
namespace {

// `Stream` reads and writes; the socket below it is what is stopped and closed.
template <typename Stream>
class StreamWire : public Wire {
 public:
  template <typename... Args>
  explicit StreamWire(Args&&... args) : stream_(std::forward<Args>(args)...) {}

  void read_some(char* data, size_t size, std::shared_ptr<WireUser> user) override {
    stream_.async_read_some(
        boost::asio::buffer(data, size),
        [user = std::move(user)](const boost::system::error_code& problem, size_t bytes) {
          user->on_read(problem ? 0 : bytes);
        });
  }

  void write(std::string_view first, std::string_view second,
             std::shared_ptr<WireUser> user) override {
    const std::array<boost::asio::const_buffer, 2> buffers = {
        boost::asio::buffer(first.data(), first.size()),
        boost::asio::buffer(second.data(), second.size())};
    boost::asio::async_write(stream_, buffers,
                             [user = std::move(user)](const boost::system::error_code& problem,
                                                      size_t) { user->on_written(!problem); });
  }

  bool has_input() override {
    boost::system::error_code problem;
    return stream_.lowest_layer().available(problem) > 0;
  }

  void finish_writing() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }

  void stop() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().cancel(ignored);
  }

  void close() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.lowest_layer().close(ignored);
  }

 protected:
  Stream stream_;
};

class TcpWire final : public StreamWire<boost::asio::ip::tcp::socket> {
 public:
  using StreamWire::StreamWire;
  void open(std::shared_ptr<WireUser> user) override {
    boost::asio::post(stream_.get_executor(), [user = std::move(user)] { user->on_open(true); });
  }
};

class TlsWire final : public StreamWire<boost::asio::ssl::stream<boost::asio::ip::tcp::socket>> {
 public:
  using StreamWire::StreamWire;
  void open(std::shared_ptr<WireUser> user) override {
    stream_.async_handshake(boost::asio::ssl::stream_base::server,
                            [user = std::move(user)](const boost::system::error_code& problem) {
                              user->on_open(!problem);
                            });
  }
};

// One thread's share of the connections.
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

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kSweep{250};
constexpr std::chrono::milliseconds kEndSweep{5};

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

namespace asio = boost::asio;
using asio::ip::tcp;
using Problem = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptAgain{250};
constexpr int kMostThreads = 8;
// For connections that clients were opening when the server was told to end.
constexpr std::chrono::milliseconds kLastConnections{100};

// A client's share of the connections is counted by its address; of IPv6 by the network that one
// customer has.
std::string client_of(const asio::ip::address& address) {
  if (!address.is_v6()) return address.to_string();
  const asio::ip::address_v6 six = address.to_v6();
  if (six.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, six).to_string();
  const auto bytes = six.to_bytes();
  return {bytes.begin(), bytes.begin() + 8};
}

// A socket that is closed while it listens resets connections that wait to be accepted, with the
// requests that came on them. So first nobody new is let in: attempts to connect are dropped, and
// repeated by the client a second later, when it learns that nobody listens. Where that cannot be
// had, a few may be reset.
void turn_away(tcp::acceptor& acceptor) {
  constexpr uint32_t kFlags = 13;  // in the header of TCP
  constexpr uint32_t kSyn = 2;
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlags),
                        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kSyn, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffffffff)};
  const sock_fprog program{.len = std::size(code), .filter = code};
  setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

std::shared_ptr<asio::ssl::context> make_tls(const TlsFiles& files) {
  try {
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                     asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                     asio::ssl::context::no_tlsv1_1);
    tls->use_certificate_chain_file(files.certificate);
    tls->use_private_key_file(files.key, asio::ssl::context::pem);
    return tls;
  } catch (const boost::system::system_error& error) {
    throw_error(
        "`tls_certificate` {} and `tls_key` {}: {}; expected PEM files that belong "
        "together",
        files.certificate, files.key, error.what());
  }
}

}  // namespace

// The first thread accepts, and deals connections out in turn.
struct HttpServer::Impl {
  Impl(HttpOptions given, HttpHandler& answers)
      : options(std::move(given)),
        handler(answers),
        loops(threads()),
        acceptor(loops[0].io()),
        signals(loops[0].io()) {
    listen();
    if (!options.tls.certificate.empty()) tls = make_tls(options.tls);
  }

  size_t threads() const {
    const int wanted = options.threads > 0 ? options.threads : kernels::available_cores();
    return static_cast<size_t>(std::clamp(wanted, 1, kMostThreads));
  }

  void listen() {
    Problem problem;
    const auto address = asio::ip::make_address(options.host, problem);
    TY_REQUIRE(!problem, "`host` {}: not an address; expected one as 127.0.0.1 or ::1",
               options.host);
    const tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol());
    // A server that restarts may bind while connections of the last one are in TIME_WAIT.
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(endpoint, problem);
    if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
    if (problem) {
      throw_failure("{} port {}: {}; another `port` may be free", options.host, options.port,
                    problem.message());
    }
    port = acceptor.local_endpoint().port();
  }

  // On the thread of loops[0], like all that touches `next`, `acceptor` and `stopping`; none of
  // them needs a lock.
  void accept() {
    HttpLoop& loop = loops[next++ % running];
    acceptor.async_accept(loop.io(), [this, &loop](const Problem& problem, tcp::socket socket) {
      if (closed || problem == asio::error::operation_aborted) return;
      if (problem) {
        // Out of descriptors, most likely: those in use will come back.
        retry_accept();
        return;
      }
      try {
        add(std::move(socket), loop);
      } catch (const std::exception& error) {
        // One client less; the next may find memory again.
        say_event(fmt::format("a connection was not taken: {}", error.what()));
      }
      accept();
    });
  }

  void retry_accept() {
    auto timer = std::make_shared<asio::steady_timer>(loops[0].io(), kAcceptAgain);
    timer->async_wait([this, timer](const Problem&) {
      if (!closed) accept();
    });
  }

  void add(tcp::socket socket, HttpLoop& loop) {
    Problem problem;
    const tcp::endpoint peer = socket.remote_endpoint(problem);
    // The client is gone already.
    if (problem) return;
    socket.set_option(tcp::no_delay(true), problem);
    std::unique_ptr<Wire> wire;
    if (tls == nullptr) {
      wire = std::make_unique<TcpWire>(std::move(socket));
    } else {
      wire = std::make_unique<TlsWire>(std::move(socket), *tls);
    }
    // A session without a seat answers that the server is full and closes.
    auto session =
        std::make_shared<HttpSession>(std::move(wire), peer.address().to_string(), handler,
                                      options.limits, loop, seats.take(client_of(peer.address())));
    loop.add(std::move(session));
  }

  // With as many threads as can be had: one will do.
  void run() {
    std::vector<std::thread> others;
    try {
      for (; running < loops.size(); ++running) {
        others.emplace_back([&loop = loops[running]] { loop.run(); });
      }
    } catch (const std::system_error& error) {
      say_event(fmt::format("{} instead of {} threads serve connections: {}", running, loops.size(),
                            error.what()));
    }
    accept();
    loops[0].run();
    for (std::thread& other : others) other.join();
  }

  // Called once or more; only the first call counts.
  void begin_stop(std::chrono::milliseconds most) {
    if (stopping) return;
    stopping = true;
    turn_away(acceptor);
    for (HttpLoop& loop : loops) loop.stop(most, options.limits.last_wait);
    last.expires_after(std::min(most, kLastConnections));
    last.async_wait([this](const Problem&) {
      closed = true;
      Problem ignored;
      acceptor.close(ignored);
      for (HttpLoop& loop : loops) loop.add_no_more();
    });
  }

  void await_signal() {
    signals.async_wait([this](const Problem& problem, int number) {
      if (problem) return;
      if (number == SIGHUP) {
        reload();
      } else if (!stopping) {
        end();
      }
      await_signal();
    });
  }

  HttpOptions options;
  HttpHandler& handler;
  ConnectionSlots seats{options.limits.connections,
                        options.limits.client_connections};  // end with the loops
  std::vector<HttpLoop> loops;
  size_t running = 1;
  size_t next = 0;
  tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::steady_timer last{loops[0].io()};
  std::shared_ptr<asio::ssl::context> tls;  // null: none
  std::function<void()> end;
  std::function<void()> reload;
  uint16_t port = 0;
  bool stopping = false;
  bool closed = false;  // nobody is accepted any more
};

HttpServer::HttpServer(HttpOptions options, HttpHandler& handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const {
  return impl_->port;
}

void HttpServer::on_signals(std::function<void()> end, std::function<void()> reload) {
  impl_->end = std::move(end);
  impl_->reload = std::move(reload);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) impl_->signals.add(number);
  impl_->await_signal();
}

void HttpServer::reload_tls() {
  if (impl_->options.tls.certificate.empty()) return;
  asio::post(impl_->loops[0].io(),
             [this, tls = make_tls(impl_->options.tls)] { impl_->tls = tls; });
}

void HttpServer::run() {
  impl_->run();
}

void HttpServer::stop(std::chrono::milliseconds limit) {
  asio::post(impl_->loops[0].io(), [this, limit] { impl_->begin_stop(limit); });
}

}  // namespace trainyard::serve

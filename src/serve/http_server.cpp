#include "serve/http_server.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/error.h"
#include "serve/http_session.h"

namespace trainyard::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Problem = boost::system::error_code;

constexpr std::chrono::milliseconds kSweep{250};

// `Stream` reads and writes; the socket below it is what is stopped and closed.
template <typename Stream>
class StreamWire : public Wire {
 public:
  template <typename... Args>
  explicit StreamWire(Args&&... args) : stream_(std::forward<Args>(args)...) {}

  void read_some(char* data, size_t size, std::shared_ptr<WireUser> user) override {
    stream_.async_read_some(asio::buffer(data, size),
                            [user = std::move(user)](const Problem& problem, size_t bytes) {
                              user->on_read(problem ? 0 : bytes);
                            });
  }

  void write(std::string_view first, std::string_view second,
             std::shared_ptr<WireUser> user) override {
    const std::array<asio::const_buffer, 2> buffers = {asio::buffer(first.data(), first.size()),
                                                       asio::buffer(second.data(), second.size())};
    asio::async_write(stream_, buffers, [user = std::move(user)](const Problem& problem, size_t) {
      user->on_written(!problem);
    });
  }

  void finish_writing() override {
    Problem ignored;
    stream_.lowest_layer().shutdown(tcp::socket::shutdown_send, ignored);
  }

  void stop() override {
    Problem ignored;
    stream_.lowest_layer().cancel(ignored);
  }

  void close() override {
    Problem ignored;
    stream_.lowest_layer().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.lowest_layer().close(ignored);
  }

 protected:
  Stream stream_;
};

class PlainWire final : public StreamWire<tcp::socket> {
 public:
  using StreamWire::StreamWire;
  void open(std::shared_ptr<WireUser> user) override {
    asio::post(stream_.get_executor(), [user = std::move(user)] { user->on_open(true); });
  }
};

class TlsWire final : public StreamWire<asio::ssl::stream<tcp::socket>> {
 public:
  using StreamWire::StreamWire;
  void open(std::shared_ptr<WireUser> user) override {
    stream_.async_handshake(
        asio::ssl::stream_base::server,
        [user = std::move(user)](const Problem& problem) { user->on_open(!problem); });
  }
};

// Responses on their way to the thread of the sockets, which is woken once for all that wait: a
// batch ends many requests at once.
class Responses {
 public:
  explicit Responses(asio::io_context& io) : io_(io) {}

  // From any thread.
  void add(std::shared_ptr<HttpSession> session, std::function<HttpResponse()> make) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = waiting_.empty();
      waiting_.push_back({std::move(session), std::move(make)});
    }
    if (first) asio::post(io_, [this] { send(); });
  }

 private:
  struct Waiting {
    std::shared_ptr<HttpSession> session;
    std::function<HttpResponse()> make;
  };

  void send() {
    {
      const std::lock_guard lock(mutex_);
      sending_.swap(waiting_);
    }
    for (const Waiting& one : sending_) one.session->respond(one.make());
    sending_.clear();
  }

  asio::io_context& io_;
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  std::vector<Waiting> sending_;  // of the thread of the sockets
};

}  // namespace

struct HttpServer::Impl {
  Impl(HttpOptions given, HttpHandler& answers)
      : options(std::move(given)),
        handler(answers),
        acceptor(io),
        sweep(io),
        limit(io),
        signals(io),
        tls(asio::ssl::context::tls_server) {
    listen();
    if (!options.tls.certificate.empty()) load_tls();
  }

  void listen() {
    Problem problem;
    const auto address = asio::ip::make_address(options.host, problem);
    TY_REQUIRE(!problem, "--host {}: not an address; expected one as 127.0.0.1 or ::1",
               options.host);
    const tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(endpoint, problem);
    if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
    if (problem) {
      throw_failure("{} port {}: {}; another --port may be free", options.host, options.port,
                    problem.message());
    }
    port = acceptor.local_endpoint().port();
  }

  void load_tls() {
    try {
      tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                      asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
      tls.use_certificate_chain_file(options.tls.certificate);
      tls.use_private_key_file(options.tls.key, asio::ssl::context::pem);
    } catch (const boost::system::system_error& error) {
      throw_error(
          "--tls-certificate {} and --tls-key {}: {}; expected PEM files that belong "
          "together",
          options.tls.certificate, options.tls.key, error.what());
    }
  }

  void accept() {
    acceptor.async_accept([this](const Problem& problem, tcp::socket socket) {
      if (stopping || problem == asio::error::operation_aborted) return;
      if (problem) {
        // Out of descriptors, most likely: those in use will come back.
        retry_accept();
        return;
      }
      add(std::move(socket));
      accept();
    });
  }

  void retry_accept() {
    auto timer = std::make_shared<asio::steady_timer>(io, kSweep);
    timer->async_wait([this, timer](const Problem&) {
      if (!stopping) accept();
    });
  }

  void add(tcp::socket socket) {
    Problem problem;
    const tcp::endpoint peer = socket.remote_endpoint(problem);
    if (problem) return;
    socket.set_option(tcp::no_delay(true), problem);
    std::unique_ptr<Wire> wire;
    if (options.tls.certificate.empty()) {
      wire = std::make_unique<PlainWire>(std::move(socket));
    } else {
      wire = std::make_unique<TlsWire>(std::move(socket), tls);
    }
    auto session = std::make_shared<HttpSession>(
        std::move(wire), peer.address().to_string(), handler, options.limits,
        [this](std::shared_ptr<HttpSession> who, std::function<HttpResponse()> make) {
          responses.add(std::move(who), std::move(make));
        });
    if (sessions.size() >= options.limits.connections) remove_ended();
    if (sessions.size() >= options.limits.connections) return session->turn_away();
    sessions.push_back(session);
    count.store(sessions.size(), std::memory_order_relaxed);
    session->start();
  }

  void remove_ended() {
    std::erase_if(sessions, [](const auto& session) { return session.expired(); });
    count.store(sessions.size(), std::memory_order_relaxed);
  }

  void sweep_later() {
    sweep.expires_after(kSweep);
    sweep.async_wait([this](const Problem& problem) {
      if (problem) return;
      const Clock::time_point now = Clock::now();
      for (const auto& weak : sessions) {
        if (const auto session = weak.lock()) session->check_deadline(now);
      }
      remove_ended();
      if (stopping && sessions.empty()) return io.stop();
      sweep_later();
    });
  }

  void begin_stop(std::chrono::milliseconds most) {
    if (stopping) return;
    stopping = true;
    Problem ignored;
    acceptor.close(ignored);
    for (const auto& weak : sessions) {
      if (const auto session = weak.lock()) session->finish_soon();
    }
    limit.expires_after(most);
    limit.async_wait([this](const Problem& problem) {
      if (!problem) io.stop();
    });
    sweep.expires_after(std::chrono::milliseconds(5));
    poll_end();
  }

  void poll_end() {
    sweep.expires_after(std::chrono::milliseconds(5));
    sweep.async_wait([this](const Problem&) {
      remove_ended();
      if (sessions.empty()) return io.stop();
      poll_end();
    });
  }

  HttpOptions options;
  HttpHandler& handler;
  asio::io_context io{1};
  Responses responses{io};
  tcp::acceptor acceptor;
  asio::steady_timer sweep;
  asio::steady_timer limit;
  asio::signal_set signals;
  asio::ssl::context tls;
  uint16_t port = 0;
  std::vector<std::weak_ptr<HttpSession>> sessions;
  std::atomic<size_t> count{0};
  bool stopping = false;
};

HttpServer::HttpServer(HttpOptions options, HttpHandler& handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const {
  return impl_->port;
}

void HttpServer::on_signal(std::function<void()> callback) {
  impl_->signals.add(SIGTERM);
  impl_->signals.add(SIGINT);
  impl_->signals.async_wait([callback = std::move(callback)](const Problem& problem, int) {
    if (!problem) callback();
  });
}

void HttpServer::run() {
  impl_->accept();
  impl_->sweep_later();
  impl_->io.run();
}

void HttpServer::stop(std::chrono::milliseconds limit) {
  asio::post(impl_->io, [this, limit] { impl_->begin_stop(limit); });
}

size_t HttpServer::connections() const {
  return impl_->count.load(std::memory_order_relaxed);
}

}  // namespace trainyard::serve

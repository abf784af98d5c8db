#include "serve/http_server.h"

#include <array>
#include <atomic>
#include <csignal>
#include <set>

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

  void read_some(char* data, size_t size, std::function<void(size_t)> done) override {
    stream_.async_read_some(asio::buffer(data, size),
                            [done = std::move(done)](const Problem& problem, size_t bytes) {
                              done(problem ? 0 : bytes);
                            });
  }

  void write(std::string_view first, std::string_view second,
             std::function<void(bool)> done) override {
    const std::array<asio::const_buffer, 2> buffers = {asio::buffer(first.data(), first.size()),
                                                       asio::buffer(second.data(), second.size())};
    asio::async_write(stream_, buffers,
                      [done = std::move(done)](const Problem& problem, size_t) { done(!problem); });
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
  void open(std::function<void(bool)> done) override {
    asio::post(stream_.get_executor(), [done = std::move(done)] { done(true); });
  }
};

class TlsWire final : public StreamWire<asio::ssl::stream<tcp::socket>> {
 public:
  using StreamWire::StreamWire;
  void open(std::function<void(bool)> done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](const Problem& problem) { done(!problem); });
  }
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
        [this](std::function<void()> work) { asio::post(io, std::move(work)); });
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

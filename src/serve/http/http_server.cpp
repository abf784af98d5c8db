#include "serve/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.h"
#include "kernels/parallel/parallel.h"
#include "serve/http/http_loop.h"
#include "serve/http/stream_wire.h"

namespace trainyard::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Problem = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptAgain{250};
constexpr int kMostThreads = 8;

}  // namespace

// The first thread accepts, and deals connections out in turn.
struct HttpServer::Impl {
  Impl(HttpOptions given, HttpHandler& answers)
      : options(std::move(given)),
        handler(answers),
        loops(threads()),
        acceptor(loops[0].io()),
        signals(loops[0].io()),
        tls(asio::ssl::context::tls_server) {
    listen();
    if (!options.tls.certificate.empty()) load_tls();
  }

  size_t threads() const {
    const int wanted = options.threads > 0 ? options.threads : kernels::available_cores();
    return static_cast<size_t>(std::clamp(wanted, 1, kMostThreads));
  }

  void listen() {
    Problem problem;
    const auto address = asio::ip::make_address(options.host, problem);
    TY_REQUIRE(!problem, "--host {}: not an address; expected one as 127.0.0.1 or ::1",
               options.host);
    const tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol());
    // A server that restarts may bind while connections of the last one are in TIME_WAIT.
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

  // On the thread of loops[0], like all that touches `next`, `acceptor` and `stopping`; none of
  // them needs a lock.
  void accept() {
    HttpLoop& loop = loops[next++ % loops.size()];
    acceptor.async_accept(loop.io(), [this, &loop](const Problem& problem, tcp::socket socket) {
      if (stopping || problem == asio::error::operation_aborted) return;
      if (problem) {
        // Out of descriptors, most likely: those in use will come back.
        retry_accept();
        return;
      }
      add(std::move(socket), loop);
      accept();
    });
  }

  void retry_accept() {
    auto timer = std::make_shared<asio::steady_timer>(loops[0].io(), kAcceptAgain);
    timer->async_wait([this, timer](const Problem&) {
      if (!stopping) accept();
    });
  }

  void add(tcp::socket socket, HttpLoop& loop) {
    Problem problem;
    const tcp::endpoint peer = socket.remote_endpoint(problem);
    // The client is gone already.
    if (problem) return;
    socket.set_option(tcp::no_delay(true), problem);
    std::unique_ptr<Wire> wire;
    if (options.tls.certificate.empty()) {
      wire = std::make_unique<PlainWire>(std::move(socket));
    } else {
      wire = std::make_unique<TlsWire>(std::move(socket), tls);
    }
    // A session without a seat answers that the server is full and closes.
    const bool full = taken >= options.limits.connections;
    auto session = std::make_shared<HttpSession>(std::move(wire), peer.address().to_string(),
                                                 handler, options.limits, loop,
                                                 full ? nullptr : std::make_unique<Seat>(taken));
    loop.add(std::move(session));
  }

  void run() {
    accept();
    std::vector<std::thread> others;
    for (size_t i = 1; i < loops.size(); ++i) {
      others.emplace_back([&loop = loops[i]] { loop.run(); });
    }
    loops[0].run();
    for (std::thread& other : others) other.join();
  }

  // Called once or more; only the first call counts.
  void begin_stop(std::chrono::milliseconds most) {
    if (stopping) return;
    stopping = true;
    Problem ignored;
    acceptor.close(ignored);
    for (HttpLoop& loop : loops) loop.stop(most);
  }

  HttpOptions options;
  HttpHandler& handler;
  std::atomic<size_t> taken{0};  // seats, which end with the loops
  std::vector<HttpLoop> loops;
  size_t next = 0;
  tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::ssl::context tls;
  uint16_t port = 0;
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
  // Waits for the first signal only; the set stays registered, so later ones are swallowed.
  impl_->signals.async_wait([callback = std::move(callback)](const Problem& problem, int) {
    if (!problem) callback();
  });
}

void HttpServer::run() {
  impl_->run();
}

void HttpServer::stop(std::chrono::milliseconds limit) {
  asio::post(impl_->loops[0].io(), [this, limit] { impl_->begin_stop(limit); });
}

}  // namespace trainyard::serve

#include "http/http_server.h"

#include <algorithm>
#include <csignal>
#include <linux/filter.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.h"
#include "engine/kernels/parallel/parallel.h"
#include "http/events.h"
#include "http/http_loop.h"
#include "http/stream_wire.h"

namespace trainyard::serve {
namespace {

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
        "--tls-certificate {} and --tls-key {}: {}; expected PEM files that belong "
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
      wire = std::make_unique<PlainWire>(std::move(socket));
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
  Seats seats{options.limits.connections, options.limits.client_connections};  // end with the loops
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

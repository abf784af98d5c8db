#include "http/download.h"

#include <chrono>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard::serve {
namespace {

namespace fs = std::filesystem;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;
using asio::ip::tcp;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;
using Code = boost::system::error_code;

constexpr int kMostRedirects = 5;
// A connection that breaks is opened again as long as each brings something.
constexpr int kMostTries = 50;
constexpr std::chrono::seconds kPatience{30};
constexpr size_t kChunkBytes = size_t{256} << 10;
// Above any public set here; a server that never ends is given up.
constexpr uint64_t kMostBytes = uint64_t{1} << 40;

struct Address {
  bool tls = false;
  std::string host;
  std::string port;
  std::string target;

  // As a request names it: without the usual port.
  std::string name() const {
    const std::string bracketed = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return port == (tls ? "443" : "80") ? bracketed : bracketed + ":" + port;
  }
  std::string origin() const { return (tls ? "https://" : "http://") + name(); }
};

Address parse_address(const std::string& url) {
  Address address;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    address.tls = true;
  } else {
    TY_REQUIRE(rest.starts_with("http://"), "'{}' begins neither with http:// nor with https://",
               url);
  }
  rest.remove_prefix(address.tls ? 8 : 7);
  const size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, slash);
  address.target = std::string(rest.substr(slash));
  if (!address.target.starts_with('/')) address.target.insert(0, "/");
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && authority.back() != ']';
  address.port = has_port ? std::string(authority.substr(colon + 1)) : address.tls ? "443" : "80";
  if (has_port) authority = authority.substr(0, colon);
  if (authority.starts_with('[') && authority.ends_with(']')) {
    authority = authority.substr(1, authority.size() - 2);
  }
  address.host = std::string(authority);
  const bool plain = url.find_first_of(" \r\n\t@") == std::string::npos;
  TY_REQUIRE(!address.host.empty() && !address.port.empty() && plain,
             "'{}' is no URL such as https://host/file", url);
  return address;
}

// What one exchange left: where to ask instead, or whether the file is whole.
struct Exchange {
  std::string redirect = {};
  bool whole = false;
  bool absent = false;
  bool start_over = false;  // the part is of no use any more
};

class Transfer {
 public:
  Transfer(const fs::path& file, const DownloadProgress& progress)
      : part_(file.string() + ".part"), tag_(file.string() + ".part.tag"), progress_(progress) {}

  const fs::path& part() const { return part_; }
  int64_t have() const {
    return fs::is_regular_file(part_) ? static_cast<int64_t>(fs::file_size(part_)) : 0;
  }
  void forget() const {
    fs::remove(part_);
    fs::remove(tag_);
  }

  void finish(const fs::path& file) const {
    std::error_code problem;
    if (!fs::exists(part_)) AppendFile{part_};  // a file of no bytes
    fs::rename(part_, file, problem);
    if (problem) throw_failure("{}: {}", file.string(), problem.message());
    fs::remove(tag_);
  }

  template <typename Stream>
  Exchange exchange(asio::io_context& loop, Stream& stream, const Address& address) {
    beast_http::request<beast_http::empty_body> request(beast_http::verb::get, address.target, 11);
    request.set(beast_http::field::host, address.name());
    request.set(beast_http::field::user_agent, "trainyard");
    request.set(beast_http::field::accept, "*/*");
    request.set(beast_http::field::connection, "close");
    const int64_t have = this->have();
    if (have > 0) {
      request.set(beast_http::field::range, fmt::format("bytes={}-", have));
      if (fs::is_regular_file(tag_)) request.set(beast_http::field::if_range, read_file(tag_));
    }
    wait(loop, stream,
         [&](auto done) { beast_http::async_write(stream, request, std::move(done)); });
    beast::flat_buffer buffer;
    beast_http::response_parser<beast_http::buffer_body> parser;
    parser.body_limit(kMostBytes);
    parser.get().body().data = nullptr;
    wait(loop, stream, [&](auto done) {
      beast_http::async_read_header(stream, buffer, parser, std::move(done));
    });
    const auto& head = parser.get();
    const int status = head.result_int();
    if (status >= 300 && status < 400 && head.count(beast_http::field::location) > 0) {
      return {.redirect = std::string(head[beast_http::field::location])};
    }
    if (status == 404 || status == 410) return {.absent = true};
    if (status == 416) return {.start_over = true};
    if (status != 200 && status != 206) {
      throw_failure("{} answers {} {} for {}", address.host, status, std::string(head.reason()),
                    address.target);
    }
    if (status == 206 && !continues(std::string(head[beast_http::field::content_range]), have)) {
      return {.start_over = true};
    }
    if (status == 200) begin(head);
    receive(loop, stream, buffer, parser);
    return {.whole = true};
  }

 private:
  // "bytes 100-199/200"
  static bool continues(const std::string& range, int64_t have) {
    return range.starts_with(fmt::format("bytes {}-", have));
  }

  // From the first byte: of what, for a later call. Weak tags do not promise equal bytes.
  template <typename Head>
  void begin(const Head& head) const {
    forget();
    std::string tag(head[beast_http::field::etag]);
    if (tag.empty() || tag.starts_with("W/"))
      tag = std::string(head[beast_http::field::last_modified]);
    if (!tag.empty()) write_file(tag_, tag);
  }

  template <typename Stream, typename Parser>
  void receive(asio::io_context& loop, Stream& stream, beast::flat_buffer& buffer, Parser& parser) {
    AppendFile out(part_);
    int64_t done = have();
    const auto length = parser.content_length();
    const int64_t all = length ? done + static_cast<int64_t>(*length) : 0;
    std::vector<char> chunk(kChunkBytes);
    while (!parser.is_done()) {
      parser.get().body().data = chunk.data();
      parser.get().body().size = chunk.size();
      const Code problem = try_wait(loop, stream, [&](auto end) {
        beast_http::async_read_some(stream, buffer, parser, std::move(end));
      });
      // What came before a connection broke is kept.
      const size_t got = chunk.size() - parser.get().body().size;
      if (got > 0) out.append({chunk.data(), got});
      done += static_cast<int64_t>(got);
      if (progress_) progress_(done, all);
      if (problem) throw boost::system::system_error(problem);
    }
  }

  template <typename Stream, typename Start>
  static Code try_wait(asio::io_context& loop, Stream& stream, Start start) {
    Code result = asio::error::would_block;
    beast::get_lowest_layer(stream).expires_after(kPatience);
    start([&](const Code& problem, auto&&...) { result = problem; });
    loop.restart();
    loop.run();
    return result == beast_http::error::need_buffer ? Code{} : result;
  }

  template <typename Stream, typename Start>
  static void wait(asio::io_context& loop, Stream& stream, Start start) {
    if (const Code problem = try_wait(loop, stream, start)) {
      throw boost::system::system_error(problem);
    }
  }

 public:
  template <typename Stream>
  static void connect(asio::io_context& loop, Stream& stream, const Address& address) {
    tcp::resolver resolver(loop);
    const auto places = resolver.resolve(address.host, address.port);
    wait(loop, stream, [&](auto done) {
      beast::get_lowest_layer(stream).async_connect(places, std::move(done));
    });
  }

  static Exchange ask(const Address& address, Transfer& transfer) {
    asio::io_context loop;
    if (!address.tls) {
      beast::tcp_stream stream(loop);
      connect(loop, stream, address);
      return transfer.exchange(loop, stream, address);
    }
    asio::ssl::context tls(asio::ssl::context::tls_client);
    tls.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
    tls.set_default_verify_paths();
    TlsStream stream(loop, tls);
    stream.set_verify_mode(asio::ssl::verify_peer);
    stream.set_verify_callback(asio::ssl::host_name_verification(address.host));
    SSL_set_tlsext_host_name(stream.native_handle(), address.host.c_str());
    connect(loop, stream, address);
    wait(loop, stream, [&](auto done) {
      stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
    });
    return transfer.exchange(loop, stream, address);
  }

 private:
  fs::path part_;
  fs::path tag_;
  const DownloadProgress& progress_;
};

// An address of the answer of another: whole, or a path on the same host.
Address redirected(const Address& from, const std::string& location) {
  Address to = parse_address(location.starts_with('/') ? from.origin() + location : location);
  if (from.tls && !to.tls) {
    throw_failure("{} sends to {}, which is not encrypted", from.host, location);
  }
  return to;
}

}  // namespace

bool download(const std::string& url, const fs::path& file, const DownloadProgress& progress) {
  Address address = parse_address(url);
  Transfer transfer(file, progress);
  int redirects = 0;
  for (int tries = 1;; ++tries) {
    const int64_t before = transfer.have();
    try {
      const Exchange outcome = Transfer::ask(address, transfer);
      if (outcome.absent) return false;
      if (outcome.whole) {
        transfer.finish(file);
        return true;
      }
      if (outcome.start_over) transfer.forget();
      if (outcome.redirect.empty()) {
        if (tries < kMostTries && outcome.start_over && before > 0) continue;
        throw_failure("{} does not send {}", address.host, address.target);
      }
      if (++redirects > kMostRedirects) throw_failure("{} redirects without end", address.host);
      address = redirected(address, outcome.redirect);
    } catch (const boost::system::system_error& error) {
      const int64_t have = transfer.have();
      if (have > before && tries < kMostTries) continue;
      throw_failure("{}: {}{}", address.host, error.code().message(),
                    have > 0 ? fmt::format("; {} bytes came and are kept", with_commas(have)) : "");
    }
  }
}

}  // namespace trainyard::serve

#include "http/http_session.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/compile.h>
#include <fmt/format.h>

#include "http/request_parser.h"

namespace trainyard::serve {
namespace {

namespace http = boost::beast::http;

constexpr size_t kReadBytes = 4 << 10;  // what an idle connection keeps
constexpr size_t kOnePiece = 16 << 10;
constexpr std::chrono::seconds kLinger{2};
// Of an answer, written at once: a client that takes nothing is noticed between them.
constexpr size_t kLargestWrite = 256 << 10;
// A body of so many bytes is read before it is asked whether anybody wants it: most come with their
// header.
constexpr size_t kReadUnasked = 16 << 10;

// Of the body's JSON, before its tensors; 0: they are first, or there are none.
size_t json_bytes(const RequestHead& head) {
  constexpr std::string_view kName = "Inference-Header-Content-Length";
  for (const auto& [name, value] : head.field_pieces) {
    const std::string_view found = head.view(name);
    if (!boost::beast::iequals({found.data(), found.size()}, {kName.data(), kName.size()})) {
      continue;
    }
    size_t bytes = 0;
    const std::string_view text = head.view(value);
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    return bytes;
  }
  return 0;
}

}  // namespace

struct HttpSession::Parser {
  RequestHead head;
  RequestHead::Fields fields;  // as the handler sees them
  std::optional<RequestParser> parser;
};

HttpSession::HttpSession(std::unique_ptr<Wire> wire, std::string peer, HttpHandler& handler,
                         const HttpLimits& limits, SocketThread& thread,
                         std::unique_ptr<ConnectionSlot> seat)
    : wire_(std::move(wire)),
      peer_(std::move(peer)),
      handler_(handler),
      limits_(limits),
      thread_(thread),
      seat_(std::move(seat)),
      parser_(std::make_unique<Parser>()),
      body_(limits.memory) {}

HttpSession::~HttpSession() = default;

template <typename F>
void HttpSession::guard(F&& work) {
  try {
    try {
      work();
    } catch (const RequestError& error) {
      refuse_and_close(error.status(), error.what());
    } catch (const std::bad_alloc&) {
      refuse_and_close(Status::kUnavailable, "out of memory");
    }
  } catch (...) {
    close();  // there is not even memory to say so
  }
}

void HttpSession::set_state(State state, std::chrono::seconds limit) {
  state_ = state;
  deadline_ = limit.count() > 0 ? Clock::now() + limit : Clock::time_point::max();
  if (state == State::kIdle && finish_by_) deadline_ = std::min(deadline_, *finish_by_);
}

bool HttpSession::is_too_slow(Clock::time_point now) const {
  const double after_grace = std::chrono::duration<double>(now - began_ - limits_.grace).count();
  if (after_grace <= 0) return false;
  size_t bytes = 0;
  if (state_ == State::kBody) {
    bytes = body_.is_open() ? body_.filled() : parser_->head.chunks.size();
  } else if (state_ == State::kWriting) {
    bytes = written_;
  } else {
    return false;
  }
  return static_cast<double>(bytes) < after_grace * static_cast<double>(limits_.bytes_per_s);
}

void HttpSession::start() {
  set_state(State::kOpening, limits_.header);
  wire_->open(shared_from_this());
}

void HttpSession::on_open(bool ok) {
  guard([&] {
    if (!ok) return close();
    if (seat_ == nullptr) {
      return refuse_and_close(Status::kUnavailable, "too many connections; try again later");
    }
    // Who has asked nothing yet is not waited for as long as a client between requests.
    set_state(State::kIdle, std::min(limits_.idle, limits_.header));
    parse();
  });
}

void HttpSession::check_deadline(Clock::time_point now) {
  if (state_ == State::kClosed || state_ == State::kHandling) return;
  if (now < deadline_ && !is_too_slow(now)) return;
  // A request that has come just now is answered.
  if (state_ == State::kIdle && finish_by_ && wire_->has_input()) return;
  deadline_ = Clock::time_point::max();
  if (state_ == State::kHeader || state_ == State::kBody) {
    timed_out_ = true;  // what is being read ends, and is answered
    wire_->stop();
  } else {
    close();
  }
}

void HttpSession::finish_soon(Clock::time_point idle_until) {
  finish_by_ = idle_until;
  if (state_ == State::kIdle) deadline_ = std::min(deadline_, idle_until);
}

void HttpSession::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  wire_->close();
}

void HttpSession::read_more() {
  in_filled_ -= at_;
  std::memmove(in_.data(), in_.data() + at_, in_filled_);
  at_ = 0;
  if (in_.size() < in_filled_ + kReadBytes) in_.resize(in_filled_ + kReadBytes);
  wire_->read_some(in_.data() + in_filled_, kReadBytes, shared_from_this());
}

void HttpSession::on_read(size_t bytes) {
  guard([&] { take_read(bytes); });
}

void HttpSession::take_read(size_t bytes) {
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) {
    if (bytes == 0) return close();
    return wire_->read_some(in_.data(), in_.size(), shared_from_this());
  }
  if (timed_out_) {
    return refuse_and_close(Status::kRequestTimeout, state_ == State::kBody
                                                         ? "the body did not arrive in time"
                                                         : "the request did not arrive in time");
  }
  if (bytes == 0) return close();
  if (body_.is_open()) {
    body_.add(bytes);
    return read_body();
  }
  in_filled_ += bytes;
  if (state_ == State::kBody) return read_chunks();
  parse();
}

// The header of the next request, from what is there.
void HttpSession::parse() {
  // An empty line before a request is no part of it (RFC 9112, 2.2).
  while (!parser_->parser && at_ < in_filled_ && (in_[at_] == '\r' || in_[at_] == '\n')) ++at_;
  if (at_ == in_filled_) return read_more();
  if (!parser_->parser) {
    parser_->parser.emplace(parser_->head);
    parser_->parser->header_limit(static_cast<uint32_t>(limits_.header_bytes));
    parser_->parser->body_limit(boost::none);
    set_state(State::kHeader, limits_.header);
    arrived_ = Clock::now();
  }
  boost::system::error_code problem;
  at_ += parser_->parser->put(boost::asio::buffer(in_.data() + at_, in_filled_ - at_), problem);
  if (problem == http::error::need_more) return read_more();
  if (problem == http::error::header_limit) {
    return refuse_and_close(
        Status::kHeadersTooLarge,
        fmt::format("the header is larger than {} bytes", limits_.header_bytes));
  }
  if (problem) {
    return refuse_and_close(Status::kBadRequest, "not an HTTP request: " + problem.message());
  }
  on_header();
}

// True if the request was answered already.
bool HttpSession::refuse_header() {
  if (const std::string_view problem = parser_->head.ambiguity(); !problem.empty()) {
    refuse_and_close(Status::kBadRequest, fmt::format("not an HTTP request: {}", problem));
    return true;
  }
  const boost::optional<uint64_t> length = parser_->parser->content_length();
  if (length && *length > limits_.body_bytes) {
    HttpRequest request = request_head();
    const bool is_json = request.header("Content-Type").starts_with("application/json");
    parser_->fields = std::move(request.headers);
    refuse_and_close(
        Status::kTooLarge,
        fmt::format("request {}size of {} bytes exceeds the maximum allowed input size of {} bytes",
                    is_json ? "JSON " : "", *length, limits_.body_bytes));
    return true;
  }
  const std::string_view expect = parser_->head.expect();
  if (!expect.empty() && !boost::beast::iequals({expect.data(), expect.size()}, "100-continue")) {
    refuse_and_close(Status::kBadRequest, "Expect must be 100-continue");
    return true;
  }
  return false;
}

// Valid until the next request is read; without a body.
HttpRequest HttpSession::request_head() {
  HttpRequest request{.method = parser_->head.method(),
                      .target = parser_->head.target(),
                      .host = parser_->head.host(),
                      .headers = std::move(parser_->fields),
                      .body = {},
                      .peer = peer_,
                      .arrived = arrived_,
                      .thread = &thread_};
  parser_->head.fields(request.headers);
  return request;
}

// The same for a body that nobody would look at.
bool HttpSession::refuse_body() {
  HttpRequest request = request_head();
  std::optional<HttpResponse> refusal = handler_.refuse_early(request);
  parser_->fields = std::move(request.headers);
  if (!refusal) return false;
  keep_alive_ = false;
  refused_ = true;
  respond(std::move(*refusal));
  return true;
}

void HttpSession::on_header() {
  const RequestParser& parser = *parser_->parser;
  keep_alive_ = parser.keep_alive();
  if (refuse_header()) return;
  const uint64_t length = parser.content_length().value_or(0);
  const bool expects = !parser_->head.expect().empty() && parser_->head.version >= 11;
  const bool has_body = parser.chunked() || length > 0;
  const bool long_body = parser.chunked() || length > kReadUnasked;
  if (has_body && (expects || long_body) && refuse_body()) return;
  if (has_body && expects) {
    head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    state_ = State::kContinuing;
    return wire_->write(head_, {}, shared_from_this());
  }
  begin_body();
}

void HttpSession::begin_body() {
  RequestParser& parser = *parser_->parser;
  began_ = Clock::now();
  if (parser.chunked()) {
    parser.body_limit(limits_.body_bytes);
    set_state(State::kBody, limits_.body);
    return read_chunks();
  }
  const size_t size = parser.content_length().value_or(0);
  if (size == 0) return on_body();
  set_state(State::kBody, limits_.body);
  body_.begin(size, json_bytes(parser_->head));
  while (at_ < in_filled_ && !body_.is_complete()) {
    const std::span<char> room = body_.room();
    const size_t here = std::min(room.size(), in_filled_ - at_);
    std::memcpy(room.data(), in_.data() + at_, here);
    at_ += here;
    body_.add(here);
  }
  read_body();
}

void HttpSession::read_body() {
  if (body_.is_complete()) return on_body();
  const std::span<char> room = body_.room();
  wire_->read_some(room.data(), room.size(), shared_from_this());
}

// True if the request was answered already: the chunks are wrong, or more than their content is
// long. A line or the fields behind the last chunk must fit where a header would.
bool HttpSession::refuse_chunks(const boost::system::error_code& problem) {
  if (problem == http::error::body_limit) {
    refuse_and_close(Status::kTooLarge,
                     fmt::format("the body has more than {} bytes", limits_.body_bytes));
    return true;
  }
  if (problem && problem != http::error::need_more) {
    refuse_and_close(Status::kBadRequest, "the chunks are wrong: " + problem.message());
    return true;
  }
  if (parser_->head.extension_bytes > limits_.header_bytes ||
      in_filled_ - at_ > limits_.header_bytes) {
    refuse_and_close(Status::kBadRequest,
                     fmt::format("extensions or fields of chunks have more than {} bytes",
                                 limits_.header_bytes));
    return true;
  }
  return false;
}

void HttpSession::read_chunks() {
  RequestParser& parser = *parser_->parser;
  boost::system::error_code problem;
  while (at_ < in_filled_ && !parser.is_done()) {
    const size_t used =
        parser.put(boost::asio::buffer(in_.data() + at_, in_filled_ - at_), problem);
    at_ += used;
    if (problem || used == 0) break;
  }
  if (!parser.is_done() && refuse_chunks(problem)) return;
  body_.count_chunks(parser_->head.chunks);
  if (!parser.is_done()) return read_more();
  on_body();
}

void HttpSession::on_body() {
  set_state(State::kHandling, std::chrono::seconds(0));
  const bool chunked = parser_->parser->chunked();
  HttpRequest request = request_head();
  request.has_length = chunked || parser_->parser->content_length().has_value();
  request.body =
      chunked ? body_.take_chunks(std::move(parser_->head.chunks)) : body_.take(request.ahead);
  handler_.handle(request, [self = shared_from_this()](std::function<HttpResponse()> make) {
    self->thread_.respond(self, std::move(make));
  });
  parser_->fields = std::move(request.headers);  // its memory serves the next request
}

void HttpSession::respond(HttpResponse response) {
  if (state_ == State::kClosed) return;
  const bool head_only = parser_->parser && parser_->head.method() == "HEAD";
  // What has come already is answered before the connection ends.
  keep_alive_ = keep_alive_ && (!finish_by_ || at_ < in_filled_);
  parser_->parser.reset();
  body_.clear();
  response_ = std::move(response);
  written_ = 0;
  head_.clear();
  fmt::format_to(std::back_inserter(head_), FMT_COMPILE("HTTP/1.1 {} {}\r\nContent-Length: {}\r\n"),
                 static_cast<int>(response_.status), reason_phrase(response_.status),
                 response_.body.size());
  if (!response_.content_type.empty()) {
    head_ += "Content-Type: ";
    head_ += response_.content_type;
    head_ += "\r\n";
  }
  head_ += response_.headers;
  head_ += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  if (head_only) response_.body.clear();
  began_ = Clock::now();
  set_state(State::kWriting,
            limits_.write + std::chrono::seconds(response_.body.size() / (size_t{1} << 20)));
  // What is small goes out in one piece.
  if (response_.body.size() < kOnePiece) {
    head_ += response_.body;
    response_.body.clear();
  }
  write_more();
}

// The head goes with the first piece of the body.
void HttpSession::write_more() {
  const std::string_view piece = std::string_view(response_.body).substr(written_, kLargestWrite);
  const std::string_view head = written_ == 0 ? std::string_view(head_) : std::string_view();
  written_ += piece.size();
  wire_->write(head, piece, shared_from_this());
}

void HttpSession::on_written(bool ok) {
  guard([&] {
    if (state_ == State::kClosed) return;
    if (state_ == State::kWriting && ok && written_ < response_.body.size()) return write_more();
    if (state_ != State::kContinuing) return on_response_written(ok);
    if (!ok) return close();
    begin_body();
  });
}

void HttpSession::on_response_written(bool ok) {
  response_ = {};
  if (!ok) return close();
  // Who was not told to close before may be sending.
  if ((refused_ || finish_by_) && !keep_alive_ && seat_ != nullptr) return linger();
  if (!keep_alive_) return close();
  set_state(State::kIdle, limits_.idle);
  parse();
}

// A client that is still sending would lose the answer if the connection were closed at once: its
// bytes would be answered with a reset.
void HttpSession::linger() {
  set_state(State::kLingering, kLinger);
  wire_->finish_writing();
  in_.resize(kReadBytes);
  in_filled_ = at_ = 0;
  wire_->read_some(in_.data(), in_.size(), shared_from_this());
}

void HttpSession::refuse_and_close(Status status, std::string_view text) {
  handler_.refused(status, peer_);
  keep_alive_ = false;
  refused_ = true;
  HttpResponse response = error_response(status, text);
  if (status == Status::kUnavailable) response.add_header("Retry-After", "1");
  respond(std::move(response));
}

}  // namespace trainyard::serve

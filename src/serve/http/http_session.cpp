#include "serve/http/http_session.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/compile.h>
#include <fmt/format.h>

#include "serve/http/request_parser.h"
#include "tensor/tensor.h"

namespace trainyard::serve {
namespace {

namespace http = boost::beast::http;

constexpr size_t kReadBytes = 4 << 10;  // what an idle connection keeps
constexpr size_t kOnePiece = 16 << 10;
constexpr std::chrono::seconds kLinger{2};
// What is read is still in the cache when its numbers are looked at.
constexpr size_t kLargestRead = 256 << 10;
// Bodies of which numbers are read while they arrive: shorter ones are there at once, and numbers
// may take twice the memory of a longer one.
constexpr size_t kLeastAhead = 64 << 10;
constexpr size_t kMostAhead = 16 << 20;

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

std::chrono::seconds scaled(std::chrono::seconds per_mebibyte, size_t bytes) {
  return per_mebibyte * (1 + static_cast<int64_t>(bytes >> 20));
}

}  // namespace

struct HttpSession::Parser {
  RequestHead head;
  RequestHead::Fields fields;  // as the handler sees them
  std::optional<RequestParser> parser;
};

HttpSession::HttpSession(std::unique_ptr<Wire> wire, std::string peer, HttpHandler& handler,
                         const HttpLimits& limits, SocketThread& thread, std::unique_ptr<Seat> seat)
    : wire_(std::move(wire)),
      peer_(std::move(peer)),
      handler_(handler),
      limits_(limits),
      thread_(thread),
      seat_(std::move(seat)),
      parser_(std::make_unique<Parser>()) {}

HttpSession::~HttpSession() = default;

void HttpSession::set_state(State state, std::chrono::seconds limit) {
  state_ = state;
  deadline_ = limit.count() > 0 ? Clock::now() + limit : Clock::time_point::max();
}

void HttpSession::start() {
  set_state(State::kOpening, limits_.header);
  wire_->open(shared_from_this());
}

void HttpSession::on_open(bool ok) {
  if (!ok) return close();
  if (seat_ == nullptr) {
    return refuse_and_close(Status::kUnavailable, "too many connections; try again later");
  }
  set_state(State::kIdle, limits_.idle);
  parse();
}

void HttpSession::check_deadline(Clock::time_point now) {
  if (now < deadline_ || state_ == State::kClosed || state_ == State::kHandling) return;
  deadline_ = Clock::time_point::max();
  if (state_ == State::kHeader || state_ == State::kBody) {
    timed_out_ = true;  // what is being read ends, and is answered
    wire_->stop();
  } else {
    close();
  }
}

void HttpSession::finish_soon() {
  finish_soon_ = true;
  const bool waits =
      state_ == State::kIdle || state_ == State::kOpening || state_ == State::kLingering;
  if (waits) close();
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
  if (body_ != nullptr) {
    body_filled_ += bytes;
    return read_body();
  }
  in_filled_ += bytes;
  if (state_ == State::kBody) return read_chunks();
  parse();
}

// The header of the next request, from what is there.
void HttpSession::parse() {
  if (at_ == in_filled_) return read_more();
  if (!parser_->parser) {
    parser_->parser.emplace(parser_->head);
    parser_->parser->header_limit(static_cast<uint32_t>(limits_.header_bytes));
    parser_->parser->body_limit(boost::none);
    set_state(State::kHeader, limits_.header);
    arrived_ = deadline_ - limits_.header;
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
  const boost::optional<uint64_t> length = parser_->parser->content_length();
  if (length && *length > limits_.body_bytes) {
    refuse_and_close(Status::kTooLarge, fmt::format("the body has {} bytes, at most {} are taken",
                                                    *length, limits_.body_bytes));
    return true;
  }
  const std::string_view expect = parser_->head.expect();
  if (!expect.empty() && !boost::beast::iequals({expect.data(), expect.size()}, "100-continue")) {
    refuse_and_close(Status::kBadRequest, "Expect must be 100-continue");
    return true;
  }
  return false;
}

void HttpSession::on_header() {
  const RequestParser& parser = *parser_->parser;
  keep_alive_ = parser.keep_alive();
  if (refuse_header()) return;
  const bool has_body = parser.chunked() || parser.content_length().value_or(0) > 0;
  if (has_body && !parser_->head.expect().empty() && parser_->head.version >= 11) {
    head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    state_ = State::kContinuing;
    return wire_->write(head_, {}, shared_from_this());
  }
  begin_body();
}

void HttpSession::begin_body() {
  RequestParser& parser = *parser_->parser;
  if (parser.chunked()) {
    parser.body_limit(limits_.body_bytes);
    body_begin_ = 0;
    set_state(State::kBody, scaled(limits_.body, 0));
    return read_chunks();
  }
  body_size_ = parser.content_length().value_or(0);
  body_begin_ = 0;
  if (body_size_ == 0) return on_body();
  set_state(State::kBody, scaled(limits_.body, body_size_));
  allocate_body();
  body_filled_ = std::min(body_size_, in_filled_ - at_);
  std::memcpy(body_.get() + body_begin_, in_.data() + at_, body_filled_);
  at_ += body_filled_;
  if (body_size_ >= kLeastAhead && body_size_ <= kMostAhead) {
    ahead_ = std::make_shared<NumbersAhead>(body_size_);
  }
  read_body();
}

// Kernels read the first binary tensor where it arrives, if it is aligned as they like it.
void HttpSession::allocate_body() {
  body_ = std::make_shared_for_overwrite<char[]>(body_size_ + Tensor::kAlignment);
  const auto tensors = reinterpret_cast<uintptr_t>(body_.get()) + json_bytes(parser_->head);
  body_begin_ = (Tensor::kAlignment - tensors % Tensor::kAlignment) % Tensor::kAlignment;
}

// Straight into its place: large tensors are not copied on the way.
void HttpSession::read_body() {
  char* const begin = body_.get() + body_begin_;
  if (ahead_) ahead_->feed({begin, body_filled_});
  if (body_filled_ == body_size_) return on_body();
  const size_t want = std::min(body_size_ - body_filled_, kLargestRead);
  wire_->read_some(begin + body_filled_, want, shared_from_this());
}

void HttpSession::read_chunks() {
  RequestParser& parser = *parser_->parser;
  boost::system::error_code problem;
  while (at_ < in_filled_ && !parser.is_done()) {
    const size_t used =
        parser.put(boost::asio::buffer(in_.data() + at_, in_filled_ - at_), problem);
    at_ += used;
    if (problem == http::error::need_more ||
        (problem == boost::system::error_code() && used == 0)) {
      break;
    }
    if (problem == http::error::body_limit) {
      return refuse_and_close(Status::kTooLarge,
                              fmt::format("the body has more than {} bytes", limits_.body_bytes));
    }
    if (problem) {
      return refuse_and_close(Status::kBadRequest, "the chunks are wrong: " + problem.message());
    }
  }
  if (!parser.is_done()) return read_more();
  on_body();
}

void HttpSession::on_body() {
  set_state(State::kHandling, std::chrono::seconds(0));
  const bool chunked = parser_->parser->chunked();
  const char* const bytes = body_.get() + body_begin_;
  HttpRequest request{.method = parser_->head.method(),
                      .target = parser_->head.target(),
                      .headers = std::move(parser_->fields),
                      .body = chunked ? Body(std::move(parser_->head.chunks))
                                      : Body(std::move(body_), std::string_view(bytes, body_size_)),
                      .ahead = std::move(ahead_),
                      .has_length = chunked || parser_->parser->content_length().has_value(),
                      .peer = peer_,
                      .arrived = arrived_,
                      .thread = &thread_};
  body_ = nullptr;
  ahead_ = nullptr;
  parser_->head.fields(request.headers);
  handler_.handle(request, [self = shared_from_this()](std::function<HttpResponse()> make) {
    self->thread_.respond(self, std::move(make));
  });
  parser_->fields = std::move(request.headers);  // its memory serves the next request
}

void HttpSession::respond(HttpResponse response) {
  if (state_ == State::kClosed) return;
  const bool head_only = parser_->parser && parser_->head.method() == "HEAD";
  keep_alive_ = keep_alive_ && !finish_soon_;
  parser_->parser.reset();
  body_ = nullptr;
  ahead_ = nullptr;
  response_ = std::move(response);
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
  set_state(State::kWriting, scaled(limits_.write, response_.body.size()));
  // What is small goes out in one piece.
  std::string_view rest = head_only ? std::string_view() : std::string_view(response_.body);
  if (rest.size() < kOnePiece) {
    head_ += rest;
    rest = {};
  }
  wire_->write(head_, rest, shared_from_this());
}

void HttpSession::on_written(bool ok) {
  if (state_ == State::kClosed) return;
  if (state_ != State::kContinuing) return on_response_written(ok);
  if (!ok) return close();
  begin_body();
}

void HttpSession::on_response_written(bool ok) {
  response_ = {};
  if (ok && refused_ && seat_ != nullptr && !finish_soon_) return linger();
  if (!ok || !keep_alive_ || finish_soon_) return close();
  set_state(State::kIdle, limits_.idle);
  parse();
}

// A client that is still sending would lose the answer if the connection were closed at once: its
// bytes would be answered with a reset.
void HttpSession::linger() {
  set_state(State::kLingering, kLinger);
  wire_->finish_writing();
  in_.resize(kReadBytes);
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

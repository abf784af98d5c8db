#include "serve/http_session.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

namespace trainyard::serve {
namespace {

namespace http = boost::beast::http;

constexpr size_t kReadBytes = 4 << 10;  // what an idle connection keeps
constexpr size_t kOnePiece = 16 << 10;
constexpr size_t kLargestRead = 1 << 20;

std::chrono::seconds scaled(std::chrono::seconds per_mebibyte, size_t bytes) {
  return per_mebibyte * (1 + static_cast<int64_t>(bytes >> 20));
}

}  // namespace

struct HttpSession::Parser {
  std::optional<http::request_parser<http::empty_body>> header;
  std::optional<http::request_parser<http::string_body>> chunks;

  const http::fields& fields() const {
    return chunks ? static_cast<const http::fields&>(chunks->get())
                  : static_cast<const http::fields&>(header->get());
  }
  std::string_view method() const {
    const auto text = chunks ? chunks->get().method_string() : header->get().method_string();
    return {text.data(), text.size()};
  }
  std::string_view target() const {
    const auto text = chunks ? chunks->get().target() : header->get().target();
    return {text.data(), text.size()};
  }
};

HttpSession::HttpSession(std::unique_ptr<Wire> wire, std::string peer, HttpHandler& handler,
                         const HttpLimits& limits, Post post)
    : wire_(std::move(wire)),
      peer_(std::move(peer)),
      handler_(handler),
      limits_(limits),
      post_(std::move(post)),
      parser_(std::make_unique<Parser>()) {}

HttpSession::~HttpSession() = default;

void HttpSession::set_state(State state, std::chrono::seconds limit) {
  state_ = state;
  deadline_ = limit.count() > 0 ? Clock::now() + limit : Clock::time_point::max();
}

void HttpSession::start() {
  set_state(State::kOpening, limits_.header);
  wire_->open([self = shared_from_this()](bool ok) {
    if (!ok) return self->close();
    self->set_state(State::kIdle, self->limits_.idle);
    self->parse();
  });
}

void HttpSession::turn_away() {
  wire_->open([self = shared_from_this()](bool ok) {
    if (!ok) return self->close();
    self->refuse_and_close(Status::kUnavailable, "too many connections; try again later");
  });
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
  if (state_ == State::kIdle || state_ == State::kOpening) close();
}

void HttpSession::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  wire_->close();
}

void HttpSession::read_more() {
  in_.erase(0, at_);
  at_ = 0;
  const size_t have = in_.size();
  in_.resize(have + kReadBytes);
  wire_->read_some(in_.data() + have, kReadBytes, [self = shared_from_this(), have](size_t bytes) {
    self->in_.resize(have + bytes);
    self->on_read(bytes);
  });
}

void HttpSession::on_read(size_t bytes) {
  if (state_ == State::kClosed) return;
  if (timed_out_) {
    return refuse_and_close(Status::kRequestTimeout, "the request did not arrive in time");
  }
  if (bytes == 0) return close();
  if (state_ == State::kBody) return read_chunks();
  parse();
}

// The header of the next request, from what is there.
void HttpSession::parse() {
  if (at_ == in_.size()) return read_more();
  if (!parser_->header) {
    parser_->header.emplace();
    parser_->header->header_limit(static_cast<uint32_t>(limits_.header_bytes));
    parser_->header->body_limit(boost::none);
    arrived_ = Clock::now();
    set_state(State::kHeader, limits_.header);
  }
  boost::system::error_code problem;
  at_ += parser_->header->put(boost::asio::buffer(in_.data() + at_, in_.size() - at_), problem);
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
  const auto& request = parser_->header->get();
  const boost::optional<uint64_t> length = parser_->header->content_length();
  if (length && *length > limits_.body_bytes) {
    refuse_and_close(Status::kTooLarge, fmt::format("the body has {} bytes, at most {} are taken",
                                                    *length, limits_.body_bytes));
    return true;
  }
  const auto expect = request[http::field::expect];
  if (!expect.empty() && !boost::beast::iequals(expect, "100-continue")) {
    refuse_and_close(Status::kBadRequest, "Expect must be 100-continue");
    return true;
  }
  return false;
}

void HttpSession::on_header() {
  keep_alive_ = parser_->header->get().keep_alive();
  if (refuse_header()) return;
  const bool has_body =
      parser_->header->chunked() || parser_->header->content_length().value_or(0) > 0;
  const auto& request = parser_->header->get();
  if (has_body && !request[http::field::expect].empty() && request.version() >= 11) {
    head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    wire_->write(head_, {}, [self = shared_from_this()](bool ok) {
      if (!ok) return self->close();
      self->begin_body();
    });
    return;
  }
  begin_body();
}

void HttpSession::begin_body() {
  body_ = std::make_shared<std::string>();
  body_filled_ = 0;
  if (parser_->header->chunked()) {
    parser_->chunks.emplace(std::move(*parser_->header));
    parser_->chunks->body_limit(limits_.body_bytes);
    set_state(State::kBody, scaled(limits_.body, 0));
    return read_chunks();
  }
  const size_t length = parser_->header->content_length().value_or(0);
  set_state(State::kBody, scaled(limits_.body, length));
  body_->resize(length);
  body_filled_ = std::min(length, in_.size() - at_);
  std::memcpy(body_->data(), in_.data() + at_, body_filled_);
  at_ += body_filled_;
  read_body();
}

// Straight into its place: large tensors are not copied on the way.
void HttpSession::read_body() {
  if (body_filled_ == body_->size()) return on_body();
  const size_t want = std::min(body_->size() - body_filled_, kLargestRead);
  wire_->read_some(body_->data() + body_filled_, want, [self = shared_from_this()](size_t bytes) {
    if (self->state_ == State::kClosed) return;
    if (self->timed_out_) {
      return self->refuse_and_close(Status::kRequestTimeout, "the body did not arrive in time");
    }
    if (bytes == 0) return self->close();
    self->body_filled_ += bytes;
    self->read_body();
  });
}

void HttpSession::read_chunks() {
  boost::system::error_code problem;
  while (at_ < in_.size() && !parser_->chunks->is_done()) {
    const size_t used =
        parser_->chunks->put(boost::asio::buffer(in_.data() + at_, in_.size() - at_), problem);
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
  if (!parser_->chunks->is_done()) return read_more();
  *body_ = std::move(parser_->chunks->get().body());
  on_body();
}

void HttpSession::on_body() {
  set_state(State::kHandling, std::chrono::seconds(0));
  HttpRequest request{
      .method = parser_->method(),
      .target = parser_->target(),
      .headers = {},
      .body = body_,
      .has_length = parser_->chunks.has_value() || parser_->header->content_length().has_value(),
      .peer = peer_,
      .arrived = arrived_};
  for (const auto& field : parser_->fields()) {
    const auto name = field.name_string();
    const auto value = field.value();
    request.headers.emplace_back(std::string_view(name.data(), name.size()),
                                 std::string_view(value.data(), value.size()));
  }
  body_.reset();
  handler_.handle(request, [self = shared_from_this()](std::function<HttpResponse()> make) {
    self->post_([self, make = std::move(make)] { self->respond(make()); });
  });
}

void HttpSession::respond(HttpResponse response) {
  if (state_ == State::kClosed) return;
  const bool head_only = parser_->header && parser_->method() == "HEAD";
  keep_alive_ = keep_alive_ && !finish_soon_;
  parser_->header.reset();
  parser_->chunks.reset();
  response_ = std::move(response);
  head_ =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Length: {}\r\n", static_cast<int>(response_.status),
                  reason_phrase(response_.status), response_.body.size());
  if (!response_.content_type.empty()) {
    head_ += "Content-Type: " + response_.content_type + "\r\n";
  }
  for (const auto& [name, value] : response_.headers) head_ += name + ": " + value + "\r\n";
  head_ += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  set_state(State::kWriting, scaled(limits_.write, response_.body.size()));
  // What is small goes out in one piece.
  std::string_view rest = head_only ? std::string_view() : std::string_view(response_.body);
  if (rest.size() < kOnePiece) {
    head_ += rest;
    rest = {};
  }
  wire_->write(head_, rest, [self = shared_from_this()](bool ok) { self->on_written(ok); });
}

void HttpSession::on_written(bool ok) {
  if (state_ == State::kClosed) return;
  response_ = {};
  if (!ok || !keep_alive_ || finish_soon_) return close();
  set_state(State::kIdle, limits_.idle);
  parse();
}

void HttpSession::refuse_and_close(Status status, std::string_view text) {
  handler_.refused(status, peer_);
  keep_alive_ = false;
  HttpResponse response = error_response(status, text);
  if (status == Status::kUnavailable) response.headers.emplace_back("Retry-After", "1");
  respond(std::move(response));
}

}  // namespace trainyard::serve

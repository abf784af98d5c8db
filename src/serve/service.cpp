#include "serve/service.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "data/compress.h"

namespace trainyard::serve {
namespace {

// Shorter answers are not worth compressing.
constexpr size_t kWorthCompressing = 1024;
constexpr size_t kLongestId = 128;

// Looks at every byte whatever it finds, so that time tells nothing of the token.
bool same_secret(std::string_view given, std::string_view expected) {
  unsigned difference = given.size() == expected.size() ? 0U : 1U;
  for (size_t i = 0; i < expected.size(); ++i) {
    const char c = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(c) ^ static_cast<unsigned char>(expected[i]);
  }
  return difference == 0;
}

// Ids are echoed in headers and logs.
std::string clean_id(std::string_view text) {
  std::string id(text.substr(0, kLongestId));
  std::erase_if(id, [](char c) { return c <= ' ' || c > '~' || c == '"' || c == '\\'; });
  return id;
}

// Whether a header such as Accept-Encoding names the token with a weight above 0 (RFC 9110,
// 12.5.3).
bool names_token(std::string_view list, std::string_view token) {
  for (const std::string& part : split(list, ',')) {
    std::string_view name = part;
    while (name.starts_with(' ')) name.remove_prefix(1);
    const std::string_view rest = name.substr(std::min(name.size(), token.size()));
    if (name.starts_with(token) && (rest.empty() || rest[0] == ';' || rest[0] == ' ')) {
      return rest.find("q=0") == std::string_view::npos ||
             rest.find("q=0.") != std::string_view::npos;
    }
  }
  return false;
}

// The parts of a path, decoded.
std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  parts.reserve(8);
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(url_decode(path.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

// `most` bounds what a small body may expand to.
Body decoded_body(const HttpRequest& request, size_t most) {
  const std::string_view encoding = request.header("Content-Encoding");
  if (encoding.empty() || encoding == "identity") return request.body;
  if (encoding != "gzip" && encoding != "deflate") {
    refuse(Status::kUnsupportedMedia,
           "Content-Encoding is '{}', expected gzip, deflate or identity", encoding);
  }
  return Body(data::decompress(*request.body, most, "the body"));
}

}  // namespace

std::string url_decode(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    refuse(Status::kBadRequest, "the path has a % without two hex digits");
  };
  if (text.find('%') == std::string_view::npos) return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) refuse(Status::kBadRequest, "the path ends within a % code");
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return out;
}

void require_method(const Call& call, std::string_view method) {
  // HEAD is answered like GET; the session leaves the body out.
  if (call.method == method || (method == "GET" && call.method == "HEAD")) return;
  refuse(Status::kMethodNotAllowed, "Method Not Allowed: {} {}; expected {}", call.method,
         call.path, method);
}

void require_body(const Call& call) {
  require_method(call, "POST");
  if (!call.has_length) refuse(Status::kLengthRequired, "a request needs Content-Length or chunks");
}

Service::Service(ServiceOptions options, Registry& registry)
    : options_(std::move(options)),
      registry_(registry),
      rate_limit_(options_.requests_per_s),
      log_(options_.access_log, options_.trace_every),
      loader_(std::make_unique<Loader>(options_.poll, [this] { registry_.poll(); })) {}

Service::~Service() = default;

// For the log: requests that the sockets refuse never become calls.
void Service::refused(Status status, std::string_view peer) {
  log_.add({.id = "",
            .peer = peer,
            .method = "",
            .path = "",
            .status = status,
            .arrived = Clock::now()});
}

// Copies what it needs: the request's views end with the call of handle(), the Call lives until the
// answer.
CallPointer Service::make_call(const HttpRequest& request, Reply reply) {
  auto call = std::make_shared<Call>();
  call->method = std::string(request.method);
  const size_t mark = request.target.find('?');
  call->path = std::string(request.target.substr(0, mark));
  if (mark != std::string_view::npos) call->query = std::string(request.target.substr(mark + 1));
  call->accept = std::string(request.header("Accept"));
  call->content_type = std::string(request.header("Content-Type"));
  call->accept_encoding = std::string(request.header("Accept-Encoding"));
  call->client_request_id = clean_id(request.header("x-ms-client-request-id"));
  call->inference_header_length = std::string(request.header("Inference-Header-Content-Length"));
  call->request_id = clean_id(request.header("X-Request-Id"));
  if (call->request_id.empty()) call->request_id = fmt::format("{:x}", ++next_id_);
  call->peer = std::string(request.peer);
  call->body = request.body;
  call->ahead = request.ahead;
  call->arrived = request.arrived;
  call->reply = std::move(reply);
  call->thread = request.thread;
  return call;
}

void Service::admit(const HttpRequest& request) {
  // Probes of orchestrators carry no token; all else needs one.
  if (!options_.token.empty() && request.target != "/v2/health/live") {
    const std::string_view given = request.header("Authorization");
    constexpr std::string_view kScheme = "Bearer ";
    if (!given.starts_with(kScheme) || !same_secret(given.substr(kScheme.size()), options_.token)) {
      refuse(Status::kUnauthorized, "a token is needed: Authorization: Bearer TOKEN");
    }
  }
  if (!rate_limit_.allows(std::string(request.peer), request.arrived)) {
    throw RequestError(Status::kTooManyRequests,
                       fmt::format("more than {} requests per second", options_.requests_per_s),
                       /*retry_after_s=*/1);
  }
}

// Never throws: every problem becomes an answer. Runs on a thread of the sockets.
void Service::handle(const HttpRequest& request, Reply reply) {
  const CallPointer call = make_call(request, std::move(reply));
  try {
    admit(request);
    call->has_length = request.has_length;
    call->body = decoded_body(request, options_.body_bytes);
    call->parts = split_path(call->path);
    route(call);
  } catch (...) {
    answer(call, failure(*call, std::current_exception()));
  }
}

void Service::infer_read(const HttpRequest& request, Reply reply,
                         const std::function<ReadInference()>& read) {
  const CallPointer call = make_call(request, std::move(reply));
  try {
    admit(request);
    // Sockets of this protocol close by themselves; other protocols ask here.
    if (draining_) refuse(Status::kUnavailable, "the server is about to end");
    ReadInference inference = read();
    const std::shared_ptr<ModelVersion> found = registry_.find(inference.model, inference.version);
    inference.request.times.arrived = request.arrived;
    infer(*call, found, inference.version, std::move(inference.request),
          answer_with(call, [found, write = std::move(inference.write)](const InferResult& result) {
            return write(result, *found);
          }));
  } catch (...) {
    answer(call, failure(*call, std::current_exception()));
  }
}

// Error is what the client got wrong, Failure and the rest what went wrong here; only the latter
// carry the id by which the log finds them.
HttpResponse Service::failure(const Call& call, const std::exception_ptr& problem) const {
  try {
    std::rethrow_exception(problem);
  } catch (const RequestError& error) {
    HttpResponse response = error_response(error.status(), error.what());
    if (error.retry_after_s() > 0) {
      response.add_header("Retry-After", std::to_string(error.retry_after_s()));
    }
    if (error.status() == Status::kUnauthorized) {
      response.add_header("WWW-Authenticate", "Bearer");
    }
    return response;
  } catch (const Error& error) {
    return error_response(Status::kBadRequest, error.what());
  } catch (const std::bad_alloc&) {
    return error_response(Status::kUnavailable, "out of memory");
  } catch (const std::exception& error) {
    return error_response(Status::kInternal,
                          fmt::format("{} (request {})", error.what(), call.request_id));
  }
}

// On the thread of the connection, where `reply` calls it, so that compressing does not hold up
// workers.
HttpResponse Service::finish(const Call& call, HttpResponse response, const InferResult* result) {
  response.add_header("X-Request-Id", call.request_id);
  const size_t plain_bytes = response.body.size();
  if (plain_bytes >= kWorthCompressing) {
    const bool gzip = names_token(call.accept_encoding, "gzip");
    if (gzip || names_token(call.accept_encoding, "deflate")) {
      response.body = data::compress(response.body,
                                     gzip ? data::Compression::kGzip : data::Compression::kDeflate);
      response.add_header("Content-Encoding", gzip ? "gzip" : "deflate");
      response.add_header("Vary", "Accept-Encoding");
    }
  }
  log_.add({.id = call.request_id,
            .peer = call.peer,
            .method = call.method,
            .path = call.path,
            .status = response.status,
            .bytes_in = call.body->size(),
            .bytes_out = response.body.size(),
            .arrived = call.arrived,
            .result = result});
  return response;
}

void Service::answer(const CallPointer& call, HttpResponse response) {
  auto kept = std::make_shared<HttpResponse>(std::move(response));
  call->reply([this, call, kept] { return finish(*call, std::move(*kept), nullptr); });
}

void Service::answer_json(const CallPointer& call, const Json& json) {
  answer(call, {.body = json.dump(-1)});
}

InferDone Service::answer_with(const CallPointer& call,
                               std::function<HttpResponse(const InferResult&)> write) {
  // Shared, since std::function copies what it holds and a result is large.
  using Got = std::variant<InferResult, std::exception_ptr>;
  struct Answer {
    CallPointer call;
    std::function<HttpResponse(const InferResult&)> write;
    Got got;
  };
  auto answer = std::make_shared<Answer>(Answer{call, std::move(write), {}});
  return [this, answer = std::move(answer)](Got got) {
    answer->got = std::move(got);
    answer->call->reply([this, answer] {
      const Call& asked = *answer->call;
      const auto* result = std::get_if<InferResult>(&answer->got);
      if (result == nullptr) {
        return finish(asked, failure(asked, std::get<std::exception_ptr>(answer->got)), nullptr);
      }
      try {
        return finish(asked, answer->write(*result), result);
      } catch (...) {
        return finish(asked, failure(asked, std::current_exception()), nullptr);
      }
    });
  };
}

void Service::infer(const Call& call, std::shared_ptr<ModelVersion> found,
                    const std::string& version, InferRequest request, InferDone done) {
  bool left_to_caller = false;
  // A version that goes leaves its successor in its place.
  // Bounded: a model that is reloaded all the time must not keep a request here.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (found->infer(request, done, call.thread != nullptr ? &left_to_caller : nullptr)) {
      // After all requests that are here were read, which are computed together.
      if (left_to_caller) call.thread->later([found] { found->compute_waiting(); });
      return;
    }
    found = registry_.find(found->name(), version);
  }
  refuse(Status::kUnavailable, "model '{}' is being unloaded", found->name());
}

}  // namespace trainyard::serve

#include "serve/service.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "data/compress.h"
#include "http/bearer.h"
#include "http/url.h"

namespace trainyard::serve {
namespace {

// Shorter answers are not worth compressing.
constexpr size_t kWorthCompressing = 1024;
constexpr size_t kLongestId = 128;
// Of which nobody counts the memory: there are no more of them than connections.
constexpr size_t kSmallAnswer = 64 << 10;
// Writing a larger one would keep a thread of the sockets from its other connections.
constexpr size_t kLargeAnswer = 1 << 20;
// Of a compressed body, before others have their turn.
constexpr size_t kUnpackedAtOnce = 2 << 20;

// Ids are echoed in headers and logs.
std::string clean_id(std::string_view text) {
  std::string id(text.substr(0, kLongestId));
  std::erase_if(id, [](char c) { return c <= ' ' || c > '~' || c == '"' || c == '\\'; });
  return id;
}

// The weight behind ";q=", 1 if there is none; what is no number counts as 0.
double weight_of(std::string_view parameters) {
  const size_t found = parameters.find("q=");
  if (found == std::string_view::npos) return 1;
  const std::string_view text = parameters.substr(found + 2);
  double weight = 0;
  std::from_chars(text.data(), text.data() + text.size(), weight);
  return weight;
}

// Whether a header such as Accept-Encoding names the token with a weight above 0 (RFC 9110,
// 12.5.3).
bool names_token(std::string_view list, std::string_view token) {
  for (const std::string& part : split(list, ',')) {
    std::string_view name = part;
    while (name.starts_with(' ')) name.remove_prefix(1);
    const std::string_view rest = name.substr(std::min(name.size(), token.size()));
    if (name.starts_with(token) && (rest.empty() || rest[0] == ';' || rest[0] == ' ')) {
      return weight_of(rest) > 0;
    }
  }
  return false;
}

// POSTs that compute or tell something. All others change the server.
bool only_asks(std::string_view method, std::string_view target) {
  if (method == "GET" || method == "HEAD") return true;
  const std::string_view path = target.substr(0, target.find('?'));
  for (const std::string_view end :
       {"/infer", "/score", ":predict", ":classify", ":regress", "/repository/index"}) {
    if (path.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

void require_method(const Call& call, std::string_view method) {
  // HEAD is answered like GET; the session leaves the body out.
  if (call.method == method || (method == "GET" && call.method == "HEAD")) return;
  throw WrongMethod(
      fmt::format("Method Not Allowed: {} {}; expected {}", call.method, call.path, method),
      method == "GET" ? "GET, HEAD" : std::string(method));
}

void require_body(const Call& call) {
  require_method(call, "POST");
  if (!call.has_length) refuse(Status::kLengthRequired, "a request needs Content-Length or chunks");
}

// A body as it is, or on its way to be.
struct Service::Unpacking {
  Unpacking(Body body, size_t most, std::shared_ptr<MemoryBudget> memory)
      : packed(std::move(body)), inflater(*packed, most, "the body"), share(std::move(memory)) {}

  Body packed;
  data::PieceInflater inflater;
  MemoryBudget::Share share;
};

// What becomes large is unpacked and answered off the threads of the sockets, a piece at a time
// between others': a few bytes can take long.
void Service::unpack(const CallPointer& call, std::string_view encoding) {
  if (encoding != "gzip" && encoding != "deflate") {
    refuse(Status::kUnsupportedMedia,
           "Content-Encoding is '{}', expected gzip, deflate or identity", encoding);
  }
  auto unpacking = std::make_shared<Unpacking>(call->body, options_.body_bytes, options_.memory);
  if (!unpack_piece(call, *unpacking)) return;
  constexpr auto kPixels = static_cast<int64_t>(kUnpackedAtOnce);  // a byte takes less than a pixel
  registry_.side_work().of(kPixels).post(
      SlowWork::turn_of(call->arrived, kPixels),
      [this, call, unpacking] { return unpack_piece(call, *unpacking); });
}

// False: there is no more to do.
bool Service::unpack_piece(const CallPointer& call, Unpacking& unpacking) {
  try {
    data::PieceInflater& inflater = unpacking.inflater;
    unpacking.share.require(inflater.size() + kUnpackedAtOnce);
    if (inflater.go_on(kUnpackedAtOnce)) return true;
    unpacking.share.shrink_to(inflater.size());
    call->body = {inflater.take(), std::move(unpacking.share)};
    route(call);
  } catch (const data::TooLarge& error) {
    answer(call,
           failure(*call, std::make_exception_ptr(RequestError(Status::kTooLarge, error.what()))));
  } catch (...) {
    answer(call, failure(*call, std::current_exception()));
  }
  return false;
}

// Those that lie in the body are counted with it.
void Service::count_numbers(const Call& call, InferRequest& request) const {
  const std::less<const void*> before;
  const auto* const begin = reinterpret_cast<const std::byte*>(call.body->data());
  size_t bytes = 0;
  for (const InputTensor& input : request.inputs) {
    const bool inside = !before(input.data, begin) && before(input.data, begin + call.body->size());
    if (!inside) bytes += input.bytes;
  }
  if (bytes <= kSmallAnswer) return;
  auto share = std::make_shared<MemoryBudget::Share>(options_.memory);
  share->require(bytes);
  request.owners.push_back(std::move(share));
}

Service::Service(ServiceOptions options, Registry& registry)
    : options_(std::move(options)),
      token_(std::make_shared<const std::string>(options_.token)),
      own_pages_(options_.allowed_hosts),
      registry_(registry),
      rate_limit_(options_.requests_per_s),
      log_(options_.access_log, options_.trace_every),
      shared_memory_(options_.shared_memory ? std::make_unique<SharedMemory>() : nullptr),
      loader_(std::make_unique<Loader>(options_.poll, [this] { registry_.poll(); })) {}

// Answers that are still being written are the service's.
Service::~Service() {
  loader_ = nullptr;
  registry_.side_work().finish();
}

void Service::set_token(const std::string& token) {
  token_ = std::make_shared<const std::string>(token);
}

void Service::poll_soon() {
  loader_->post([this] { registry_.poll(); });
}

// For the log: requests that the sockets refuse never become calls.
void Service::refused(Status status, std::string_view peer) {
  log_.add({.id = "",
            .trace_parent = "",
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
  call->trace_parent = clean_id(request.header("traceparent"));
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

void Service::require_token(const HttpRequest& request) const {
  const std::shared_ptr<const std::string> token = token_;
  if (token->empty()) {
    // Who must know the token is no stranger's page. Other protocols are not for browsers.
    if (request.thread != nullptr) own_pages_.require_our_host(request);
    return;
  }
  // Probes of orchestrators carry no token, and learn no more than whether to send work; all else
  // needs one.
  if (request.target == "/v2/health/live" || request.target == "/v2/health/ready") return;
  require_bearer(request, *token);
}

void Service::require_right(const HttpRequest& request) const {
  require_token(request);
  if (!only_asks(request.method, request.target)) own_pages_.require_our_page(request);
}

bool Service::may_ask(const HttpRequest& head) const {
  try {
    require_right(head);
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

void Service::admit(const HttpRequest& request) {
  require_right(request);
  if (!rate_limit_.allows(std::string(request.peer), request.arrived)) {
    throw RequestError(Status::kTooManyRequests,
                       fmt::format("more than {} requests per second", options_.requests_per_s),
                       /*retry_after_s=*/1);
  }
}

std::optional<HttpResponse> Service::refuse_early(const HttpRequest& head) {
  try {
    require_right(head);
    return std::nullopt;
  } catch (...) {
    const CallPointer call = make_call(head, nullptr);
    return finish(*call, failure(*call, std::current_exception()), nullptr);
  }
}

// Never throws: every problem becomes an answer. Runs on a thread of the sockets.
void Service::handle(const HttpRequest& request, Reply reply) {
  const CallPointer call = make_call(request, std::move(reply));
  try {
    admit(request);
    call->has_length = request.has_length;
    call->parts = split_path(call->path);
    const std::string_view encoding = request.header("Content-Encoding");
    if (!encoding.empty() && encoding != "identity") return unpack(call, encoding);
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
    const std::shared_ptr<ModelVersion> found =
        inference.model ? registry_.find(*inference.model, inference.version)
                        : find_scored("", inference.version);
    inference.request.times.arrived = request.arrived;
    infer(*call, found, inference.version, std::move(inference.request),
          answer_with(call, /*growth=*/1,
                      [found, write = std::move(inference.write)](const InferResult& result) {
                        return write(result, *found);
                      }));
  } catch (...) {
    answer(call, failure(*call, std::current_exception()));
  }
}

// Error is what the client got wrong, Failure and the rest what went wrong here; only the latter
// carry the id by which the log finds them.
HttpResponse Service::failure(const Call& call, const std::exception_ptr& problem) const {
  const auto error_response = [&](Status status, std::string_view text) {
    return call.score_id.empty() ? serve::error_response(status, text)
                                 : score_error(call, status, text);
  };
  try {
    std::rethrow_exception(problem);
  } catch (const WrongMethod& error) {
    HttpResponse response = error_response(error.status(), error.what());
    response.add_header("Allow", error.allowed());
    return response;
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
// workers. Clients that say they could read compressed answers may not expect them of other calls
// than inference (as from Triton); browsers do of the page, and scrapers of metrics.
HttpResponse Service::finish(const Call& call, HttpResponse response, const InferResult* result) {
  response.add_header("X-Request-Id", call.request_id);
  const size_t plain_bytes = response.body.size();
  const bool may_be_compressed = result != nullptr || response.content_type.starts_with("text/");
  if (may_be_compressed && plain_bytes >= kWorthCompressing) {
    const bool gzip = names_token(call.accept_encoding, "gzip");
    if (gzip || names_token(call.accept_encoding, "deflate")) {
      response.body = data::compress(response.body,
                                     gzip ? data::Compression::kGzip : data::Compression::kDeflate);
      response.add_header("Content-Encoding", gzip ? "gzip" : "deflate");
      response.add_header("Vary", "Accept-Encoding");
    }
  }
  log_.add({.id = call.request_id,
            .trace_parent = call.trace_parent,
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

// Shared, since std::function copies what it holds and a result is large.
struct Service::Answer {
  CallPointer call;
  std::function<HttpResponse(const InferResult&)> write;
  size_t growth = 1;
  std::variant<InferResult, std::exception_ptr> got;
  HttpResponse response = {};

  size_t most_bytes() const {
    const auto* const result = std::get_if<InferResult>(&got);
    int64_t bytes = 0;
    if (result == nullptr) return 0;
    for (const OutputTensor& output : result->outputs) bytes += output.data.num_bytes();
    return static_cast<size_t>(bytes) * growth;
  }
};

HttpResponse Service::make_answer(Answer& answer) {
  const Call& asked = *answer.call;
  const auto* const result = std::get_if<InferResult>(&answer.got);
  if (result == nullptr) {
    return finish(asked, failure(asked, std::get<std::exception_ptr>(answer.got)), nullptr);
  }
  try {
    MemoryBudget::Share share(options_.memory);
    const size_t most = answer.most_bytes();
    if (most > kSmallAnswer) share.require(most);
    HttpResponse response = finish(asked, answer.write(*result), result);
    share.shrink_to(response.body.size());
    response.memory = std::move(share);
    return response;
  } catch (...) {
    return finish(asked, failure(asked, std::current_exception()), nullptr);
  }
}

InferDone Service::answer_with(const CallPointer& call, size_t growth,
                               std::function<HttpResponse(const InferResult&)> write) {
  auto answer = std::make_shared<Answer>(Answer{call, std::move(write), growth, {}});
  return [this, answer = std::move(answer)](std::variant<InferResult, std::exception_ptr> got) {
    answer->got = std::move(got);
    const size_t most = answer->most_bytes();
    if (most <= kLargeAnswer) {
      return answer->call->reply([this, answer] { return make_answer(*answer); });
    }
    // Writing 16 bytes takes about as long as decoding a pixel.
    const auto pixels = static_cast<int64_t>(most / 16);
    registry_.side_work().of(pixels).post(SlowWork::turn_of(Clock::now(), pixels), [this, answer] {
      answer->response = make_answer(*answer);
      answer->got = {};
      answer->call->reply([answer] { return std::move(answer->response); });
      return false;
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

// Answers HTTP requests: finds out what is asked, and asks the models.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/http/access_log.h"
#include "serve/http/http.h"
#include "serve/http/rate_limit.h"
#include "serve/models/loader.h"
#include "serve/models/registry.h"

namespace trainyard::serve {

struct ServiceOptions {
  std::string server_name = "trainyard";
  std::string server_version;
  std::string token;                     // bearer; empty: everybody may ask
  double requests_per_s = 0;             // of one client; 0: no limit
  size_t body_bytes = size_t{64} << 20;  // after decompression
  std::string access_log;                // a file, or "-" for stderr; empty: none
  int64_t trace_every = 0;               // one request of so many; 0: none
  std::chrono::milliseconds poll{0};     // of the repository; 0: never
};

// One request on its way; copied into what answers later.
struct Call {
  std::string method;
  std::string path;
  std::string query;               // behind the path's '?'
  std::vector<std::string> parts;  // of the path, decoded
  std::string accept;
  std::string content_type;
  std::string accept_encoding;
  std::string request_id;  // given, or made
  std::string client_request_id;
  std::string inference_header_length;
  std::string peer;
  Body body;
  std::shared_ptr<const NumbersAhead> ahead;
  bool has_length = false;
  Clock::time_point arrived;
  Reply reply;
  SocketThread* thread = nullptr;  // of its connection; null: of another protocol
};

using CallPointer = std::shared_ptr<Call>;

// An inference that another protocol has read.
struct ReadInference {
  std::string model;
  std::string version;  // empty: the highest
  InferRequest request;
  std::function<HttpResponse(const InferResult&, ModelVersion&)> write;
};

class Service final : public HttpHandler {
 public:
  // The registry outlives it.
  Service(ServiceOptions options, Registry& registry);
  ~Service() override;

  void handle(const HttpRequest& request, Reply reply) override;
  void refused(Status status, std::string_view peer) override;
  // The same rights, limits, queues and log for requests of another protocol. `request` says who
  // asks, without a body; `read` may throw as all that reads requests.
  void infer_read(const HttpRequest& request, Reply reply,
                  const std::function<ReadInference()>& read);

  // Not ready from now on: load balancers look elsewhere while requests under way are finished.
  void drain() { draining_ = true; }
  // Chrome's trace events of the sampled requests so far.
  std::string trace_json() const { return log_.trace_json(); }

 private:
  using Query = std::optional<InferResult>;

  CallPointer make_call(const HttpRequest& request, Reply reply);
  // Throws RequestError for one who may not ask, or too often.
  void admit(const HttpRequest& request);
  void route(const CallPointer& call);
  bool route_plain(const CallPointer& call);
  void route_v2(const CallPointer& call);
  void route_model(const CallPointer& call, size_t from);
  void route_repository(const CallPointer& call);
  void infer_v2(const CallPointer& call, const std::string& model, const std::string& version);
  void infer_picture(const CallPointer& call, const std::shared_ptr<ModelVersion>& model,
                     const std::string& version);
  void infer_score(const CallPointer& call, const std::string& model, const std::string& version);
  void change_models(const CallPointer& call, const std::string& name, bool load);

  // Gives the request to the version that was found, or to its successor if it was unloaded
  // meanwhile.
  void infer(const Call& call, std::shared_ptr<ModelVersion> found, const std::string& version,
             InferRequest request, InferDone done);

  void answer(const CallPointer& call, HttpResponse response);
  void answer_json(const CallPointer& call, const Json& json);
  // `write` makes the response of a result, on the thread of the sockets.
  InferDone answer_with(const CallPointer& call,
                        std::function<HttpResponse(const InferResult&)> write);
  HttpResponse finish(const Call& call, HttpResponse response, const InferResult* result);
  HttpResponse failure(const Call& call, const std::exception_ptr& problem) const;
  Json model_metadata(const ModelVersion& model) const;
  Json statistics(const std::string& name, const std::string& version) const;
  std::string metrics() const;

  ServiceOptions options_;
  Registry& registry_;
  RateLimit rate_limit_;
  AccessLog log_;
  std::atomic<bool> draining_{false};
  std::atomic<uint64_t> next_id_{0};
  std::unique_ptr<Loader> loader_;
};

// Decodes %41; throws RequestError for what is no such code.
std::string url_decode(std::string_view text);
void require_method(const Call& call, std::string_view method);
// A POST with a body.
void require_body(const Call& call);

}  // namespace trainyard::serve

// Answers HTTP requests: finds out what is asked, and asks the models.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "http/http.h"
#include "http/origin_policy.h"
#include "http/rate_limit.h"
#include "http/status.h"
#include "serve/models/loader.h"
#include "serve/models/registry.h"
#include "serve/protocol/infer_request.h"
#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {

struct AccessEntry {
  std::string_view id;
  std::string_view trace_parent;  // empty: none was sent
  std::string_view peer;
  std::string_view method;
  std::string_view path;
  Status status = Status::kOk;
  size_t bytes_in = 0;
  size_t bytes_out = 0;
  Clock::time_point arrived;
  const InferResult* result = nullptr;  // null: it was no inference
};

// Which inferences are traced.
struct TraceSettings {
  bool on = false;
  int64_t every = 1000;  // one of so many
  int64_t left = -1;     // so many more; -1: any number
};

// Thread-safe.
class AccessLog {
 public:
  // `file` may be "-" (stderr) or empty (none). Every n-th inference is traced; 0: none.
  AccessLog(const std::string& file, int64_t trace_every);

  // Of all models if `model` is empty; a model without settings of its own has those of all.
  TraceSettings trace_settings(const std::string& model) const;
  // What holds where nothing is set: for a model those of all, for all those of the start.
  TraceSettings usual_trace(const std::string& model) const;
  void set_trace(const std::string& model, const TraceSettings& settings);

  void add(const AccessEntry& entry);
  std::map<int, uint64_t> counts() const;  // by status
  // "X" events, microseconds since the start; at most some thousand requests.
  std::string trace_json() const;

 private:
  struct Traced {
    std::string name;
    RequestTimes times;
    Clock::time_point replied;
  };
  void trace(const AccessEntry& entry, Clock::time_point now);
  TraceSettings& settings_of(const std::string& model);

  std::unique_ptr<AppendFile> file_;
  bool to_stderr_ = false;
  TraceSettings at_start_;
  TraceSettings of_all_;
  std::map<std::string, TraceSettings> of_models_;
  Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  std::map<int, uint64_t> counts_;
  int64_t inferences_ = 0;
  std::vector<Traced> traced_;
};

struct ServiceOptions {
  std::string server_name = "trainyard";
  std::string server_version;
  std::string token;  // bearer; empty: everybody may ask
  // By which clients may call this server, beside its own; "*": any. Asked for where no token is.
  std::vector<std::string> allowed_hosts = {};
  double requests_per_s = 0;             // of one client; 0: no limit
  size_t body_bytes = size_t{64} << 20;  // after decompression
  std::string access_log;                // a file, or "-" for stderr; empty: none
  int64_t trace_every = 0;               // one request of so many; 0: none
  std::chrono::milliseconds poll{0};     // of the repository; 0: never
  bool shared_memory = false;            // clients may register regions of this machine's memory
  bool uploads = false;                  // a load may bring the model's files
  bool fixed_models = false;             // nobody loads or unloads by a call
  // Of all bodies and answers under way; that of the sockets.
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(size_t{1} << 30);
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
  std::string trace_parent;  // as OpenTelemetry's clients send it (W3C Trace Context)
  std::string score_id;      // of a call of ONNX Runtime Server; empty: another
  std::string inference_header_length;
  std::string peer;
  Body body;
  std::shared_ptr<const EarlyNumbers> ahead;
  bool has_length = false;
  Clock::time_point arrived;
  Reply reply;
  SocketThread* thread = nullptr;  // of its connection; null: of another protocol
};

using CallPointer = std::shared_ptr<Call>;

// An inference that another protocol has read.
struct ReadInference {
  std::optional<std::string> model;  // nothing: the only one
  std::string version;               // empty: the highest
  InferRequest request;
  std::function<HttpResponse(const InferResult&, ModelVersion&)> write;
};

class Service final : public HttpHandler {
 public:
  // The registry outlives it.
  Service(ServiceOptions options, Registry& registry);
  ~Service() override;

  // Without the right to ask. Of other protocols too.
  std::optional<HttpResponse> refuse_early(const HttpRequest& head) override;
  // The same without an answer and a line in the log.
  bool may_ask(const HttpRequest& head) const;
  void handle(const HttpRequest& request, Reply reply) override;
  void refused(Status status, std::string_view peer) override;
  // The same rights, limits, queues and log for requests of another protocol. `request` says who
  // asks, without a body; `read` may throw as all that reads requests.
  void infer_read(const HttpRequest& request, Reply reply,
                  const std::function<ReadInference()>& read);

  const std::shared_ptr<MemoryBudget>& memory() const { return options_.memory; }
  // Null where it is switched off.
  const SharedMemory* shared_memory() const { return shared_memory_.get(); }

  // From now on; empty: everybody may ask.
  void set_token(const std::string& token);
  // Looks at the repository soon, on the thread that loads.
  void poll_soon();

  // Not ready from now on: load balancers look elsewhere while requests under way are finished.
  void drain() { draining_ = true; }
  // Chrome's trace events of the sampled requests so far.
  std::string trace_json() const { return log_.trace_json(); }

 private:
  using Query = std::optional<InferResult>;

  CallPointer make_call(const HttpRequest& request, Reply reply);
  // Throws RequestError for one who may not ask.
  void require_token(const HttpRequest& request) const;
  void require_right(const HttpRequest& request) const;
  // The same, or for one who asks too often.
  void admit(const HttpRequest& request);
  struct Unpacking;
  // The way of a compressed body to route().
  void unpack(const CallPointer& call, std::string_view encoding);
  bool unpack_piece(const CallPointer& call, Unpacking& unpacking);
  // Takes the memory of numbers that were read from text; throws RequestError if there is none.
  void count_numbers(const Call& call, InferRequest& request) const;
  void route(const CallPointer& call);
  bool route_plain(const CallPointer& call);
  void route_v2(const CallPointer& call);
  void route_model(const CallPointer& call, size_t from);
  void route_repository(const CallPointer& call);
  void route_shared_memory(const CallPointer& call);
  // Of all models if `model` is empty.
  void route_trace(const CallPointer& call, const std::string& model);
  void infer_v2(const CallPointer& call, const std::string& model, const std::string& version);
  void infer_picture(const CallPointer& call, const std::shared_ptr<ModelVersion>& model,
                     const std::string& version);
  void infer_score(const CallPointer& call, const std::string& model, const std::string& version);
  // One model is served under any name that ONNX Runtime Server would have had.
  std::shared_ptr<ModelVersion> find_scored(const std::string& model,
                                            const std::string& version) const;
  void change_models(const CallPointer& call, const std::string& name, bool load);

  // Gives the request to the version that was found, or to its successor if it was unloaded
  // meanwhile.
  void infer(const Call& call, std::shared_ptr<ModelVersion> found, const std::string& version,
             InferRequest request, InferDone done);

  void answer(const CallPointer& call, HttpResponse response);
  void answer_json(const CallPointer& call, const Json& json);
  // `write` makes the response of a result: on the thread of the sockets, or off it where that
  // takes long. The response may be `growth` times as large as the tensors.
  InferDone answer_with(const CallPointer& call, size_t growth,
                        std::function<HttpResponse(const InferResult&)> write);
  struct Answer;
  HttpResponse make_answer(Answer& answer);
  HttpResponse finish(const Call& call, HttpResponse response, const InferResult* result);
  HttpResponse failure(const Call& call, const std::exception_ptr& problem) const;
  Json model_metadata(const ModelVersion& model) const;
  Json statistics(const std::string& name, const std::string& version) const;
  std::string metrics() const;

  ServiceOptions options_;
  std::atomic<std::shared_ptr<const std::string>> token_;
  OriginPolicy own_pages_;
  Registry& registry_;
  RateLimit rate_limit_;
  AccessLog log_;
  std::unique_ptr<SharedMemory> shared_memory_;
  std::atomic<bool> draining_{false};
  std::atomic<uint64_t> next_id_{0};
  std::unique_ptr<Loader> loader_;
};

void require_method(const Call& call, std::string_view method);
// No path knows other methods.
[[noreturn]] void not_found(const Call& call);
// The body of a call that controls the server. An empty one means an empty object.
Json read_control_body(const Call& call);
// A POST with a body.
void require_body(const Call& call);
// An answer to a call of ONNX Runtime Server, with its headers; and an error as that server says
// it.
HttpResponse with_score_ids(const Call& call, HttpResponse response);
HttpResponse score_error(const Call& call, Status status, std::string_view text);
// For `growth` of answers whose numbers are written as text: -1.1754944e-38 takes 15 bytes for 4, a
// bool 6 for one.
inline constexpr size_t kTextGrowth = 6;

}  // namespace trainyard::serve

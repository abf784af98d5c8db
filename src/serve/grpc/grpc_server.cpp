// One thread runs a queue of events. Calls are taken by their name and as bytes, so that unary
// calls and streams are one machine and no code is generated.
#include "serve/grpc/grpc_server.h"

#include <condition_variable>
#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/wire.h"
#include "http/url.h"
#include "serve/grpc/control_messages.h"
#include "serve/grpc/infer_messages.h"
#include "serve/protocol/score_codec.h"

namespace trainyard::serve {
namespace {

// grpc.health.v1, which orchestrators ask whether a server may be sent requests.
inline constexpr std::string_view kHealthCheck = "/grpc.health.v1.Health/Check";

// {1: service}
bool asks_for_this_server(std::string_view message) {
  std::string_view service;
  WireReader reader({reinterpret_cast<const std::byte*>(message.data()), message.size()});
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number != 1 || field.type != WireType::kBytes) continue;
    service = {reinterpret_cast<const char*>(field.content.data()), field.content.size()};
  }
  return service.empty() || service == "inference.GRPCInferenceService";
}

// {1: status}
std::string health_answer(bool serving) {
  constexpr uint64_t kServing = 1;
  constexpr uint64_t kNotServing = 2;
  std::string message;
  append_tag(message, 1, WireType::kVarint);
  append_varint(message, serving ? kServing : kNotServing);
  return message;
}

constexpr std::string_view kService = "/inference.GRPCInferenceService/";
// The one call of ONNX Runtime Server (2019), which names no model: there is one.
constexpr std::string_view kPredict = "/onnxruntime.server.PredictionService/Predict";
constexpr int kMostCalls = 1024;  // of one connection at the same time

// Orchestrators ask these without a token. Their messages are empty.
bool is_probe(std::string_view method) {
  return method == "ServerLive" || method == "ServerReady";
}

grpc::StatusCode code_of(Status status) {
  switch (status) {
    case Status::kOk:
      return grpc::StatusCode::OK;
    case Status::kUnauthorized:
      return grpc::StatusCode::UNAUTHENTICATED;
    case Status::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Status::kTooManyRequests:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Status::kNotImplemented:
      return grpc::StatusCode::UNIMPLEMENTED;
    case Status::kForbidden:  // models stay as they are; clients of Triton know it by this code
    case Status::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case Status::kInternal:
      return grpc::StatusCode::INTERNAL;
    default:
      return grpc::StatusCode::INVALID_ARGUMENT;
  }
}

// "ipv4:127.0.0.1:5000" and "ipv6:%5B::1%5D:5000" to the address alone.
std::string address_of(const std::string& peer) {
  const size_t begin = peer.find(':');
  const size_t end = peer.rfind(':');
  if (begin == std::string::npos || end <= begin) return peer;
  return url_decode(std::string_view(peer).substr(begin + 1, end - begin - 1));
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Takes the bytes along instead of copying them.
grpc::ByteBuffer buffer_of(std::string bytes) {
  auto* const kept = new std::string(std::move(bytes));
  const grpc::Slice slice(
      kept->data(), kept->size(), [](void* text) { delete static_cast<std::string*>(text); }, kept);
  return {&slice, 1};
}

// What all calls share.
struct Core {
  explicit Core(Service& given) : service(given) {}

  Service& service;
  grpc::AsyncGenericService calls;
  std::unique_ptr<grpc::ServerCompletionQueue> events;
  // Calls that somebody else is about to answer.
  std::mutex mutex;
  std::condition_variable changed;
  size_t pending = 0;
};

// One call from its first event to its last; deletes itself then. One event is under way at a time.
class Call {
 public:
  static void await(Core& core) {
    auto* const call = new Call(core);
    core.calls.RequestCall(&call->context_, &call->stream_, core.events.get(), core.events.get(),
                           call);
  }

  void proceed(bool ok) {
    switch (step_) {
      case Step::kArrive:
        if (!ok) break;  // the server ends
        await(core_);
        return begin();
      case Step::kRead:
        if (ok) return handle();
        // A stream ends with its last request; another call has one.
        return finish(streams_ ? grpc::Status::OK
                               : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no request"));
      case Step::kAnswer:
        return answer();
      case Step::kWrite:
        if (ok) return read();
        return finish(grpc::Status::CANCELLED);
      case Step::kFinish:
        break;
    }
    delete this;
  }

 private:
  enum class Step : uint8_t { kArrive, kRead, kAnswer, kWrite, kFinish };

  explicit Call(Core& core) : core_(core) {}

  void begin() {
    const std::string& name = context_.method();
    health_ = name == kHealthCheck;
    predicts_ = name == kPredict;
    const bool ours = name.starts_with(kService);
    if (!health_ && !predicts_ && !ours) return finish_unknown();
    method_ = ours ? name.substr(kService.size()) : name.substr(name.rfind('/') + 1);
    streams_ = method_ == "ModelStreamInfer";
    infers_ = streams_ || predicts_ || method_ == "ModelInfer";
    // Who may not ask is not read: its messages would be kept until then. Its probes are answered
    // for the server as a whole, whatever their messages say.
    arrived_ = Clock::now();
    const HttpRequest request = request_of("POST", context_.method());
    if (health_ || is_probe(method_)) {
      if (core_.service.may_ask(request)) return read();
      const bool live = method_ == "ServerLive";
      return ask({"GET", live ? "/v2/health/live" : "/v2/health/ready", ""});
    }
    if (auto refusal = core_.service.refuse_early(request)) {
      return finish({code_of(refusal->status), error_text(*refusal)});
    }
    read();
  }

  void read() {
    step_ = Step::kRead;
    stream_.Read(&in_, this);
  }

  void finish_unknown() {
    finish({grpc::StatusCode::UNIMPLEMENTED,
            printable_line(fmt::format("there is no call {} here", context_.method()))});
  }

  void finish(const grpc::Status& status) {
    step_ = Step::kFinish;
    stream_.Finish(status, this);
  }

  void handle() {
    arrived_ = Clock::now();
    Body message;
    std::optional<HttpForm> form;
    try {
      MemoryBudget::Share share(core_.service.memory());
      share.require(in_.Length());
      message = Body(bytes_of(in_), std::move(share));
      in_.Clear();
      if (health_) {
        if (!asks_for_this_server(*message)) {
          return finish({grpc::StatusCode::NOT_FOUND, "there is no such service here"});
        }
        form = HttpForm{"GET", "/v2/health/ready", ""};
      } else if (!infers_) {
        form = read_control(method_, std::string(*message));
      }
    } catch (const RequestError& error) {
      return finish({code_of(error.status()), error.what()});
    } catch (const Error& error) {
      return finish({grpc::StatusCode::INVALID_ARGUMENT, printable(error.what())});
    } catch (const std::bad_alloc&) {
      return finish({grpc::StatusCode::UNAVAILABLE, "out of memory"});
    }
    if (infers_) {
      await_answer();
      return infer(message);
    }
    if (!form) return finish_unknown();
    ask(*form);
  }

  // From here on the answer comes by another thread, maybe before the next line.
  void await_answer() {
    step_ = Step::kAnswer;
    const std::lock_guard lock(core_.mutex);
    ++core_.pending;
  }

  void ask(const HttpForm& form) {
    await_answer();
    HttpRequest request = request_of(form.method, form.target);
    request.body = Body(form.body);
    request.has_length = true;
    core_.service.handle(request, reply());
  }

  // Valid while the call lives and its arguments do.
  HttpRequest request_of(std::string_view http_method, std::string_view target) {
    peer_ = address_of(context_.peer());
    HttpRequest request;
    request.method = http_method;
    request.target = target;
    request.peer = peer_;
    request.arrived = arrived_;
    for (const auto& [name, value] : context_.client_metadata()) {
      const std::string_view key(name.data(), name.size());
      if (key == "authorization" || key == "x-request-id") {
        request.headers.emplace_back(key, std::string_view(value.data(), value.size()));
      }
    }
    return request;
  }

  Reply reply() {
    return [this](std::function<HttpResponse()> make) {
      Core& core = core_;
      const std::lock_guard lock(core.mutex);
      make_ = std::move(make);
      // The answer is written by the thread of the events. It takes the lock too: a call must not
      // end while its alarm is being set.
      alarm_.Set(core.events.get(), std::chrono::system_clock::time_point{}, this);
      --core.pending;
      core.changed.notify_all();
    };
  }

  void infer(const Body& message) {
    const auto deadline = context_.deadline();
    core_.service.infer_read(request_of("POST", context_.method()), reply(), [&] {
      InferMessage read = predicts_ ? InferMessage{{}, {}, read_score_protobuf(message)}
                                    : read_infer_message(message, core_.service.shared_memory());
      // Who has stopped waiting is not computed for.
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
          deadline - std::chrono::system_clock::now());
      if (!read.request.timeout && left < std::chrono::hours(24)) read.request.timeout = left;
      const uint64_t bytes_in = message->size();
      const auto wanted = without_inputs(read.request);
      return ReadInference{
          .model = predicts_ ? std::nullopt : std::optional(std::move(read.model)),
          .version = std::move(read.version),
          .request = std::move(read.request),
          .write = [wanted, bytes_in, predicts = predicts_](const InferResult& result,
                                                            ModelVersion& model) {
            HttpResponse response{
                .content_type = "application/grpc",
                .body = predicts ? write_score_protobuf(*wanted, result)
                                 : write_infer_message(*wanted, result, model.network().labels())};
            model.statistics().add_bytes(bytes_in, response.body.size());
            return response;
          }};
    });
  }

  // On the thread of the events.
  void answer() {
    std::function<HttpResponse()> make;
    {
      const std::lock_guard lock(core_.mutex);
      make = std::move(make_);
    }
    HttpResponse response = make();
    make = nullptr;
    if (streams_) return write_to_stream(std::move(response));
    try {
      const grpc::ByteBuffer out = buffer_of(message_of(std::move(response)));
      step_ = Step::kFinish;
      stream_.WriteAndFinish(out, {}, grpc::Status::OK, this);
    } catch (const RequestError& error) {
      finish({code_of(error.status()), error.what()});
    } catch (const std::exception& error) {
      finish({grpc::StatusCode::INTERNAL, error.what()});
    }
  }

  std::string message_of(HttpResponse response) const {
    const bool good = response.status == Status::kOk;
    if (health_) return health_answer(good);
    if (!infers_) return write_control(method_, response);
    if (!good) throw RequestError(response.status, error_text(response));
    return std::move(response.body);
  }

  // {1: error_message, 2: infer_response}
  void write_to_stream(HttpResponse response) {
    const bool ok = response.status == Status::kOk;
    const std::string content = ok ? std::move(response.body) : error_text(response);
    std::string message;
    message.reserve(content.size() + 16);
    append_bytes_header(message, ok ? 2 : 1, content.size());
    message += content;
    step_ = Step::kWrite;
    stream_.Write(buffer_of(std::move(message)), this);
  }

  Core& core_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::Alarm alarm_;
  grpc::ByteBuffer in_;
  Step step_ = Step::kArrive;
  std::string method_;
  bool streams_ = false;
  bool predicts_ = false;  // as ONNX Runtime Server did
  bool infers_ = false;    // either, or ModelInfer
  bool health_ = false;    // grpc.health.v1, not a call of ours
  std::string peer_;
  Clock::time_point arrived_;
  std::function<HttpResponse()> make_;
};

class GrpcListener final : public Listener {
 public:
  GrpcListener(const GrpcOptions& options, Service& service) : core_(service) {
    const std::string host =
        options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]";
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(fmt::format("{}:{}", host, options.port), credentials(options.tls),
                             &port);
    builder.RegisterAsyncGenericService(&core_.calls);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.message_bytes));
    // What gRPC itself has received and nobody has read yet.
    grpc::ResourceQuota quota("serve");
    quota.Resize(service.memory()->most());
    builder.SetResourceQuota(quota);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostCalls);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                               static_cast<int>(std::chrono::milliseconds(options.idle).count()));
    core_.events = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      // Without a server nobody else would end the queue.
      end_events();
      throw_failure("{} port {} is taken or not ours; another `grpc_port` may be free",
                    options.host, options.port);
    }
    address_ =
        fmt::format("grpc{}://{}:{}", options.tls.certificate.empty() ? "" : "s", host, port);
    thread_ = std::thread([this] {
      Call::await(core_);
      void* call = nullptr;
      bool ok = false;
      while (core_.events->Next(&call, &ok)) static_cast<Call*>(call)->proceed(ok);
    });
  }

  ~GrpcListener() override {
    // Calls under way get so long to send what was answered.
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    {
      std::unique_lock lock(core_.mutex);
      core_.changed.wait(lock, [&] { return core_.pending == 0; });
    }
    core_.events->Shutdown();
    thread_.join();
  }

  std::string address() const override { return address_; }

 private:
  static std::shared_ptr<grpc::ServerCredentials> credentials(const TlsFiles& tls) {
    if (tls.certificate.empty()) return grpc::InsecureServerCredentials();
    // Files that change are read again within a second.
    constexpr unsigned kLookEvery = 1;
    const auto files = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
        tls.key, tls.certificate, kLookEvery);
    grpc::experimental::TlsServerCredentialsOptions options(files);
    options.watch_identity_key_cert_pairs();
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    return grpc::experimental::TlsServerCredentials(options);
  }

  void end_events() {
    core_.events->Shutdown();
    void* call = nullptr;
    bool ok = false;
    while (core_.events->Next(&call, &ok)) {
    }
  }

  Core core_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Listener> listen_grpc(const GrpcOptions& options, Service& service) {
  return std::make_unique<GrpcListener>(options, service);
}

}  // namespace trainyard::serve

// The calls of ONNX Runtime Server (2019).
#include "base/random.h"
#include "serve/protocol/score_codec.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

enum class Form : uint8_t { kJson, kOctets, kProtobuf, kVendor };

std::optional<Form> form_of(std::string_view media) {
  media = media.substr(0, media.find(';'));
  if (media == "application/json") return Form::kJson;
  if (media == "application/octet-stream") return Form::kOctets;
  if (media == "application/x-protobuf") return Form::kProtobuf;
  if (media == "application/vnd.google.protobuf") return Form::kVendor;
  return std::nullopt;
}

std::string_view media_of(Form form) {
  constexpr std::string_view kMedia[] = {"application/json", "application/octet-stream",
                                         "application/x-protobuf",
                                         "application/vnd.google.protobuf"};
  return kMedia[static_cast<size_t>(form)];
}

HttpResponse score_error(Status status, std::string_view text) {
  return {.status = status,
          .body = Json::object({{"error_code", static_cast<int>(status)},
                                {"error_message", text},
                                {"error", text}})
                      .dump(-1) +
                  "\n"};
}

// A UUID of version 4, from a counter and the time: unique, not secret.
std::string make_uuid(uint64_t count) {
  const auto now = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
  const uint64_t high = mix_bits(now ^ mix_bits(count));
  const uint64_t low = mix_bits(high + count);
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

}  // namespace

void Service::infer_score(const CallPointer& call, const std::string& model,
                          const std::string& version) {
  require_body(*call);
  const auto with_ids = [id = make_uuid(next_id_), call](HttpResponse response) {
    response.add_header("x-ms-request-id", id);
    if (!call->client_request_id.empty()) {
      response.add_header("x-ms-client-request-id", call->client_request_id);
    }
    return response;
  };
  const std::optional<Form> given = form_of(call->content_type);
  if (!given) {
    return answer(call, with_ids(score_error(Status::kBadRequest,
                                             "Missing or unknown 'Content-Type' header field in "
                                             "the request")));
  }
  const bool any = call->accept.empty() || call->accept.find("*/*") != std::string::npos;
  const std::optional<Form> wanted =
      any ? (*given == Form::kJson ? Form::kJson : Form::kOctets) : form_of(call->accept);
  if (!wanted) {
    return answer(call, with_ids(score_error(Status::kBadRequest,
                                             "Unknown 'Accept' header field in the request")));
  }
  // One model is served under any name that the old server would have had.
  std::string name = model;
  const auto models = registry_.all();
  if ((name.empty() || name == "default") && models.size() == 1) name = models[0]->name();
  InferRequest request =
      *given == Form::kJson ? read_score_json(call->body) : read_score_protobuf(call->body);
  request.times.arrived = call->arrived;
  auto kept = std::make_shared<InferRequest>();
  kept->outputs = request.outputs;
  infer(*call, registry_.find(name, version), version, std::move(request),
        answer_with(call, [kept, wanted, with_ids](const InferResult& result) {
          return with_ids({.content_type = media_of(*wanted),
                           .body = *wanted == Form::kJson ? write_score_json(*kept, result)
                                                          : write_score_protobuf(*kept, result)});
        }));
}

}  // namespace trainyard::serve

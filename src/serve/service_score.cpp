// The calls of ONNX Runtime Server (2019).
#include "base/printable.h"
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

// A UUID of version 4, from a counter and the time: unique, not secret.
std::string make_uuid(uint64_t count) {
  const auto now = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
  const uint64_t high = mix_bits(now ^ mix_bits(count));
  const uint64_t low = mix_bits(high + count);
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

}  // namespace

HttpResponse with_score_ids(const Call& call, HttpResponse response) {
  response.add_header("x-ms-request-id", call.score_id);
  if (!call.client_request_id.empty()) {
    response.add_header("x-ms-client-request-id", call.client_request_id);
  }
  return response;
}

// Blanks and the line's end are that server's, whose tests compare bytes.
HttpResponse score_error(const Call& call, Status status, std::string_view text) {
  return with_score_ids(
      call, {.status = status,
             .body = fmt::format("{{\"error_code\": {}, \"error_message\": {}}}\n",
                                 static_cast<int>(status), Json(printable(text)).dump(-1))});
}

std::shared_ptr<ModelVersion> Service::find_scored(const std::string& model,
                                                   const std::string& version) const {
  const bool any = model.empty() || model == "default";
  const auto models = registry_.all();
  return registry_.find(any && models.size() == 1 ? models[0]->name() : model, version);
}

void Service::infer_score(const CallPointer& call, const std::string& model,
                          const std::string& version) {
  call->score_id = make_uuid(next_id_);
  require_body(*call);
  const std::shared_ptr<ModelVersion> found = find_scored(model, version);
  const std::optional<Form> given = form_of(call->content_type);
  if (!given) {
    refuse(Status::kBadRequest, "Missing or unknown 'Content-Type' header field in the request");
  }
  const bool any = call->accept.empty() || call->accept.find("*/*") != std::string::npos;
  const std::optional<Form> wanted =
      any ? (*given == Form::kJson ? Form::kJson : Form::kOctets) : form_of(call->accept);
  if (!wanted) refuse(Status::kBadRequest, "Unknown 'Accept' header field in the request");
  InferRequest request =
      *given == Form::kJson ? read_score_json(call->body) : read_score_protobuf(call->body);
  request.times.arrived = call->arrived;
  auto kept = std::make_shared<InferRequest>();
  kept->outputs = request.outputs;
  infer(*call, found, version, std::move(request),
        answer_with(call, /*growth=*/2, [call, kept, wanted](const InferResult& result) {
          return with_score_ids(
              *call, {.content_type = media_of(*wanted),
                      .body = *wanted == Form::kJson ? write_score_json(*kept, result)
                                                     : write_score_protobuf(*kept, result)});
        }));
}

}  // namespace trainyard::serve

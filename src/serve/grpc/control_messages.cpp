#include "serve/grpc/control_messages.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include "base/error.h"
#include "http/url.h"
#include "serve/protocol/message_types.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

namespace pb = google::protobuf;

// How a call is said over HTTP. A path begins with /v2; the model's name and version follow it
// where there is one.
struct Method {
  std::string_view name;
  std::string_view http = "GET";
  std::string_view path = "";
  std::string_view verb = "";      // behind the model
  std::string_view model = "";     // the field with the name of the model or region
  std::string_view nameless = "";  // the path where that field is empty; else it is an empty name
  std::string_view wrapper = "";   // the answer is the value of this field
  enum class Form : uint8_t {
    kPlain,
    kByName,    // the answer is a list, here a map by "name"
    kSettings,  // requests and answers are maps of settings, here of {"value": [texts]}
  } form = Form::kPlain;
  bool refusal_is_answer = false;  // not ready, or not there: "ready" is false
};

constexpr std::array kMethods = {
    Method{.name = "ServerLive", .path = "/health/live"},
    Method{.name = "ServerReady", .path = "/health/ready", .refusal_is_answer = true},
    Method{.name = "ServerMetadata"},
    Method{.name = "ModelReady",
           .path = "/models",
           .verb = "/ready",
           .model = "name",
           .refusal_is_answer = true},
    Method{.name = "ModelMetadata", .path = "/models", .model = "name"},
    Method{.name = "ModelConfig",
           .path = "/models",
           .verb = "/config",
           .model = "name",
           .wrapper = "config"},
    Method{.name = "ModelStatistics",
           .path = "/models",
           .verb = "/stats",
           .model = "name",
           .nameless = "/models/stats"},
    Method{.name = "RepositoryIndex",
           .http = "POST",
           .path = "/repository/index",
           .wrapper = "models"},
    Method{.name = "RepositoryModelLoad",
           .http = "POST",
           .path = "/repository/models",
           .verb = "/load",
           .model = "model_name"},
    Method{.name = "RepositoryModelUnload",
           .http = "POST",
           .path = "/repository/models",
           .verb = "/unload",
           .model = "model_name"},
    Method{.name = "SystemSharedMemoryStatus",
           .path = "/systemsharedmemory/region",
           .verb = "/status",
           .model = "name",
           .nameless = "/systemsharedmemory/status",
           .wrapper = "regions",
           .form = Method::Form::kByName},
    Method{.name = "SystemSharedMemoryRegister",
           .http = "POST",
           .path = "/systemsharedmemory/region",
           .verb = "/register",
           .model = "name"},
    Method{.name = "SystemSharedMemoryUnregister",
           .http = "POST",
           .path = "/systemsharedmemory/region",
           .verb = "/unregister",
           .model = "name",
           .nameless = "/systemsharedmemory/unregister"},
    Method{.name = "CudaSharedMemoryStatus",
           .path = "/cudasharedmemory/region",
           .verb = "/status",
           .model = "name",
           .nameless = "/cudasharedmemory/status",
           .wrapper = "regions",
           .form = Method::Form::kByName},
    Method{.name = "CudaSharedMemoryUnregister",
           .http = "POST",
           .path = "/cudasharedmemory/region",
           .verb = "/unregister",
           .model = "name",
           .nameless = "/cudasharedmemory/unregister"},
    Method{.name = "TraceSetting",
           .http = "POST",
           .path = "/models",
           .verb = "/trace/setting",
           .model = "model_name",
           .nameless = "/trace/setting",
           .wrapper = "settings",
           .form = Method::Form::kSettings},
};

const Method* find_method(std::string_view name) {
  const auto* const found = std::find_if(kMethods.begin(), kMethods.end(),
                                         [&](const Method& method) { return method.name == name; });
  return found == kMethods.end() ? nullptr : found;
}

// {"parameters": {"config": {"string_param": "…"}}} has its values one level higher over HTTP.
Json plain_parameters(const Json& request) {
  Json plain = Json::object();
  if (const Json* parameters = request.find("parameters")) {
    for (const auto& [name, choice] : parameters->members()) {
      Json& value = plain[name];
      if (!choice.members().empty()) value = choice.members()[0].second;
    }
  }
  return plain;
}

// {"settings": {"trace_rate": {"value": ["1"]}}} is {"trace_rate": ["1"]} over HTTP.
Json plain_settings(const Json& request) {
  Json plain = Json::object();
  if (const Json* settings = request.find("settings")) {
    for (const auto& [name, setting] : settings->members()) {
      const Json* const value = setting.find("value");
      plain[name] = value == nullptr ? Json() : *value;
    }
  }
  return plain;
}

// The answer of HTTP in the form that the message has.
Json answer_form(const Method& method, const Json& answer) {
  if (method.form == Method::Form::kPlain) return answer;
  Json map = Json::object();
  if (method.form == Method::Form::kByName) {
    for (const Json& item : answer.items()) map[item.at("name").as_string()] = item;
  } else {
    for (const auto& [name, value] : answer.members()) {
      const Json texts = value.is_array() ? value : Json(Json::Array{value});
      map[name] = Json::object({{"value", texts}});
    }
  }
  return map;
}

const pb::MethodDescriptor& call_of(std::string_view method) {
  return *message_file().service(0)->FindMethodByName(std::string(method));
}

// The body of a POST. Beside the parameters HTTP has the fields themselves.
Json body_of(const Method& method, const Json& request) {
  if (method.form == Method::Form::kSettings) return plain_settings(request);
  Json body = request;
  body["parameters"] = plain_parameters(request);
  return body;
}

}  // namespace

std::optional<HttpForm> read_control(std::string_view method, const std::string& message) {
  const Method* const known = find_method(method);
  if (known == nullptr) return std::nullopt;
  const pb::MethodDescriptor& call = call_of(method);
  const auto parsed = make_message(*call.input_type());
  TY_REQUIRE(parsed->ParseFromString(message), "the request is no {}", call.input_type()->name());
  std::string text;
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto status = pb::util::MessageToJsonString(*parsed, &text, options);
  TY_REQUIRE(status.ok(), "the request is no {}", call.input_type()->name());
  const Json request = Json::parse(text, "the request");
  HttpForm form{known->http, "/v2" + std::string(known->path), ""};
  const auto field = [&](std::string_view name) {
    const Json* const value = request.find(name);
    return value == nullptr ? std::string() : value->as_string();
  };
  if (!known->model.empty()) {
    const std::string name = field(known->model);
    const std::string version = field("version");
    if (name.empty() && !known->nameless.empty()) {
      form.target = "/v2" + std::string(known->nameless);
    } else {
      form.target += "/" + url_encode(name);
      if (!version.empty()) form.target += "/versions/" + url_encode(version);
      form.target += known->verb;
    }
  }
  if (known->http == "POST") form.body = body_of(*known, request).dump(-1);
  return form;
}

std::string write_control(std::string_view method, const HttpResponse& response) {
  // `method` has been through read(), so it is known.
  const Method& known = *find_method(method);
  std::string json = response.body;
  if (response.status != Status::kOk) {
    const bool answer = known.refusal_is_answer && (response.status == Status::kBadRequest ||
                                                    response.status == Status::kNotFound ||
                                                    response.status == Status::kUnavailable);
    if (!answer) throw RequestError(response.status, error_text(response));
    json = R"({"ready":false})";
  }
  if (known.form != Method::Form::kPlain) {
    json = answer_form(known, Json::parse(json, "the answer")).dump(-1);
  }
  if (!known.wrapper.empty()) json = fmt::format(R"({{"{}":{}}})", known.wrapper, json);
  const pb::MethodDescriptor& call = call_of(method);
  const auto message = make_message(*call.output_type());
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // HTTP says more here and there
  // The answer is the server's own: one that does not fit the description is a defect, not the
  // client's fault.
  const auto status = pb::util::JsonStringToMessage(json, message.get(), options);
  TY_CHECK(status.ok(), "{}: {}", method, status.ToString());
  return message->SerializeAsString();
}

std::string error_text(const HttpResponse& response) {
  return Json::parse(response.body, "the answer").at("error").as_string();
}

}  // namespace trainyard::serve

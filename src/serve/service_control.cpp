// Calls that control the server beside its models: shared memory and traces (Triton's extensions).
#include "base/json_reader.h"
#include "base/parse_number.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

// A setting is a text, a number, or a list with one of them; null: the server's own again.
std::optional<std::string> setting_text(const Json& value) {
  if (value.is_array() && value.items().size() == 1) return setting_text(value.items()[0]);
  if (value.is_null() || (value.is_array() && value.items().empty())) return std::nullopt;
  return value.is_string() ? value.as_string() : value.dump(-1);
}

int64_t setting_number(const std::string& name, const std::string& text, int64_t least) {
  constexpr int64_t kMost = 1'000'000'000;
  const auto number = parse_number<int64_t>(text);
  if (!number || *number < least || *number > kMost) {
    refuse(Status::kBadRequest, "{} is '{}', expected {} to {}", name, text, least, kMost);
  }
  return *number;
}

// Changes one setting; `usual` is what holds where the request says null.
void change_trace(const std::string& name, const Json& value, const TraceSettings& usual,
                  TraceSettings& settings) {
  const std::optional<std::string> text = setting_text(value);
  if (name == "trace_level") {
    if (text && *text != "OFF" && *text != "TIMESTAMPS") {
      refuse(Status::kBadRequest, "trace_level is '{}', expected OFF or TIMESTAMPS", *text);
    }
    settings.on = text ? *text == "TIMESTAMPS" : usual.on;
  } else if (name == "trace_rate") {
    settings.every = text ? setting_number(name, *text, 1) : usual.every;
  } else if (name == "trace_count") {
    settings.left = text ? setting_number(name, *text, -1) : usual.left;
  } else if (name == "log_frequency") {
    if (text && *text != "0") {
      refuse(Status::kBadRequest, "log_frequency is '{}', expected 0: traces are kept in memory",
             *text);
    }
  } else if (name == "trace_file") {
    // What a client names is never written.
    refuse(Status::kBadRequest, "trace file location can not be updated through network protocol");
  } else {
    refuse(Status::kBadRequest,
           "unknown trace setting '{}', expected trace_level, trace_rate or trace_count", name);
  }
}

Json trace_settings_json(const TraceSettings& settings) {
  return Json::object({{"trace_file", ""},
                       {"trace_level", Json::array_of(std::vector<std::string>{
                                           settings.on ? "TIMESTAMPS" : "OFF"})},
                       {"trace_rate", std::to_string(settings.every)},
                       {"trace_count", std::to_string(settings.left)},
                       {"log_frequency", "0"},
                       {"trace_mode", "triton"}});
}

}  // namespace

void not_found(const Call& call) {
  if (call.method != "GET" && call.method != "HEAD" && call.method != "POST") {
    throw WrongMethod(fmt::format("Method Not Allowed: {} {}", call.method, call.path),
                      "GET, HEAD, POST");
  }
  refuse(Status::kNotFound, "Not Found: {}", call.path);
}

Json read_control_body(const Call& call) {
  if (call.body->empty()) return Json::object();
  JsonReader reader(*call.body, "the request");
  Json json = reader.value();
  reader.finish();
  if (!json.is_object()) refuse(Status::kBadRequest, "the request is no JSON object");
  return json;
}

// /v2/systemsharedmemory[/region/NAME]/(status|register|unregister), and the same of CUDA, of which
// there is none here: clients unregister what they never registered.
void Service::route_shared_memory(const CallPointer& call) {
  const std::vector<std::string>& parts = call->parts;
  const bool named = parts.size() == 5 && parts[2] == "region";
  if (!named && parts.size() != 3) not_found(*call);
  const std::string name = named ? parts[3] : "";
  const std::string& verb = parts.back();
  require_method(*call, verb == "status" ? "GET" : "POST");
  const bool system = parts[1] == "systemsharedmemory";
  if (!system && parts[1] != "cudasharedmemory") not_found(*call);
  if (system && !shared_memory_) {
    refuse(Status::kNotImplemented,
           "shared memory is switched off; start the server with shared_memory");
  }
  if (verb == "status") {
    return answer_json(call, system ? shared_memory_->status(name) : Json::array());
  }
  if (verb == "unregister") {
    if (system) shared_memory_->remove(name);
    return answer(call, {.body = "{}"});
  }
  if (verb != "register" || !named) not_found(*call);
  if (!system) refuse(Status::kNotImplemented, "there is no CUDA device here");
  shared_memory_->add(name, read_control_body(*call));
  answer(call, {.body = "{}"});
}

void Service::route_trace(const CallPointer& call, const std::string& model) {
  if (call->method == "POST") {
    const TraceSettings usual = log_.usual_trace(model);
    TraceSettings settings = log_.trace_settings(model);
    const Json body = read_control_body(*call);
    for (const auto& [name, value] : body.members()) change_trace(name, value, usual, settings);
    if (!body.members().empty()) log_.set_trace(model, settings);
  } else {
    require_method(*call, "GET");
  }
  answer_json(call, trace_settings_json(log_.trace_settings(model)));
}

}  // namespace trainyard::serve

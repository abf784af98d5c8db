// Which path is whose.
#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "serve/models/pictures.h"
#include "serve/models/rows.h"
#include "serve/page.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

// A member that may be left out; null says the same (clients write what they have not set).
const Json* find_given(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

// Of {"ready": true}; looked at before the value is read, however it is nested.
bool wants_ready_alone(const Call& call) {
  if (call.body->empty()) return false;
  bool ready = false;
  std::string key;
  JsonReader reader(*call.body, "the request");
  reader.enter_object();
  while (reader.next_key(key)) {
    const JsonReader::Kind kind = reader.peek();
    if (key == "ready" && kind == JsonReader::Kind::kBool) {
      ready = reader.boolean();
    } else if (key == "ready" && kind != JsonReader::Kind::kNull) {
      refuse(Status::kBadRequest, "Invalid value for 'ready': expected a boolean");
    } else {
      reader.skip();
    }
  }
  reader.finish();
  return ready;
}

// The files of a model that a request carries, by their path within the model's folder:
// "file:1/model.onnx" (Triton's extension).
std::map<std::string, std::string> read_uploads(const Json& parameters) {
  constexpr std::string_view kPrefix = "file:";
  std::map<std::string, std::string> files;
  for (const auto& [key, value] : parameters.members()) {
    if (!key.starts_with(kPrefix)) continue;
    // Triton's C++ client breaks the text into lines, as mail does.
    std::string text = value.as_string();
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
    files[key.substr(kPrefix.size())] = from_base64(text);
  }
  return files;
}

Json index_json(const Registry& registry, bool ready_only) {
  Json list = Json::array();
  for (const IndexEntry& entry : registry.index()) {
    if (ready_only && entry.state != VersionState::kReady) continue;
    Json row = Json::object({{"name", entry.name}});
    if (!entry.version.empty()) row["version"] = entry.version;
    row["state"] = state_name(entry.state);
    row["reason"] = entry.reason;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

bool Service::route_plain(const CallPointer& call) {
  const std::string& path = call->path;
  if (path == "/metrics") {
    require_method(*call, "GET");
    answer(call, {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics()});
    return true;
  }
  if (path == "/trace") {
    require_method(*call, "GET");
    answer(call, {.body = trace_json()});
    return true;
  }
  if (const auto page = find_page(path)) {
    require_method(*call, "GET");
    // Browsers get the page, everybody else what ONNX Runtime Server's probes expect.
    if (path == "/" && call->accept.find("text/html") == std::string::npos) {
      answer(call, {.content_type = "text/plain; charset=utf-8", .body = "Healthy"});
      return true;
    }
    answer(call, {.content_type = page->content_type, .body = page->body});
    return true;
  }
  return false;
}

// `parts[0]` is what follows the leading slash.
void Service::route(const CallPointer& call) {
  const std::vector<std::string>& parts = call->parts;
  if (route_plain(call)) return;
  if (parts.empty()) not_found(*call);  // the target was a query alone
  if (parts[0] == "v2") return route_v2(call);
  if (parts.size() == 1 && parts[0] == "score") return infer_score(call, "", "");
  if (parts[0] == "v1" && parts.size() >= 3 && parts[1] == "models") {
    // NAME:predict, or NAME/versions/N:predict.
    std::vector<std::string> rest(parts.begin() + 2, parts.end());
    const size_t colon = rest.back().rfind(':');
    const std::string verb = colon == std::string::npos ? "" : rest.back().substr(colon + 1);
    if (verb == "predict" || verb == "classify" || verb == "regress") {
      rest.back().resize(colon);
      if (rest.size() == 1) return infer_score(call, rest[0], "");
      if (rest.size() == 3 && rest[1] == "versions") return infer_score(call, rest[0], rest[2]);
    }
  }
  not_found(*call);
}

void Service::route_v2(const CallPointer& call) {
  const std::vector<std::string>& parts = call->parts;
  if (parts.size() == 1 || (parts.size() == 2 && parts[1].empty())) {
    require_method(*call, "GET");
    std::vector<std::string> extensions = {
        "classification",     "model_repository", "schedule_policy", "model_configuration",
        "binary_tensor_data", "parameters",       "statistics",      "trace"};
    if (shared_memory_) extensions.emplace_back("system_shared_memory");
    return answer_json(call, Json::object({{"name", options_.server_name},
                                           {"version", options_.server_version},
                                           {"extensions", Json::array_of(extensions)}}));
  }
  if (parts.size() == 3 && parts[1] == "health") {
    require_method(*call, "GET");
    // Ready means that a client may send work, live only that the process answers.
    const bool ready = !draining_ && registry_.ready();
    if (parts[2] == "live") return answer_json(call, Json::object({{"live", true}}));
    if (parts[2] == "ready") {
      HttpResponse response{.body = Json::object({{"ready", ready}}).dump(-1)};
      if (!ready) response.status = Status::kUnavailable;
      return answer(call, std::move(response));
    }
  }
  if (parts.size() >= 3 && parts[1] == "models") return route_model(call, 2);
  if (parts[1] == "repository") return route_repository(call);
  if (parts[1].ends_with("sharedmemory")) return route_shared_memory(call);
  if (parts.size() == 3 && parts[1] == "trace" && parts[2] == "setting") {
    return route_trace(call, "");
  }
  not_found(*call);
}

// `from` is where the name of the model stands. "stats" alone is for all models (Triton's
// statistics extension), so the metadata of a model of that name cannot be asked for.
void Service::route_model(const CallPointer& call, size_t from) {
  const std::vector<std::string>& parts = call->parts;
  if (parts.size() == from + 1 && parts[from] == "stats") {
    require_method(*call, "GET");
    return answer_json(call, statistics("", ""));
  }
  const std::string& name = parts[from++];
  std::string version;
  if (from + 1 < parts.size() && parts[from] == "versions") {
    version = parts[from + 1];
    from += 2;
  }
  if (version.empty() && parts.size() == from + 2 && parts[from] == "trace" &&
      parts[from + 1] == "setting") {
    registry_.find(name, "");  // says why not
    return route_trace(call, name);
  }
  if (parts.size() > from + 1) not_found(*call);
  const std::string verb = from < parts.size() ? parts[from] : "";
  if (verb == "infer") {
    require_body(*call);
    return infer_v2(call, name, version);
  }
  require_method(*call, "GET");
  if (verb.empty()) return answer_json(call, model_metadata(*registry_.find(name, version)));
  if (verb == "ready") {
    registry_.find(name, version);  // says why not
    return answer_json(call, Json::object({{"name", name}, {"ready", true}}));
  }
  if (verb == "config") {
    return answer_json(call, config_json(registry_.find(name, version)->config()));
  }
  if (verb == "stats") return answer_json(call, statistics(name, version));
  not_found(*call);
}

void Service::route_repository(const CallPointer& call) {
  const std::vector<std::string>& parts = call->parts;
  // The name of a repository may stand in front, as the extension allows; there is only one.
  if (parts.back() == "index" && parts.size() <= 4) {
    require_method(*call, "POST");
    return answer_json(call, index_json(registry_, wants_ready_alone(*call)));
  }
  // /v2/repository[/NAME]/models/M/load
  const size_t size = parts.size();
  if (size >= 5 && size <= 6 && parts[size - 3] == "models" &&
      (parts[size - 1] == "load" || parts[size - 1] == "unload")) {
    require_method(*call, "POST");
    return change_models(call, parts[size - 2], parts[size - 1] == "load");
  }
  not_found(*call);
}

void Service::change_models(const CallPointer& call, const std::string& name, bool load) {
  if (options_.fixed_models) {
    refuse(Status::kForbidden, "explicit model load / unload is not allowed{}: {}",
           options_.poll.count() > 0 ? " if polling is enabled" : "",
           "the server was started with `fixed_models`");
  }
  const Json body = read_control_body(*call);
  Json override;
  std::map<std::string, std::string> files;
  if (const Json* parameters = find_given(body, "parameters")) {
    files = read_uploads(*parameters);
    if (!files.empty() && !options_.uploads) {
      refuse(Status::kNotImplemented,
             "parameters.file:{}: models are loaded from the repository alone; start the server "
             "with uploads",
             files.begin()->first);
    }
    if (const Json* config = find_given(*parameters, "config")) {
      const std::string origin = fmt::format("failed to load '{}', parameters.config", name);
      JsonReader reader(config->as_string(), origin);
      override = reader.value();
      reader.finish();
    }
  }
  // Loading takes seconds, so it is done one by one on a thread of its own; the answer follows from
  // there.
  const bool posted = loader_->post([this, call, name, load, override, files] {
    try {
      if (load && !files.empty()) {
        registry_.load_files(name, override, files);
      } else if (load) {
        registry_.load(name, override);
      } else {
        registry_.unload(name);
      }
      answer(call, {.body = "{}"});
    } catch (...) {
      answer(call, failure(*call, std::current_exception()));
    }
  });
  if (!posted) {
    throw RequestError(Status::kUnavailable, "too many models are waiting to be loaded", 1);
  }
}

Json Service::model_metadata(const ModelVersion& model) const {
  const auto tensors = [](const std::vector<TensorSpec>& specs) {
    Json list = Json::array();
    for (const TensorSpec& spec : specs) {
      list.push_back(Json::object({{"name", spec.name},
                                   {"datatype", protocol_name(spec.dtype)},
                                   {"shape", Json::array_of(spec.client_dims())}}));
    }
    return list;
  };
  // Asked of the registry, since other versions may have come or gone since this one was found.
  Json versions = Json::array();
  for (const IndexEntry& entry : registry_.index()) {
    if (entry.name == model.name() && entry.state == VersionState::kReady) {
      versions.push_back(entry.version);
    }
  }
  return Json::object({{"name", model.name()},
                       {"versions", std::move(versions)},
                       {"platform", model.config().platform},
                       {"inputs", tensors(model.network().inputs())},
                       {"outputs", tensors(model.network().outputs())}});
}

Json Service::statistics(const std::string& name, const std::string& version) const {
  Json list = Json::array();
  if (!name.empty()) registry_.find(name, version);  // refuses what is not known
  for (const auto& model : registry_.all()) {
    if (!name.empty() && model->name() != name) continue;
    if (!version.empty() && model->version() != version) continue;
    list.push_back(statistics_json(model->name(), model->version(), model->statistics().snapshot(),
                                   model->memory_bytes()));
  }
  return Json::object({{"model_stats", std::move(list)}});
}

void Service::infer_v2(const CallPointer& call, const std::string& model,
                       const std::string& version) {
  const std::shared_ptr<ModelVersion> found = registry_.find(model, version);
  const std::string& length_text = call->inference_header_length;
  std::optional<size_t> json_bytes;
  if (!length_text.empty()) {
    size_t length = 0;
    const char* const end = length_text.data() + length_text.size();
    const auto result = std::from_chars(length_text.data(), end, length);
    if (result.ec != std::errc() || result.ptr != end) {
      refuse(Status::kBadRequest, "Inference-Header-Content-Length is '{}', expected a number",
             length_text);
    }
    json_bytes = length;
  }
  if (!json_bytes && is_picture(*call->body)) {
    return infer_picture(call, found, version);
  }
  // A header of length 0 means that the whole body is one tensor (binary tensor data extension).
  const bool raw = json_bytes == size_t{0};
  InferRequest request =
      !json_bytes && is_rows_body(*call->body, found->network())
          ? read_rows_body(call->body, found->network())
      : raw ? read_v2_raw(call->body, found->network().inputs(), found->network().takes_pictures())
            : read_v2_request(call->body, json_bytes, call->ahead.get(), shared_memory());
  call->ahead = nullptr;  // its numbers are in their tensor
  if (raw && call->accept.find("application/json") != std::string::npos) request.all_binary = false;
  request.times.arrived = call->arrived;
  const uint64_t bytes_in = call->body->size();
  // What the answer needs of the request, without the tensors, whose memory is free once the batch
  // is computed.
  const auto wanted = without_inputs(request);
  const bool binary =
      wanted->outputs.empty()
          ? wanted->all_binary
          : std::all_of(wanted->outputs.begin(), wanted->outputs.end(),
                        [](const RequestedOutput& output) { return output.binary; });
  count_numbers(*call, request);
  infer(*call, found, version, std::move(request),
        answer_with(
            call, binary ? 1 : kTextGrowth, [wanted, found, bytes_in](const InferResult& result) {
              V2Response written = write_v2_response(*wanted, result, found->network().labels());
              found->statistics().add_bytes(bytes_in, written.body.size());
              HttpResponse response{.body = std::move(written.body)};
              if (written.json_bytes > 0) {
                response.content_type = "application/octet-stream";
                response.add_header("Inference-Header-Content-Length",
                                    std::to_string(written.json_bytes));
              }
              return response;
            }));
}

// The answer is made off the thread of the sockets: drawing takes longer than that has.
void Service::infer_picture(const CallPointer& call, const std::shared_ptr<ModelVersion>& model,
                            const std::string& version) {
  const auto question =
      std::make_shared<const PictureRequest>(read_question(call->body, call->accept, call->query));
  InferRequest request =
      read_v2_raw(call->body, model->network().inputs(), model->network().takes_pictures());
  request.times.arrived = call->arrived;
  // `call` and `model` are kept alive by the callback: the client may be gone and the model
  // unloaded by the time it runs.
  infer(*call, model, version, std::move(request),
        [this, call, model, question](std::variant<InferResult, std::exception_ptr> got) {
          auto response = std::make_shared<HttpResponse>();
          auto kept = std::make_shared<decltype(got)>(std::move(got));
          const auto make = [this, call, model, question, response, kept] {
            try {
              const auto* const result = std::get_if<InferResult>(kept.get());
              if (result == nullptr) std::rethrow_exception(std::get<std::exception_ptr>(*kept));
              *response = answer_question(*question, *result, model->network());
              model->statistics().add_bytes(question->picture->size(), response->body.size());
            } catch (...) {
              *response = failure(*call, std::current_exception());
            }
            call->reply([this, call, response, kept] {
              return finish(*call, std::move(*response), std::get_if<InferResult>(kept.get()));
            });
            return false;
          };
          if (!question->drawn) {
            make();
            return;
          }
          const data::PictureSize size = data::picture_size(*question->picture);
          const int64_t pixels = size.height * size.width;
          registry_.side_work().of(pixels).post(SlowWork::turn_of(Clock::now(), pixels), make);
        });
}

}  // namespace trainyard::serve

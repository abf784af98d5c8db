#include "serve/server.h"

#include <algorithm>
#include <exception>
#include <ostream>
#include <sys/resource.h>
#include <thread>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/file.h"
#include "serve/models/idle_memory.h"

namespace trainyard::serve {
namespace {

// Every connection is a file, of which a process may have few unless it asks for more.
void allow_files(size_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, connections + 256);
  setrlimit(RLIMIT_NOFILE, &limit);
}

void say_models(const Registry& registry, std::ostream& out) {
  for (const IndexEntry& entry : registry.index()) {
    fmt::print(out, "  {} {}{}{}{}\n", entry.name, entry.version, entry.version.empty() ? "" : " ",
               state_name(entry.state), entry.reason.empty() ? "" : ": " + entry.reason);
  }
  for (const auto& model : registry.all()) {
    for (const std::string& field : model->config().ignored) {
      fmt::print(out, "  {}: the configuration's field '{}' means nothing here\n", model->name(),
                 field);
    }
  }
}

// A curl line that works as it stands: zeros of the network's own shape, or a picture.
std::string curl_line(const ModelVersion& model, const std::string& address, bool token) {
  const Network& network = model.network();
  const std::string url = fmt::format("{}/v2/models/{}/infer", address, model.name());
  const std::string header = token ? " -H \"Authorization: Bearer $TOKEN\"" : "";
  if (network.takes_pictures()) return fmt::format("curl{} --data-binary @cat.jpg {}", header, url);
  std::string inputs;
  for (const TensorSpec& spec : network.inputs()) {
    std::vector<int64_t> dims = spec.dims;
    int64_t count = 1;
    for (int64_t& dim : dims) count *= dim = std::max<int64_t>(dim, 1);
    std::string data;
    for (int64_t i = 0; i < std::min<int64_t>(count, 64); ++i) data += i > 0 ? ",0" : "0";
    if (count > 64) return fmt::format("curl{} {}/v2/models/{}", header, address, model.name());
    inputs += fmt::format(R"({}{{"name":"{}","datatype":"{}","shape":{},"data":[{}]}})",
                          inputs.empty() ? "" : ",", spec.name, protocol_name(spec.dtype),
                          dims_text(dims), data);
  }
  return fmt::format("curl{} -d '{{\"inputs\":[{}]}}' {}", header, inputs, url);
}

void greet(const ServerOptions& options, const Registry& registry, uint16_t port,
           const Listener* other, std::ostream& out) {
  const bool tls = !options.http.tls.certificate.empty();
  const std::string host = options.http.host.find(':') == std::string::npos
                               ? options.http.host
                               : "[" + options.http.host + "]";
  const std::string address = fmt::format("http{}://{}:{}", tls ? "s" : "", host, port);
  fmt::print(out, "serving on {}\n", address);
  if (other != nullptr) fmt::print(out, "serving on {}\n", other->address());
  say_models(registry, out);
  const auto models = registry.all();
  if (!models.empty()) {
    fmt::print(out, "try   {}\n", curl_line(*models[0], address, !options.service.token.empty()));
  }
  fmt::print(out, "page  {}/\n", address);
  out.flush();
}

void load_models(const ServerOptions& options, Registry& registry) {
  if (!options.config.name.empty()) {
    NetworkSource source = model_source(options.model);
    if (!options.labels.empty()) source.labels = options.labels;
    if (options.picture) source.picture = *options.picture;
    registry.add(options.config, std::move(source));
  }
  if (!options.registry.repository.empty()) registry.load_all();
}

}  // namespace

int run_server(const ServerOptions& options, std::ostream& out) {
  keep_large_blocks();
  allow_files(options.http.limits.connections);
  Registry registry(options.registry);
  Service service(options.service, registry);
  registry.begin_start();
  HttpServer server(options.http, service);
  // Whether it can be written is known before anybody asks.
  if (!options.trace_file.empty()) write_file(options.trace_file, service.trace_json());
  const std::unique_ptr<Listener> other = options.listen ? options.listen(service) : nullptr;
  server.on_signal([&] {
    service.drain();
    registry.stop_loading();
    server.stop(options.drain);
  });
  // Beside the sockets, which answer at once: /v2/health/ready says when it is done.
  std::exception_ptr problem;
  std::thread loading([&] {
    try {
      load_models(options, registry);
      registry.end_start();
      greet(options, registry, server.port(), other.get(), out);
      forget_what_loading_needed();
    } catch (...) {
      problem = std::current_exception();
      server.stop(std::chrono::milliseconds(0));
    }
  });
  server.run();
  loading.join();
  if (problem) std::rethrow_exception(problem);
  registry.shut_down(options.drain);
  if (!options.trace_file.empty()) write_file(options.trace_file, service.trace_json());
  return 0;
}

}  // namespace trainyard::serve

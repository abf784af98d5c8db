#include "serve/server.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <optional>
#include <ostream>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/shell.h"
#include "http/events.h"
#include "http/url.h"
#include "serve/models/idle_memory.h"
#include "serve/models/model_version.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

// Lists of more numbers are nothing to paste.
constexpr int64_t kMostNumbers = 64;

// Zeros for all inputs; nothing if that is too long, or a name is not to be shown as it is.
std::string zeros_json(const Network& network) {
  Json inputs = Json::array();
  for (const TensorSpec& spec : network.inputs()) {
    std::vector<int64_t> dims = spec.dims;
    int64_t count = 1;
    for (int64_t& dim : dims) {
      dim = std::max<int64_t>(dim, 1);
      count = std::min(count, kMostNumbers + 1) * dim;
    }
    if (count > kMostNumbers || printable_line(spec.name) != spec.name) return "";
    inputs.push_back(
        Json::object({{"name", spec.name},
                      {"datatype", protocol_name(spec.dtype)},
                      {"shape", Json::array_of(dims)},
                      {"data", Json::array_of(std::vector<int>(static_cast<size_t>(count)))}}));
  }
  return Json::object({{"inputs", std::move(inputs)}}).dump(-1);
}

// Works as it stands: zeros of the network's own shape, or a picture. Whatever names a file gives
// to its inputs, a shell runs nothing but curl, and a terminal shows nothing but text.
std::string curl_line(const ModelVersion& model, const std::string& address, bool token) {
  const std::string url = fmt::format("{}/v2/models/{}", address, url_encode(model.name()));
  const std::string begin = token ? "curl -H \"Authorization: Bearer $TOKEN\"" : "curl";
  if (model.network().takes_pictures()) {
    return fmt::format("{} --data-binary @cat.jpg {}", begin, shell_word(url + "/infer"));
  }
  if (model.network().table()) {
    return fmt::format("{} --data-binary @rows.csv {}", begin, shell_word(url + "/infer"));
  }
  const std::string json = zeros_json(model.network());
  if (json.empty()) return fmt::format("{} {}", begin, shell_word(url));
  return fmt::format("{} -d {} {}", begin, shell_word(json), shell_word(url + "/infer"));
}

// Every connection is a file, of which a process may have few unless it asks for more. What serves
// them needs some before the first comes, and gRPC ends the process where it gets none.
void allow_files(size_t connections) {
  constexpr rlim_t kLeast = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_max < kLeast) {
    throw_failure("a server needs {} open files at least, {} are allowed; see ulimit -n", kLeast,
                  limit.rlim_max);
  }
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, connections + 256);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// In a signal handler, where little is allowed.
extern "C" void end_anyway(int) {
  constexpr std::string_view kText =
      "error: what was under way did not end within `drain`; the server ends without it\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(1);
}

// However long a network computes, a server that was told to end does.
void end_after(std::chrono::milliseconds limit) {
  constexpr std::chrono::seconds kGrace{3};
  std::signal(SIGALRM, end_anyway);
  alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(limit + kGrace).count()));
}

void say_models(const Registry& registry, std::ostream& out) {
  for (const IndexEntry& entry : registry.index()) {
    fmt::print(out, "  {} {}{}{}{}\n", printable_line(entry.name), entry.version,
               entry.version.empty() ? "" : " ", state_name(entry.state),
               entry.reason.empty() ? "" : ": " + printable_line(entry.reason));
  }
  for (const auto& model : registry.all()) {
    for (const std::string& field : model->config().ignored) {
      fmt::print(out, "  {}: the configuration's field '{}' means nothing here\n",
                 printable_line(model->name()), printable_line(field));
    }
  }
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
  for (const ServerOptions::Model& model : options.models) {
    NetworkSource source = model_source(model.request);
    if (!options.labels.empty()) source.labels = options.labels;
    if (options.picture) source.picture = *options.picture;
    registry.add(model.config, std::move(source));
  }
  if (!options.registry.repository.empty()) registry.load_all();
}

// On SIGHUP. What cannot be read stays as it was.
void reload(const ServerOptions& options, Service& service, HttpServer& server) {
  try {
    if (options.read_token) service.set_token(options.read_token());
    server.reload_tls();
    service.poll_soon();
    say_event("SIGHUP: token, certificate and repository are read again");
  } catch (const std::exception& error) {
    say_event(fmt::format("SIGHUP: {}; the old one stays", error.what()));
  }
}

// Beside the sockets, which answer at once: /v2/health/ready says when it is done.
class Loading {
 public:
  template <typename F>
  Loading(HttpServer& server, F&& work)
      : thread_([this, &server, work = std::forward<F>(work)] {
          try {
            work();
          } catch (...) {
            problem_ = std::current_exception();
            server.stop(std::chrono::milliseconds(0));
          }
        }) {}
  ~Loading() {
    if (thread_.joinable()) thread_.join();
  }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  // Throws what went wrong.
  void end() {
    thread_.join();
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  std::exception_ptr problem_;
  std::thread thread_;
};

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
  std::optional<Clock::time_point> end;  // of the time to drain
  server.on_signals(
      [&] {
        end_after(options.drain);
        end = Clock::now() + options.drain;
        service.drain();
        registry.stop_loading();
        server.stop(options.drain);
      },
      [&] { reload(options, service, server); });
  Loading loading(server, [&] {
    load_models(options, registry);
    registry.end_start();
    greet(options, registry, server.port(), other.get(), out);
    forget_what_loading_needed();
  });
  server.run();
  registry.stop_loading();
  try {
    loading.end();
  } catch (const std::exception&) {
    if (!end) throw;  // else it was given up because the server ends
  }
  const Clock::duration left = end.value_or(Clock::now()) - Clock::now();
  registry.shut_down(std::chrono::ceil<std::chrono::milliseconds>(left));
  if (!options.trace_file.empty()) write_file(options.trace_file, service.trace_json());
  return 0;
}

}  // namespace trainyard::serve

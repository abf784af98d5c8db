// `trainyard serve`: networks behind HTTP.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/names_file.h"
#include "base/text.h"
#include "engine/kernels/parallel/parallel.h"
#include "http/events.h"
#include "program/bench_server.h"
#include "program/command.h"
#include "program/given_inputs.h"
#include "program/model_argument.h"
#include "program/server_token.h"
#include "program/version.h"
#include "serve/grpc/grpc_server.h"
#include "serve/load/view.h"
#include "serve/server.h"
#include "train/execution_view.h"

namespace trainyard::cli {
namespace {

constexpr int64_t kDay = 86'400;  // seconds

struct ServeFlags {
  std::vector<std::string> models;  // or "bench" and what it loads
  network::Request request;
  std::string name;
  std::string repository;
  std::string host = "127.0.0.1";
  int64_t port = 8000;
  std::optional<int64_t> grpc_port;
  std::string token_file;
  bool insecure = false;
  std::string tls_certificate;
  std::string tls_key;
  std::string labels;
  std::vector<std::string> shapes;
  std::vector<double> mean;
  std::vector<double> std;
  int64_t resize = 0;
  std::optional<int64_t> max_batch;
  std::vector<int64_t> preferred;
  int64_t delay_us = 0;
  int64_t queue = 256;
  int64_t timeout_ms = 0;
  int64_t instances = 0;
  int64_t threads = 0;
  std::string device = "cpu";
  std::string precision = "f32";
  int64_t cache_mb = 0;
  double rate_limit = 0;
  int64_t max_body_mb = 64;
  int64_t memory_mb = 1024;
  int64_t body_s = 30;
  int64_t connections = 1024;
  std::optional<int64_t> client_connections;
  std::string allowed_hosts;
  bool shared_memory = false;
  bool uploads = false;
  bool fixed_models = false;
  int64_t idle_s = 75;
  int64_t poll_s = 0;
  int64_t drain_s = 10;
  std::string access_log;
  std::string trace;
  int64_t trace_every = 100;
  std::string server_name = "trainyard";
  std::string log_format = "text";
  serve::LoadOptions load;
  report::Format format = report::Format::kText;

  bool bench() const { return !models.empty() && models[0] == "bench"; }
  // What bench loads: a MODEL or an address; empty: nothing was named.
  std::string url() const { return models.size() > 1 ? models[1] : ""; }
};

// See docs/limits.md.
void check_numbers(const ServeFlags& flags) {
  TY_REQUIRE(flags.memory_mb >= flags.max_body_mb,
             "--memory is {} MiB, expected at least the {} of --max-body", flags.memory_mb,
             flags.max_body_mb);
}

serve::ModelConfig default_config(const ServeFlags& flags) {
  serve::ModelConfig config;
  config.max_batch = flags.max_batch;
  config.preferred_batches = flags.preferred;
  config.max_delay = std::chrono::microseconds(flags.delay_us);
  config.max_queue = flags.queue;
  if (flags.timeout_ms > 0) config.default_timeout = std::chrono::milliseconds(flags.timeout_ms);
  config.instances = flags.instances;
  config.threads = flags.threads;
  config.device = flags.device;
  config.precision = flags.precision;
  config.response_cache = flags.cache_mb > 0;
  return config;
}

// Certificate and key are only useful together.
serve::HttpOptions http_options(const ServeFlags& flags) {
  TY_REQUIRE(flags.tls_certificate.empty() == flags.tls_key.empty(),
             "--tls-certificate and --tls-key go together");
  serve::HttpOptions http;
  http.host = flags.host;
  http.port = static_cast<uint16_t>(flags.port);
  http.limits.body_bytes = static_cast<size_t>(flags.max_body_mb) << 20;
  http.limits.connections = static_cast<size_t>(flags.connections);
  // So that one client alone does not keep all others out.
  http.limits.client_connections = static_cast<size_t>(
      flags.client_connections.value_or(std::max<int64_t>(1, flags.connections * 3 / 4)));
  http.limits.idle = std::chrono::seconds(flags.idle_s);
  http.limits.body = std::chrono::seconds(flags.body_s);
  http.limits.memory =
      std::make_shared<serve::MemoryBudget>(static_cast<size_t>(flags.memory_mb) << 20);
  http.tls = {flags.tls_certificate, flags.tls_key};
  return http;
}

// Handed in as a function, so that the server itself needs nothing of gRPC.
void fill_grpc(const ServeFlags& flags, serve::ServerOptions& options) {
  if (!flags.grpc_port) return;
  const serve::GrpcOptions grpc{.host = flags.host,
                                .port = static_cast<uint16_t>(*flags.grpc_port),
                                .message_bytes = options.http.limits.body_bytes,
                                .idle = options.http.limits.idle,
                                .tls = options.http.tls};
  options.listen = [grpc](serve::Service& service) { return serve::listen_grpc(grpc, service); };
}

// What flags say holds; else what the model's file says, else ImageNet's.
void fill_picture(const ServeFlags& flags, serve::ServerOptions& options) {
  if (!flags.labels.empty()) options.labels = read_names(flags.labels);
  if (flags.mean.empty() && flags.std.empty() && flags.resize == 0) return;
  serve::PictureInput picture;
  picture.given = true;
  picture.preprocessing.resize_shorter = flags.resize;
  const auto set = [](const char* flag, const std::vector<double>& given, float* target) {
    if (given.empty()) return;
    TY_REQUIRE(given.size() == 3, "{} takes three numbers, as 0.485,0.456,0.406", flag);
    for (size_t i = 0; i < 3; ++i) target[i] = static_cast<float>(given[i]);
  };
  set("--mean", flags.mean, picture.preprocessing.mean);
  set("--std", flags.std, picture.preprocessing.std);
  for (const float std : picture.preprocessing.std) {
    TY_REQUIRE(std != 0, "--std must not be zero");
  }
  options.picture = picture;
}

void check_name(const std::string& name) {
  TY_REQUIRE(!name.empty() && name.find('/') == std::string::npos && name != "..",
             "the name '{}': a name in addresses, without a slash", name);
}

// Of the model in addresses.
// Names of files lose their ending.
std::string model_name(const ServeFlags& flags, const std::string& model) {
  if (!flags.name.empty()) {
    check_name(flags.name);
    return flags.name;
  }
  std::string name = network::label(model);
  if (name.ends_with(".onnx")) name.resize(name.size() - 5);
  return name;
}

// Arguments of a server that bench starts itself.
std::vector<std::string> server_arguments(const ServeFlags& flags) {
  std::vector<std::string> arguments = {flags.url()};
  const auto add = [&](const std::string& flag, const std::string& value) {
    arguments.push_back(flag);
    arguments.push_back(value);
  };
  if (!flags.request.weights.empty()) add("--weights", flags.request.weights);
  if (!flags.name.empty()) add("--name", flags.name);
  if (flags.max_batch) add("--max-batch", std::to_string(*flags.max_batch));
  add("--batch-delay", std::to_string(flags.delay_us));
  add("--queue", std::to_string(flags.queue));
  add("--instances", std::to_string(flags.instances));
  add("--threads", std::to_string(flags.threads));
  add("--device", flags.device);
  add("--precision", flags.precision);
  add("--client-connections", "1024");  // all are ours
  return arguments;
}

int bench_command(const ServeFlags& flags, std::ostream& out) {
  TY_REQUIRE(flags.repository.empty(), "'serve bench' takes a MODEL or a URL, no --repository");
  TY_REQUIRE(flags.models.size() <= 2, "'serve bench' takes one MODEL or URL, got {}",
             flags.models.size() - 1);
  serve::LoadOptions load = flags.load;
  load.url = flags.url();
  load.token = read_server_token(flags.token_file);
  // Without an address the server is a process of its own, which shares nothing with the one that
  // measures but the machine.
  if (load.url.empty() || load.url.find("://") != std::string::npos) {
    TY_REQUIRE(!load.url.empty() && !load.model.empty(),
               "serve bench needs an address and --model NAME, as in 'serve bench "
               "http://127.0.0.1:8000 --model resnet50'");
    return report_load(load, flags.format, out);
  }
  const BenchServer server(server_arguments(flags));
  load.url = server.url();
  if (load.model.empty()) load.model = model_name(flags, flags.url());
  return report_load(load, flags.format, out);
}

// "digits=net.onnx" is a model with its name; a file that is really called so comes without one.
serve::ServerOptions::Model served_model(const ServeFlags& flags, const std::string& text) {
  serve::ServerOptions::Model served{default_config(flags), flags.request};
  const size_t sign = text.find('=');
  const bool named = sign != std::string::npos && !std::filesystem::exists(text);
  served.request.model = named ? text.substr(sign + 1) : text;
  for (const std::string& shape : flags.shapes) served.request.shapes.insert(parse_shape(shape));
  served.config.name = named ? text.substr(0, sign) : model_name(flags, text);
  check_name(served.config.name);
  return served;
}

void fill_models(const ServeFlags& flags, serve::ServerOptions& options) {
  if (flags.models.size() > 1) {
    TY_REQUIRE(flags.name.empty() && flags.request.weights.empty() && flags.shapes.empty() &&
                   flags.labels.empty() && flags.mean.empty() && flags.std.empty() &&
                   flags.resize == 0,
               "--name, --weights, --shape, --labels, --mean, --std and --resize are of one MODEL; "
               "with several, give names as digits=net.onnx");
  }
  for (const std::string& text : flags.models) {
    TY_REQUIRE(text.find("://") == std::string::npos,
               "serve takes MODELs; an address goes with 'serve bench'");
    serve::ServerOptions::Model model = served_model(flags, text);
    for (const serve::ServerOptions::Model& other : options.models) {
      TY_REQUIRE(other.config.name != model.config.name,
                 "two models are called '{}'; give them names, as one={} two={}", model.config.name,
                 other.request.model, model.request.model);
    }
    options.models.push_back(std::move(model));
  }
  if (!options.models.empty()) fill_picture(flags, options);
}

int serve_command(const ServeFlags& flags, std::ostream& out) {
  check_numbers(flags);
  if (flags.bench()) return bench_command(flags, out);
  TY_REQUIRE(flags.models.empty() != flags.repository.empty(),
             "serve needs a MODEL or --repository DIR, and not both");
  TY_REQUIRE(flags.log_format == "text" || flags.log_format == "json",
             "--log-format is '{}', expected text or json", flags.log_format);
  serve::set_event_form(flags.log_format == "json" ? serve::EventForm::kJson
                                                   : serve::EventForm::kText);
  serve::ServerOptions options;
  options.http = http_options(flags);
  fill_grpc(flags, options);
  options.service.token = read_server_token(flags.token_file);
  require_token_elsewhere(flags.host, options.service.token, flags.insecure);
  // A token that came with the start stays; a file may hold another one by now.
  if (!flags.token_file.empty())
    options.read_token = [file = flags.token_file] { return read_server_token(file); };
  if (!flags.allowed_hosts.empty()) options.service.allowed_hosts = split(flags.allowed_hosts, ',');
  options.service.shared_memory = flags.shared_memory;
  options.service.uploads = flags.uploads;
  options.service.fixed_models = flags.fixed_models;
  options.service.memory = options.http.limits.memory;
  options.service.server_name = flags.server_name;
  options.service.server_version = kVersionText;
  options.service.requests_per_s = flags.rate_limit;
  options.service.body_bytes = options.http.limits.body_bytes;
  options.service.access_log = flags.access_log;
  options.service.trace_every = flags.trace.empty() ? 0 : flags.trace_every;
  options.service.poll = std::chrono::seconds(flags.poll_s);
  options.registry.repository = flags.repository;
  options.registry.defaults = default_config(flags);
  options.registry.cache_bytes = flags.cache_mb << 20;
  options.registry.cores = kernels::available_cores();
  options.drain = std::chrono::seconds(flags.drain_s);
  options.trace_file = flags.trace;
  fill_models(flags, options);
  return serve::run_server(options, out);
}

void declare_batching(Args& args, ServeFlags& flags) {
  args.option("--max-batch", flags.max_batch,
              "largest batch; 0: no batching (default: 8 where the network has a batch dimension)",
              between(0, 1'024));
  args.option("--batch-sizes", flags.preferred, "sizes of batches, as 1,4,8 (powers of two)");
  args.option("--batch-delay", flags.delay_us,
              "microseconds to wait for a fuller batch; 0: do not wait", between(0, kDay * 1e6));
  args.option("--queue", flags.queue, "queue length; further requests get status 503",
              between(0, 1'000'000));
  args.option("--timeout", flags.timeout_ms,
              "milliseconds a request may wait in the queue; 0: no limit", between(0, kDay * 1e3));
  args.option("--instances", flags.instances,
              "batches of a model computed at the same time; 0: chosen by measurement",
              between(0, 1'024));
  args.option("--threads", flags.threads, "threads per instance; 0: cores / instances",
              between(0, 1'024));
  args.option("--device", flags.device, kDeviceHelp);
  args.option("--precision", flags.precision, kPrecisionHelp);
  args.option("--cache", flags.cache_mb, "MiB of responses to keep; 0: none", between(0, 1 << 20));
}

void declare_limits(Args& args, ServeFlags& flags) {
  args.option("--token", flags.token_file,
              "file with the token that requests must carry (or the variable TRAINYARD_TOKEN)");
  args.flag("--insecure", flags.insecure, "let other machines send requests without a token");
  args.option("--tls-certificate", flags.tls_certificate, "PEM file: speak TLS");
  args.option("--tls-key", flags.tls_key, "PEM file with its key");
  args.option("--rate-limit", flags.rate_limit,
              "requests per second allowed for one client; 0: no limit", between(0, 1e9));
  args.option("--max-body", flags.max_body_mb, "largest request in MiB", between(1, 2'047));
  args.option("--memory", flags.memory_mb,
              "MiB for all requests and responses in flight; above that requests get status 503",
              between(1, 1 << 20));
  args.option("--body-time", flags.body_s, "seconds allowed for a request body to arrive",
              between(1, kDay));
  args.option("--connections", flags.connections, "most open connections", between(1, 1'000'000));
  args.option("--client-connections", flags.client_connections,
              "most open connections from one address (default: 3/4 of --connections)",
              between(1, 1'000'000));
  args.option("--allowed-host", flags.allowed_hosts,
              "host names that clients may use without a token, as a.example,b.example, in "
              "addition to the server's own name and addresses; *: any");
  args.flag("--shared-memory", flags.shared_memory,
            "let clients on this machine pass tensors in system shared memory");
  args.flag("--uploads", flags.uploads, "let load requests carry the model file");
  args.flag("--fixed-models", flags.fixed_models,
            "let no request load or unload a model; --poll still does");
  args.option("--idle", flags.idle_s, "seconds after which an idle connection is closed",
              between(1, kDay));
  args.option("--drain", flags.drain_s, "seconds to finish open requests after SIGTERM",
              between(0, kDay));
}

void declare_load(Args& args, ServeFlags& flags) {
  args.option("--model", flags.load.model, "bench: the model's name");
  args.option("--concurrency", flags.load.concurrency,
              "bench: concurrent requests; one row for each number", between(1, 1000));
  args.option("--rate", flags.load.rate,
              "bench: requests per second (open loop); 0: send the next after each response",
              Range{.least = 0.001, .most = 1e6, .or_else = 0});
  args.option("--seconds", flags.load.seconds, "bench: seconds per row", between(0.001, kDay));
  args.option("--rows", flags.load.batch, "bench: rows of a request", between(1, 1024));
  args.option("--payloads", flags.load.payloads, "bench: number of different inputs",
              between(1, 1000));
  args.flag("--json-tensors", flags.load.json, "bench: tensors as JSON, not as bytes");
  args.format(flags.format);
}

// What a server of one model, one of a repository and the two ways of bench read.
void declare_ways(Args& args, const std::shared_ptr<ServeFlags>& flags) {
  const auto way = [flags]() -> std::string {
    if (!flags->bench()) return flags->repository.empty() ? "MODEL" : "--repository";
    return flags->url().find("://") == std::string::npos ? "bench MODEL" : "bench URL";
  };
  args.own_flags(
      way, {{{"MODEL", "bench MODEL"}, {"weights", "name"}},
            {{"MODEL"}, {"shape", "labels", "resize", "mean", "std"}},
            {{"--repository"}, {"poll"}},
            {{"MODEL", "--repository"},
             {"host",       "port",         "grpc-port",          "batch-sizes",  "timeout",
              "cache",      "insecure",     "rate-limit",         "max-body",     "memory",
              "body-time",  "connections",  "client-connections", "allowed-host", "shared-memory",
              "uploads",    "fixed-models", "tls-certificate",    "tls-key",      "idle",
              "drain",      "access-log",   "log-format",         "trace",        "trace-every",
              "server-name"}},
            {{"MODEL", "--repository", "bench MODEL"},
             {"max-batch", "batch-delay", "queue", "instances", "threads", "device", "precision"}},
            {{"bench MODEL", "bench URL"},
             {"model", "concurrency", "rate", "seconds", "rows", "payloads", "json-tensors"}}});
}

Runner setup_serve(Args& args) {
  auto flags = std::make_shared<ServeFlags>();
  args.optional_positionals("MODEL", flags->models,
                            "names of 'trainyard models', .onnx files or run directories, each "
                            "maybe with its own name as digits=net.onnx; or bench, and the URL of "
                            "the server that it loads or a MODEL that it serves itself");
  args.option("--weights", flags->request.weights, "a safetensors file with MODEL's weights");
  args.option("--name", flags->name, "name of the model in URLs");
  args.option("--repository", flags->repository, "folder with NAME/VERSION/model.onnx");
  args.option("--poll", flags->poll_s, "seconds between checks of the repository; 0: never",
              between(0, kDay));
  args.option("--host", flags->host, "address to listen on");
  args.option("--port", flags->port, "port to listen on; 0: any free port", between(0, 65'535));
  args.option("--grpc-port", flags->grpc_port, "serve over gRPC too; 0: any that is free (off)",
              between(0, 65'535));
  declare_batching(args, *flags);
  declare_limits(args, *flags);
  args.repeated("--shape", flags->shapes,
                "shape of an input that a file leaves open, as NAME=1,3,224,224; else shapes come "
                "with requests");
  args.option("--labels", flags->labels,
              "file with one class name per line (default: the names in the model file)");
  args.option("--resize", flags->resize,
              "resize the shorter side of an image before the center crop; 0: 8/7 of the input",
              between(0, kLargestSide));
  args.option("--mean", flags->mean,
              "subtracted from a picture's channels, which are in [0, 1], three numbers; else as "
              "the model was trained, or ImageNet's");
  args.option("--std", flags->std, "divide by these after subtracting the mean");
  args.option("--access-log", flags->access_log, "file for a line of JSON per request; -: stderr");
  args.option("--log-format", flags->log_format, "format of log lines on stderr: text or json");
  args.option("--trace", flags->trace, "file for a trace of some requests, for Perfetto");
  args.option("--trace-every", flags->trace_every, "trace one in this many requests",
              between(1, 1'000'000'000));
  args.option("--server-name", flags->server_name, "server name in the answer to GET /v2");
  declare_load(args, *flags);
  declare_ways(args, flags);
  return [flags](std::ostream& out) { return serve_command(*flags, out); };
}

}  // namespace

extern const Command kServe = {
    .name = "serve",
    .group = "Run",
    .summary = "Serve networks over HTTP (Open Inference Protocol v2)",
    .examples =
        "  trainyard serve resnet50 --port 8000\n"
        "  trainyard serve runs/mnist --name digits --max-batch 16 --batch-delay 500\n"
        "  trainyard serve digits=runs/mnist/model.onnx resnet50 --log-format json\n"
        "  trainyard serve --repository models --poll 5 --access-log access.jsonl\n"
        "  trainyard serve bench http://127.0.0.1:8000 --model resnet50 --concurrency 1,2,4,8\n"
        "  trainyard serve bench mobilenet_v2 --max-batch 4 --concurrency 1,8 --json\n",
    .setup = setup_serve,
};

}  // namespace trainyard::cli

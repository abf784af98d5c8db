#include "serve/load/load.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "serve/load/load_client.h"
#include "serve/load/processor_time.h"
#include "serve/protocol/json_data.h"
#include "serve/protocol/tensor_types.h"

namespace trainyard::serve {
namespace {

struct Target {
  Address address;
  std::string path;
  std::string headers;
  std::vector<TensorSpec> inputs;
};

// What one kind of request is and what it is answered alone.
struct Payload {
  std::string message;
  std::string expected;   // the body
  size_t json_bytes = 0;  // of it; the rest are numbers
};

std::string get(const Target& target, const std::string& path) {
  const Fetched fetched =
      fetch(target.address, http_message("GET", path, target.address, target.headers, ""));
  TY_REQUIRE(fetched.status == 200, "GET {} was answered with {}: {}", path, fetched.status,
             fetched.body);
  return fetched.body;
}

Target find_target(const LoadOptions& options) {
  Target target;
  target.address = parse_url(options.url);
  target.path = "/v2/models/" + options.model;
  if (!options.version.empty()) target.path += "/versions/" + options.version;
  if (!options.token.empty()) target.headers = "Authorization: Bearer " + options.token + "\r\n";
  const Json metadata = Json::parse(get(target, target.path), target.path);
  for (const Json& input : metadata.at("inputs").items()) {
    TensorSpec spec{input.at("name").as_string(),
                    dtype_from_protocol(input.at("datatype").as_string(), "the metadata"),
                    {}};
    for (const Json& dim : input.at("shape").items()) spec.dims.push_back(dim.as_int());
    for (size_t i = 0; i < spec.dims.size(); ++i) {
      TY_REQUIRE(spec.dims[i] >= 0 || i == 0,
                 "input '{}' has shape {}: only the first dimension "
                 "may be open",
                 spec.name, dims_text(spec.dims));
      if (spec.dims[i] < 0) spec.dims[i] = options.batch;
    }
    target.inputs.push_back(std::move(spec));
  }
  return target;
}

// Floats in [-1, 1), whole numbers from 0 to 9.
Tensor random_tensor(const TensorSpec& spec, uint64_t seed) {
  Tensor numbers(DType::kF32, Shape(spec.dims));
  const RandomStream stream(seed, hash_text(spec.name));
  const std::span<float> values = numbers.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = is_float(spec.dtype) ? static_cast<float>(2 * stream.uniform(i) - 1)
                                     : static_cast<float>(stream.below(i, 10));
  }
  return spec.dtype == DType::kF32 ? std::move(numbers) : cast(numbers, spec.dtype);
}

Payload make_payload(const Target& target, const LoadOptions& options, uint64_t seed) {
  std::string json = "{";
  if (!options.json) json += "\"parameters\":{\"binary_data_output\":true},";
  json += "\"inputs\":[";
  std::string blobs;
  for (const TensorSpec& spec : target.inputs) {
    const Tensor tensor = random_tensor(spec, seed);
    if (json.back() == '}') json += ',';
    json += fmt::format(R"({{"name":{},"shape":{},"datatype":"{}",)", Json(spec.name).dump(-1),
                        dims_text(spec.dims), protocol_name(spec.dtype));
    if (options.json) {
      json += "\"data\":";
      append_numbers(json, tensor);
    } else {
      json += fmt::format(R"("parameters":{{"binary_data_size":{}}})", tensor.num_bytes());
      blobs.append(static_cast<const char*>(tensor.data()),
                   static_cast<size_t>(tensor.num_bytes()));
    }
    json += '}';
  }
  json += "]}";
  std::string headers = target.headers + "Content-Type: application/json\r\n";
  if (!options.json) headers += fmt::format("Inference-Header-Content-Length: {}\r\n", json.size());
  Payload payload;
  payload.message =
      http_message("POST", target.path + "/infer", target.address, headers, json + blobs);
  const Fetched alone = fetch(target.address, payload.message);
  TY_REQUIRE(alone.status == 200, "the server answers with {}: {}", alone.status, alone.body);
  payload.expected = alone.body;
  constexpr std::string_view kJsonBytes = "Inference-Header-Content-Length: ";
  if (const size_t at = alone.head.find(kJsonBytes); at != std::string::npos) {
    payload.json_bytes = std::stoul(alone.head.substr(at + kJsonBytes.size()));
  }
  return payload;
}

// The answer to the same input: equal, or floats that differ by the order of their sums, which
// depends on the batch. Numbers in JSON are not compared.
bool agrees(std::string_view got, const Payload& payload) {
  const std::string_view expected = payload.expected;
  const size_t begin = payload.json_bytes;
  if (got == expected || begin == 0) return true;
  if (got.size() != expected.size() || got.substr(0, begin) != expected.substr(0, begin)) {
    return false;
  }
  for (size_t at = begin; at + sizeof(float) <= expected.size(); at += sizeof(float)) {
    float a = 0;
    float b = 0;
    std::memcpy(&a, got.data() + at, sizeof a);
    std::memcpy(&b, expected.data() + at, sizeof b);
    if (!(std::abs(a - b) <= 1e-4F + 1e-3F * std::abs(b))) return false;
  }
  return true;
}

struct ServerTimes {
  double requests = 0;
  double rows = 0;
  double batches = 0;
  double queue_ns = 0;
  double compute_ns = 0;
  std::optional<double> processor_s = {};
};

// Of a server that says it in its metrics.
std::optional<double> server_processor_seconds(const Target& target) {
  const Fetched metrics =
      fetch(target.address, http_message("GET", "/metrics", target.address, target.headers, ""));
  const std::string line = fmt::format("\n{} ", kProcessorSeconds);
  const size_t at = metrics.body.find(line);
  if (metrics.status != 200 || at == std::string::npos) return std::nullopt;
  return std::strtod(metrics.body.c_str() + at + line.size(), nullptr);
}

ServerTimes server_times(const Target& target) {
  const Json json = Json::parse(get(target, target.path + "/stats"), "the statistics");
  const Json& model = json.at("model_stats").items().at(0);
  const Json& stats = model.at("inference_stats");
  const auto number = [&](const char* name, const char* field) {
    return stats.at(name).at(field).as_number();
  };
  return {.requests = number("queue", "count"),
          .rows = model.at("inference_count").as_number(),
          .batches = model.at("execution_count").as_number(),
          .queue_ns = number("queue", "ns"),
          .compute_ns = number("compute_infer", "ns"),
          .processor_s = server_processor_seconds(target)};
}

class RowMeasurement {
 public:
  RowMeasurement(const LoadOptions& options, const Target& target,
                 const std::vector<Payload>& payloads, int64_t concurrency)
      : options_(options),
        target_(target),
        payloads_(payloads),
        client_(target.address, static_cast<size_t>(concurrency)) {
    row_.concurrency = concurrency;
    row_.rate = options.rate;
  }

  LoadRow run() {
    drive(options_.warm_up);
    latencies_.clear();
    row_.requests = row_.rejected = row_.errors = row_.wrong = 0;
    const ServerTimes before = server_times(target_);
    const double busy_before = processor_seconds();
    const double seconds = drive(options_.seconds);
    row_.client_cores = (processor_seconds() - busy_before) / seconds;
    const ServerTimes after = server_times(target_);
    fill(seconds, before, after);
    return row_;
  }

 private:
  // Returns the seconds until the last answer.
  double drive(double seconds) {
    const Clock::time_point begin = Clock::now();
    const Clock::time_point end =
        begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const size_t connections = client_.idle();
    uint64_t asked = 0;
    const LoadClient::Done done = [&](uint64_t tag, Clock::time_point since,
                                      const ClientResponse& response) {
      note(tag, since, response);
    };
    while (true) {
      Clock::time_point now = Clock::now();
      while (now < end && client_.idle() > 0 && is_due(begin, asked, now)) {
        const uint64_t tag = next_++ % payloads_.size();
        // Of an open loop, waiting for a connection counts.
        client_.send(payloads_[tag].message, tag, options_.rate > 0 ? due(begin, asked) : now);
        ++asked;
        now = Clock::now();
      }
      if (now >= end && client_.idle() == connections) break;
      client_.wait(wait_time(begin, asked, now), done);
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  Clock::time_point due(Clock::time_point begin, uint64_t asked) const {
    return begin + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(static_cast<double>(asked) / options_.rate));
  }
  bool is_due(Clock::time_point begin, uint64_t asked, Clock::time_point now) const {
    return options_.rate <= 0 || due(begin, asked) <= now;
  }
  std::chrono::microseconds wait_time(Clock::time_point begin, uint64_t asked,
                                      Clock::time_point now) const {
    if (options_.rate <= 0) return std::chrono::milliseconds(50);
    const auto left = due(begin, asked) - now;
    // A millisecond is the least that waiting can be told; shorter waits poll.
    return left < std::chrono::milliseconds(1)
               ? std::chrono::microseconds(0)
               : std::chrono::duration_cast<std::chrono::microseconds>(left) -
                     std::chrono::milliseconds(1);
  }

  void note(uint64_t tag, Clock::time_point since, const ClientResponse& response) {
    ++row_.requests;
    if (response.status == 200) {
      latencies_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - since).count());
      if (!agrees(response.body, payloads_[tag])) ++row_.wrong;
    } else if (response.status == 503 || response.status == 429) {
      ++row_.rejected;
    } else {
      ++row_.errors;
    }
  }

  void fill(double seconds, const ServerTimes& before, const ServerTimes& after) {
    std::sort(latencies_.begin(), latencies_.end());
    row_.answered = static_cast<int64_t>(latencies_.size());
    const auto answered = static_cast<double>(latencies_.size());
    row_.requests_per_s = answered / seconds;
    row_.p50_ms = percentile_of(latencies_, 0.50);
    row_.p90_ms = percentile_of(latencies_, 0.90);
    row_.p95_ms = percentile_of(latencies_, 0.95);
    row_.p99_ms = percentile_of(latencies_, 0.99);
    for (const double latency : latencies_) row_.mean_ms += latency / answered;
    if (before.processor_s && after.processor_s) {
      row_.server_cores = (*after.processor_s - *before.processor_s) / seconds;
    }
    const double counted = after.requests - before.requests;
    if (counted > 0) {
      row_.queue_ms = (after.queue_ns - before.queue_ns) / counted * 1e-6;
      row_.compute_ms = (after.compute_ns - before.compute_ns) / counted * 1e-6;
      row_.mean_batch = (after.rows - before.rows) / std::max(1.0, after.batches - before.batches);
    }
  }

  const LoadOptions& options_;
  const Target& target_;
  const std::vector<Payload>& payloads_;
  LoadClient client_;
  LoadRow row_;
  std::vector<double> latencies_;
  uint64_t next_ = 0;
};

}  // namespace

std::vector<LoadRow> run_load(const LoadOptions& options,
                              const std::function<void(const LoadRow&)>& progress) {
  const Target target = find_target(options);
  std::vector<Payload> payloads;
  for (int64_t i = 0; i < options.payloads; ++i) {
    payloads.push_back(make_payload(target, options, options.seed + static_cast<uint64_t>(i)));
  }
  std::vector<LoadRow> rows;
  for (const int64_t concurrency : options.concurrency) {
    rows.push_back(RowMeasurement(options, target, payloads, concurrency).run());
    if (progress) progress(rows.back());
  }
  return rows;
}

std::optional<double> percentile_of(const std::vector<double>& sorted, double share) {
  const double count = static_cast<double>(sorted.size());
  // 1 - 0.9 is a little less than a tenth.
  constexpr double kRounding = 1e-9;
  if (sorted.empty() || count * (1 - share) < 1 - kRounding) return {};
  const auto rank = static_cast<size_t>(std::ceil(share * count - kRounding));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

}  // namespace trainyard::serve

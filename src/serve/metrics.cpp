// /metrics, in Prometheus's text form and with Triton's names where it has one.
#include <fstream>
#include <unistd.h>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "serve/load/processor_time.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// The text format wants all lines of one name together, so metrics are collected by family first.
class Families {
 public:
  void add(const std::string& name, const std::string& help, MetricType type, ClientMetric metric) {
    for (MetricFamily& family : families_) {
      if (family.name == name) return family.metric.push_back(std::move(metric));
    }
    families_.push_back({name, help, type, {std::move(metric)}});
  }
  void counter(const std::string& name, const std::string& help,
               std::vector<ClientMetric::Label> labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = value;
    add(name, help, MetricType::Counter, std::move(metric));
  }
  void gauge(const std::string& name, const std::string& help,
             std::vector<ClientMetric::Label> labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    add(name, help, MetricType::Gauge, std::move(metric));
  }
  void histogram(const std::string& name, const std::string& help,
                 std::vector<ClientMetric::Label> labels, const Histogram& values) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.histogram.sample_count = values.total;
    metric.histogram.sample_sum = values.sum;
    // Prometheus's buckets are cumulative, the last one up to infinity.
    uint64_t below = 0;
    for (size_t i = 0; i < values.counts.size(); ++i) {
      below += values.counts[i];
      const double bound =
          i < values.bounds.size() ? values.bounds[i] : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({below, bound});
    }
    add(name, help, MetricType::Histogram, std::move(metric));
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

double count(uint64_t value) {
  return static_cast<double>(value);
}

double microseconds(const CountAndTime& value) {
  return static_cast<double>(value.ns) * 1e-3;
}

// Counters of a version go on as long as it is loaded and begin at 0 when it is loaded again.
void add_model(Families& families, ModelVersion& model) {
  const std::vector<ClientMetric::Label> labels = {{"model", model.name()},
                                                   {"version", model.version()}};
  const StatisticsSnapshot now = model.statistics().snapshot();
  families.counter("nv_inference_request_success", "Requests answered", labels,
                   count(now.success.count));
  for (size_t i = 0; i < kFailReasons.size(); ++i) {
    auto with_reason = labels;
    with_reason.push_back({"reason", std::string(kFailReasons[i])});
    families.counter("nv_inference_request_failure", "Requests that failed", with_reason,
                     count(now.failures[i]));
  }
  families.counter("nv_inference_count", "Rows computed", labels, count(now.inferences));
  families.counter("nv_inference_exec_count", "Batches computed", labels, count(now.executions));
  families.gauge("nv_inference_pending_request_count", "Requests that wait", labels,
                 static_cast<double>(model.waiting()));
  const std::pair<const char*, const CountAndTime&> times[] = {
      {"request", now.success},
      {"queue", now.queue},
      {"compute_input", now.compute_input},
      {"compute_infer", now.compute_infer},
      {"compute_output", now.compute_output}};
  for (const auto& [name, value] : times) {
    families.counter(fmt::format("nv_inference_{}_duration_us", name),
                     "Summed time, in microseconds", labels, microseconds(value));
  }
  families.counter("nv_cache_num_hits_per_model", "Answers from the cache", labels,
                   count(now.cache_hit.count));
  families.counter("nv_cache_num_misses_per_model", "Requests not in the cache", labels,
                   count(now.cache_miss.count));
  families.histogram("trainyard_request_seconds", "From arrival to result", labels, now.total_s);
  families.histogram("trainyard_queue_seconds", "Time in the queue", labels, now.queue_s);
  families.histogram("trainyard_compute_seconds", "Time in the network", labels, now.compute_s);
  families.histogram("trainyard_batch_rows", "Rows computed together", labels, now.batch_rows);
  families.counter("trainyard_request_bytes_total", "Bytes of requests", labels,
                   count(now.bytes_in));
  families.counter("trainyard_response_bytes_total", "Bytes of responses", labels,
                   count(now.bytes_out));
}

// Pages of resident memory, as the kernel counts them.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string Service::metrics() const {
  Families families;
  for (const auto& model : registry_.all()) add_model(families, *model);
  for (const auto& [status, number] : log_.counts()) {
    families.counter("trainyard_http_responses_total", "Responses by status",
                     {{"code", std::to_string(status)}}, count(number));
  }
  if (const ResponseCache* cache = registry_.cache()) {
    families.gauge("trainyard_cache_bytes", "Bytes of kept responses", {},
                   static_cast<double>(cache->bytes()));
  }
  families.gauge("nv_cpu_memory_used_bytes", "Resident memory of the server", {}, resident_bytes());
  families.counter(kProcessorSeconds, "Processor time of the server", {}, processor_seconds());
  return families.text();
}

}  // namespace trainyard::serve

#include "studies/scaling/all_reduce_view.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.h"
#include "cluster/predict/comm/comm.h"
#include "dist/collective_plan.h"

namespace trainyard::report {
namespace {

// The MPI library chooses by itself; for all but small messages Open MPI's choice is a ring.
constexpr std::string_view kLibraryModel = "ring";

double predicted_seconds(const measure::AllReduceRun& job, double bytes, std::string_view models) {
  const dist::Fabric& fabric = job.fabric;
  if (job.workers < 2) return 0;
  const predict::LinkSpeed link = {fabric.message_bytes_per_s, fabric.message_latency_s};
  const predict::LinkSpeed memory = {fabric.memory_bytes_per_s, fabric.meeting_s};
  const predict::Topology topology = {job.workers, job.per_host, link, link};
  if (models == "shared") {
    const dist::CollectivePlan plan = dist::shared_memory_plan(job.workers);
    return predict::over_link(memory, plan.steps, plan.share * bytes).seconds;
  }
  if (models == "hierarchical") {
    const dist::CollectivePlan near = dist::shared_shares_plan(topology.local());
    const dist::CollectivePlan far = dist::ring_plan(topology.hosts());
    return predict::over_link(memory, near.steps, near.share * bytes).seconds +
           predict::over_link(link, far.steps, far.share * bytes).seconds;
  }
  const std::string_view name = models == "mpi" ? kLibraryModel : models;
  return predict::find_comm_model(name).cost(topology, bytes).seconds;
}

// The time of MPI's own all-reduce in the same job with as many bytes; 0 if it was not measured.
double library_ms(const Json::Array& rows, const Json& like) {
  for (const Json& row : rows) {
    if (row.at("algorithm").as_string() == "mpi" &&
        row.at("bytes").as_int() == like.at("bytes").as_int() &&
        row.at("workers").as_int() == like.at("workers").as_int()) {
      return row.at("median_ms").as_number();
    }
  }
  return 0;
}

Table table_of(const Json::Array& rows, int64_t workers) {
  Table table({{"bytes"},
               {"algorithm", Align::kLeft},
               {"median"},
               {"least"},
               {"algbw GB/s"},
               {"busbw GB/s"},
               {"predicted"},
               {"of bound"},
               {"x mpi"}});
  int64_t previous = -1;
  for (const Json& row : rows) {
    if (row.at("workers").as_int() != workers) continue;
    const int64_t bytes = row.at("bytes").as_int();
    if (previous >= 0 && bytes != previous) table.add_rule();
    previous = bytes;
    const double ms = row.at("median_ms").as_number();
    // Above 1 the message was faster than memory: it never left the caches.
    const double share = ms > 0 ? row.at("bound_ms").as_number() / ms : 0;
    const double library = library_ms(rows, row);
    table.add_row({bytes_cell(bytes), row.at("algorithm").as_string(), seconds_cell(ms / 1e3),
                   seconds_cell(row.at("least_ms").as_number() / 1e3),
                   fixed_cell(row.at("algbw_gbps").as_number(), 2),
                   fixed_cell(row.at("busbw_gbps").as_number(), 2),
                   seconds_cell(row.at("predicted_ms").as_number() / 1e3),
                   share > 1 ? Cell("in cache") : percent_cell(share, 0),
                   library > 0 ? fixed_cell(library / ms, 2) : Cell("")});
  }
  return table;
}

// Time against the size of the message, a line for each algorithm.
Chart chart_of(const Json::Array& rows, int64_t workers) {
  Chart chart{.kind = ChartKind::kLine,
              .title = fmt::format("All-reduce over {} ranks", workers),
              .x = {.name = "bytes", .log = true},
              .y = {.name = "median ms", .log = true}};
  for (const Json& row : rows) {
    if (row.at("workers").as_int() != workers) continue;
    const std::string& name = row.at("algorithm").as_string();
    const auto is_it = [&](const Series& series) { return series.name == name; };
    auto series = std::find_if(chart.series.begin(), chart.series.end(), is_it);
    if (series == chart.series.end()) {
      series = chart.series.insert(series, {name, Origin::kMeasured, {}});
    }
    series->points.push_back(
        {static_cast<double>(row.at("bytes").as_int()), row.at("median_ms").as_number()});
  }
  return chart;
}

std::string words_of(const Json& fabric) {
  if (fabric.at("workers").as_int() == 1) return "One rank alone has nothing to add.";
  return fmt::format(
      "The best measured with all ranks busy: messages {:.1f} us and {:.2f} GB/s, meetings in "
      "shared memory "
      "{:.1f} us, memory {:.1f} GB/s (reading and writing). Predictions are made of these. Bound: "
      "every message is read and written once, {} x its bytes through memory; messages that stay "
      "in "
      "the caches may beat it.",
      fabric.at("message_latency_us").as_number(), fabric.at("message_gbps").as_number(),
      fabric.at("meeting_us").as_number(), fabric.at("memory_gbps").as_number(),
      2 * fabric.at("per_host").as_int());
}

Json fabric_json(const measure::AllReduceRun& run) {
  return Json::object({{"workers", run.workers},
                       {"per_host", run.per_host},
                       {"message_latency_us", run.fabric.message_latency_s * 1e6},
                       {"message_gbps", run.fabric.message_bytes_per_s / 1e9},
                       {"meeting_us", run.fabric.meeting_s * 1e6},
                       {"memory_gbps", run.fabric.memory_bytes_per_s / 1e9}});
}

Json row_json(const measure::AllReduceRun& run, const measure::AllReduceSample& sample) {
  const auto message = static_cast<double>(sample.bytes);
  const predict::CommCost cost = {.seconds = sample.timing.median_s};
  const double memory = run.fabric.memory_bytes_per_s;
  // Every rank's data pass through memory at least once, whatever the algorithm.
  const double moved =
      dist::shared_memory_plan(std::min(run.workers, run.per_host)).share * message;
  return Json::object({{"workers", run.workers},
                       {"bytes", sample.bytes},
                       {"algorithm", sample.algorithm},
                       {"median_ms", sample.timing.median_s * 1e3},
                       {"least_ms", sample.timing.least_s * 1e3},
                       {"algbw_gbps", predict::algorithm_bandwidth(message, cost) / 1e9},
                       {"busbw_gbps", predict::bus_bandwidth(message, run.workers, cost) / 1e9},
                       {"predicted_ms", predicted_seconds(run, message, sample.stands_for) * 1e3},
                       {"bound_ms", memory > 0 ? moved / memory * 1e3 : 0.0}});
}

}  // namespace

Json all_reduce_json(const measure::AllReduceRun& run) {
  Json data = Json::object({{"rows", Json::array()}, {"fabrics", Json::array()}});
  for (const measure::AllReduceSample& sample : run.samples) {
    data["rows"].push_back(row_json(run, sample));
  }
  data["fabrics"].push_back(fabric_json(run));
  return data;
}

// From JSON, not from runs: rows may have been measured by several processes and merged.
Document all_reduce_document(Json data) {
  Document document;
  for (const Json& fabric : data.at("fabrics").items()) {
    const int64_t workers = fabric.at("workers").as_int();
    document.blocks.emplace_back(Heading{fmt::format("All-reduce of float32, {} ranks", workers)});
    document.blocks.emplace_back(Paragraph{words_of(fabric)});
    document.blocks.emplace_back(table_of(data.at("rows").items(), workers));
    Chart chart = chart_of(data.at("rows").items(), workers);
    if (!chart.series.empty() && chart.series[0].points.size() > 1) {
      document.blocks.emplace_back(std::move(chart));
    }
  }
  document.data = std::move(data);
  return document;
}

}  // namespace trainyard::report

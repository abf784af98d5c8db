#include "serve/load/view.h"

#include <cstdio>

#include <fmt/format.h>

namespace trainyard::cli {
namespace {

std::string progress_text(const serve::LoadRow& row) {
  return row.p99_ms ? fmt::format("p99 {:.3f} ms", *row.p99_ms)
                    : fmt::format("{} answered: too few for a p99", row.answered);
}

}  // namespace

const report::Fields<serve::LoadRow>& load_fields() {
  using serve::LoadRow;
  constexpr report::Fixed kMs = {3};
  constexpr report::Fixed kShare = {2};
  static const report::Fields<LoadRow> fields = {
      {"concurrency", {"concurrency"}, &LoadRow::concurrency},
      {"rate", &LoadRow::rate},
      {"requests", &LoadRow::requests},
      {"answered", {"answered"}, &LoadRow::answered},
      {"requests_per_s", {"requests/s"}, &LoadRow::requests_per_s, report::Fixed{1}},
      {"p50_ms", {"p50 ms"}, &LoadRow::p50_ms, kMs},
      {"p90_ms", {"p90 ms"}, &LoadRow::p90_ms, kMs},
      {"p95_ms", {"p95 ms"}, &LoadRow::p95_ms, kMs},
      {"p99_ms", {"p99 ms"}, &LoadRow::p99_ms, kMs},
      {"mean_ms", &LoadRow::mean_ms},
      {"queue_ms", {"queue ms"}, &LoadRow::queue_ms, kMs},
      {"compute_ms", {"compute ms"}, &LoadRow::compute_ms, kMs},
      {"other_ms", {"other ms"}, &LoadRow::other_ms, kMs},
      {"mean_batch", {"mean batch"}, &LoadRow::mean_batch, kShare},
      {"client_cores", {"client cores"}, &LoadRow::client_cores, kShare},
      {"server_cores", {"server cores"}, &LoadRow::server_cores, kShare},
      {"rejected", {"rejected"}, &LoadRow::rejected},
      {"errors", &LoadRow::errors},
      {"wrong", &LoadRow::wrong},
      report::Field<LoadRow>::shown({"errors"}, [](const LoadRow& row) {
        return report::count_cell(row.errors + row.wrong);
      })};
  return fields;
}

int report_load(const serve::LoadOptions& options, const report::Format& format,
                std::ostream& out) {
  const std::vector<serve::LoadRow> rows = serve::run_load(options, [](const serve::LoadRow& row) {
    fmt::print(stderr, "concurrency {}: {:.1f} requests/s, {}\n", row.concurrency,
               row.requests_per_s, progress_text(row));
  });
  report::Document document;
  document.blocks.emplace_back(report::table_of(load_fields(), rows));
  document.data["rows"] = report::objects_of(load_fields(), rows);
  document.blocks.emplace_back(report::Paragraph{
      "Measured by one client thread on keep-alive connections. Queue and compute are the server's "
      "means; other is the rest of the mean latency: client, network, reading and writing. Client "
      "and server cores are the processor time that each of them took. A percentile is shown where "
      "at "
      "least one answer lies beyond it: p99 needs 100 of them."});
  // Wrong answers are failures of the server, as errors are; rejections are what it was configured
  // to do.
  bool good = true;
  for (const serve::LoadRow& row : rows) good = good && row.errors == 0 && row.wrong == 0;
  document.data["model"] = options.model;
  document.data["rows_per_request"] = options.batch;
  document.data["tensors"] = options.json ? "json" : "binary";
  out << report::render(document, format);
  return good ? 0 : 1;
}

}  // namespace trainyard::cli

#include "serve/load/view.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::cli {
namespace {

void check(const serve::LoadOptions& options) {
  TY_REQUIRE(!options.url.empty() && !options.model.empty(),
             "serve bench needs an address and --model NAME, as in 'serve bench "
             "http://127.0.0.1:8000 --model resnet50'");
  TY_REQUIRE(options.seconds > 0 && options.seconds <= 86400 && options.rate >= 0,
             "--seconds must be more than 0, --rate 0 or more");
  TY_REQUIRE(options.batch >= 1 && options.batch <= 1024 && options.payloads >= 1 &&
                 options.payloads <= 1000,
             "--rows must be 1 to 1024, --payloads 1 to 1000");
  for (const int64_t concurrency : options.concurrency) {
    TY_REQUIRE(concurrency >= 1 && concurrency <= 1000, "--concurrency {}: expected 1 to 1000",
               concurrency);
  }
}

report::Cell cell_of(const std::optional<double>& number, int digits) {
  return number ? report::fixed_cell(*number, digits) : report::Cell{"-"};
}

report::Table table_of(const std::vector<serve::LoadRow>& rows) {
  report::Table table({{"concurrency"},
                       {"answered"},
                       {"requests/s"},
                       {"p50 ms"},
                       {"p90 ms"},
                       {"p95 ms"},
                       {"p99 ms"},
                       {"queue ms"},
                       {"compute ms"},
                       {"other ms"},
                       {"mean batch"},
                       {"client cores"},
                       {"server cores"},
                       {"rejected"},
                       {"errors"}});
  for (const serve::LoadRow& row : rows) {
    table.add_row({report::count_cell(row.concurrency), report::count_cell(row.answered),
                   report::fixed_cell(row.requests_per_s, 1), cell_of(row.p50_ms, 3),
                   cell_of(row.p90_ms, 3), cell_of(row.p95_ms, 3), cell_of(row.p99_ms, 3),
                   report::fixed_cell(row.queue_ms, 3), report::fixed_cell(row.compute_ms, 3),
                   report::fixed_cell(row.mean_ms - row.queue_ms - row.compute_ms, 3),
                   report::fixed_cell(row.mean_batch, 2), report::fixed_cell(row.client_cores, 2),
                   cell_of(row.server_cores, 2), report::count_cell(row.rejected),
                   report::count_cell(row.errors + row.wrong)});
  }
  return table;
}

std::string progress_text(const serve::LoadRow& row) {
  return row.p99_ms ? fmt::format("p99 {:.3f} ms", *row.p99_ms)
                    : fmt::format("{} answered: too few for a p99", row.answered);
}

}  // namespace

int report_load(const serve::LoadOptions& options, const report::Format& format,
                std::ostream& out) {
  check(options);
  const std::vector<serve::LoadRow> rows = serve::run_load(options, [](const serve::LoadRow& row) {
    fmt::print(stderr, "concurrency {}: {:.1f} requests/s, {}\n", row.concurrency,
               row.requests_per_s, progress_text(row));
  });
  report::Document document;
  document.blocks.emplace_back(table_of(rows));
  document.blocks.emplace_back(report::Paragraph{
      "Measured by one client thread on keep-alive connections. Queue and compute are the server's "
      "means; other is the rest of the mean latency: client, network, reading and writing. Client "
      "and server cores are the processor time that each of them took. A percentile is shown where "
      "at "
      "least one answer lies beyond it: p99 needs 100 of them."});
  // Wrong answers are failures of the server, as errors are; rejections are what it was configured
  // to do.
  bool good = true;
  for (const serve::LoadRow& row : rows) {
    document.data["rows"].push_back(serve::load_json(row));
    good = good && row.errors == 0 && row.wrong == 0;
  }
  document.data["model"] = options.model;
  document.data["rows_per_request"] = options.batch;
  document.data["tensors"] = options.json ? "json" : "binary";
  out << report::render(document, format);
  return good ? 0 : 1;
}

}  // namespace trainyard::cli

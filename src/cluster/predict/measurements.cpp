#include "cluster/predict/measurements.h"

#include "base/csv.h"
#include "base/error.h"
#include "cluster/predict/embedded.h"

namespace trainyard::predict {
namespace {

int64_t at_least_one(const CsvRow& row, std::string_view column) {
  const int64_t value = row.integer(column);
  if (value < 1) row.fail(column, fmt::format("expected 1 or more, found {}", value));
  return value;
}

// An empty speed is a result too: the configuration ran out of memory.
Measurement read_row(const CsvTable& table, const CsvRow& row) {
  Measurement m;
  m.origin = fmt::format("{}:{}", table.origin(), row.line());
  m.source = row.text("source");
  m.framework = row.text("framework");
  const std::string& mode = row.text("mode");
  if (mode != "training" && mode != "inference") {
    row.fail("mode", fmt::format("expected training or inference, found '{}'", mode));
  }
  m.mode = mode == "training" ? Mode::kTraining : Mode::kInference;
  m.device = row.text("device");
  m.gpus = at_least_one(row, "gpus");
  m.gpus_per_host = at_least_one(row, "gpus_per_host");
  m.network = row.text("network");
  m.model = row.text("model");
  if (m.model.empty()) row.fail("model", "is empty");
  m.batch_per_gpu = at_least_one(row, "batch_per_gpu");
  try {
    m.precision = precision_from_name(row.text("precision"));
  } catch (const Error& error) {
    row.fail("precision", error.what());
  }
  m.comm = row.text("comm");
  m.note = row.text("note");
  m.updates = m.note.find("no update") == std::string::npos;
  m.images_per_s = row.maybe_number("images_per_s");
  if (m.images_per_s && *m.images_per_s <= 0) {
    row.fail("images_per_s", "expected a number above 0, or nothing where memory ran out");
  }
  return m;
}

}  // namespace

std::vector<Measurement> read_measurements(std::string_view text, const std::string& origin) {
  const CsvTable table = CsvTable::parse(text, origin);
  table.require_columns({"source", "framework", "mode", "device", "gpus", "gpus_per_host",
                         "network", "model", "batch_per_gpu", "precision", "comm", "images_per_s",
                         "note"});
  std::vector<Measurement> rows;
  for (size_t i = 0; i < table.size(); ++i) rows.push_back(read_row(table, table.row(i)));
  return rows;
}

std::vector<Measurement> published_measurements() {
  std::vector<Measurement> all;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.starts_with("published/")) continue;
    for (Measurement& m : read_measurements(file.text, fmt::format("catalog/{}", file.name))) {
      all.push_back(std::move(m));
    }
  }
  return all;
}

}  // namespace trainyard::predict

#include "engine/device/vector_view.h"

#include <algorithm>

#include <fmt/core.h>

namespace trainyard::report {
namespace {

using device::VectorOrigin;
using device::VectorRow;

Origin chart_origin(VectorOrigin origin) {
  return origin == VectorOrigin::kMeasured       ? Origin::kMeasured
         : origin == VectorOrigin::kExtrapolated ? Origin::kExtrapolated
                                                 : Origin::kPredicted;
}

Json vector_row_json(const VectorRow& row) {
  const auto& t = row.timing;
  const auto ms = [](double seconds) { return Json(seconds * 1e3); };
  Json samples = Json::array();
  for (const double sample : t.kernel_s) samples.push_back(sample * 1e3);
  // The share is set to null below if there is no limit; this only keeps the division defined.
  const double limit = row.limit_bytes_per_s > 0 ? row.limit_bytes_per_s : 1;
  Json json = Json::object({{"device", row.device},
                            {"operation", device::vector_op_name(row.what.op)},
                            {"elements", row.what.elements},
                            {"launch", row.what.launch},
                            {"memory", row.what.memory},
                            {"sharing", row.what.sharing},
                            {"alloc_ms", ms(t.alloc_s)},
                            {"first_touch_ms", ms(t.first_touch_s)},
                            {"to_device_ms", ms(t.to_device_s)},
                            {"first_kernel_ms", ms(t.first_kernel_s)},
                            {"kernel_ms", ms(row.kernel_median_s())},
                            {"kernel_least_ms", ms(row.kernel_least_s())},
                            {"kernel_spread_ms", ms(row.kernel_spread_s())},
                            {"samples_ms", std::move(samples)},
                            {"from_device_ms", ms(t.from_device_s)},
                            {"free_ms", ms(t.free_s)},
                            {"total_ms", ms(row.total_s())},
                            {"gbps", row.bytes_per_s() / 1e9},
                            {"share_of_peak", row.bytes_per_s() / limit},
                            {"verified", t.verified},
                            {"measured", row.origin == VectorOrigin::kMeasured},
                            {"origin", device::vector_origin_name(row.origin)},
                            {"measured_elements", row.measured_elements}});
  if (row.limit_bytes_per_s <= 0) json["share_of_peak"] = nullptr;
  if (row.what.sharing.empty()) json["sharing"] = nullptr;
  // What was predicted has no allocation and was not run, so there is nothing to verify.
  if (row.origin == VectorOrigin::kPredicted) {
    for (const char* key : {"alloc_ms", "first_touch_ms", "first_kernel_ms", "kernel_spread_ms",
                            "free_ms", "verified"}) {
      json[key] = nullptr;
    }
  }
  return json;
}

// "copies", "unified (fine)".
std::string memory_text(const device::VectorCase& what) {
  return what.sharing.empty() ? what.memory : fmt::format("{} ({})", what.memory, what.sharing);
}

Table vector_table(std::span<const VectorRow> rows) {
  Table table({{"operation", Align::kLeft},
               {"elements"},
               {"device", Align::kLeft, 24},
               {"launch", Align::kLeft},
               {"memory", Align::kLeft},
               {"alloc"},
               {"first touch"},
               {"to device"},
               {"kernel"},
               {"least"},
               {"spread"},
               {"back"},
               {"total"},
               {"free"},
               {"GB/s"},
               {"of limit"},
               {"origin", Align::kLeft},
               {"result", Align::kLeft}});
  // A rule between blocks of one operation and size, which are what is compared.
  const VectorRow* previous = nullptr;
  for (const VectorRow& row : rows) {
    if (previous != nullptr &&
        (previous->what.elements != row.what.elements || previous->what.op != row.what.op)) {
      table.add_rule();
    }
    previous = &row;
    const bool predicted = row.origin == VectorOrigin::kPredicted;
    const auto timed = [&](double s) { return predicted ? Cell("") : seconds_cell(s); };
    const double limit = row.limit_bytes_per_s;
    const double share = limit > 0 ? row.bytes_per_s() / limit : 0;
    table.add_row(
        {device::vector_op_name(row.what.op), si_cell(static_cast<double>(row.what.elements)),
         row.device, row.what.launch, memory_text(row.what), timed(row.timing.alloc_s),
         timed(row.timing.first_touch_s), seconds_cell(row.timing.to_device_s),
         seconds_cell(row.kernel_median_s()), timed(row.kernel_least_s()),
         timed(row.kernel_spread_s()), seconds_cell(row.timing.from_device_s),
         seconds_cell(row.total_s()), timed(row.timing.free_s),
         fixed_cell(row.bytes_per_s() / 1e9, 2), limit > 0 ? percent_cell(share, 0) : Cell(""),
         device::vector_origin_name(row.origin),
         predicted ? Cell("") : Cell(row.timing.verified ? "right" : "WRONG")});
  }
  return table;
}

// Total time against elements; the host stands in the charts of both kinds of memory.
Chart vector_chart(std::span<const VectorRow> rows, device::VectorOp op,
                   const std::string& memory) {
  Chart chart{.kind = ChartKind::kLine,
              .title = fmt::format("{}, {}: total time", device::vector_op_name(op), memory),
              .x = {.name = "elements", .log = true},
              .y = {.name = "ms", .log = true}};
  for (const VectorRow& row : rows) {
    if (row.what.op != op || (row.what.memory != memory && row.what.memory != "host")) continue;
    const std::string how = row.what.sharing.empty() ? "" : " " + row.what.sharing;
    const std::string name = row.device + " " + row.what.launch + how;
    const Origin origin = chart_origin(row.origin);
    const auto same = [&](const Series& s) { return s.name == name && s.origin == origin; };
    auto series = std::find_if(chart.series.begin(), chart.series.end(), same);
    // Measured and predicted points of one device are two series: they are drawn unlike.
    if (series == chart.series.end()) series = chart.series.insert(series, {name, origin, {}});
    series->points.push_back({static_cast<double>(row.what.elements), row.total_s() * 1e3});
  }
  return chart;
}

}  // namespace

Json vector_rows_json(std::span<const VectorRow> rows, double limit_bytes_per_s) {
  Json data = Json::object({{"rows", Json::array()}, {"limit_gbps", limit_bytes_per_s / 1e9}});
  for (const VectorRow& row : rows) data["rows"].push_back(vector_row_json(row));
  return data;
}

Document vector_rows_document(std::span<const VectorRow> rows, double limit_bytes_per_s) {
  Document document;
  document.title = "Vector operations, phase by phase";
  document.blocks.emplace_back(vector_table(rows));
  document.blocks.emplace_back(Paragraph{fmt::format(
      "Limit of this machine's memory: {:.1f} GB/s, the best of all operations over 64 MiB "
      "vectors; "
      "vectors that stay in the caches may beat it. Total: until the host can read the result. "
      "Predicted rows have no allocation and no first touch.",
      limit_bytes_per_s / 1e9)});
  for (const device::VectorOp op : device::kVectorOps) {
    for (const char* memory : {"copies", "unified"}) {
      const auto wanted = [&](const VectorRow& row) {
        return row.what.op == op && row.what.memory == memory;
      };
      if (std::any_of(rows.begin(), rows.end(), wanted)) {
        document.blocks.emplace_back(vector_chart(rows, op, memory));
      }
    }
  }
  document.data = vector_rows_json(rows, limit_bytes_per_s);
  return document;
}

}  // namespace trainyard::report

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/core.h>

#include "engine/device/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

using device::VectorOrigin;
using device::VectorRow;

Origin chart_origin(VectorOrigin origin) {
  return origin == VectorOrigin::kMeasured       ? Origin::kMeasured
         : origin == VectorOrigin::kExtrapolated ? Origin::kExtrapolated
                                                 : Origin::kPredicted;
}

// "copies", "unified (fine)".
Cell memory_cell(const VectorRow& row) {
  const device::VectorCase& what = row.what;
  return what.sharing.empty() ? what.memory : fmt::format("{} ({})", what.memory, what.sharing);
}

std::optional<double> share_of_peak(const VectorRow& row) {
  if (row.limit_bytes_per_s <= 0) return std::nullopt;
  return row.bytes_per_s() / row.limit_bytes_per_s;
}

Fields<VectorRow> vector_fields() {
  const auto of = [](auto member) {
    return [member](const VectorRow& row) { return row.what.*member; };
  };
  const auto timed = [](auto member) {
    return [member](const VectorRow& row) { return row.timing.*member * 1e3; };
  };
  // What was predicted has no allocation and was not run, so there is nothing to verify.
  const auto ran = [](auto get) {
    return [get](const VectorRow& row) {
      using Value = decltype(std::invoke(get, row));
      return row.origin == VectorOrigin::kPredicted ? std::optional<Value>()
                                                    : std::optional<Value>(std::invoke(get, row));
    };
  };
  const auto ms = [](double value) { return seconds_cell(value / 1e3); };
  // A prediction has one time, which stands under "kernel".
  const auto least = [](const VectorRow& row) {
    return row.origin == VectorOrigin::kPredicted ? Cell("-") : seconds_cell(row.kernel_least_s());
  };
  const auto right = [](bool verified) { return verified ? "right" : "WRONG"; };
  using device::VectorCase;
  using device::VectorTiming;
  return {{"operation",
           {"operation", Align::kLeft},
           [](const VectorRow& row) { return std::string(vector_op_name(row.what.op)); }},
          {"elements",
           {"elements"},
           of(&VectorCase::elements),
           [](int64_t count) { return si_cell(static_cast<double>(count)); }},
          {"device", {"device", Align::kLeft, 24}, &VectorRow::device},
          {"launch", {"launch", Align::kLeft}, of(&VectorCase::launch)},
          {"memory", {"memory", Align::kLeft}, of(&VectorCase::memory), memory_cell},
          {"sharing",
           [](const VectorRow& row) {
             const std::string& sharing = row.what.sharing;
             return sharing.empty() ? std::nullopt : std::optional<std::string>(sharing);
           }},
          {"alloc_ms", {"alloc"}, ran(timed(&VectorTiming::alloc_s)), ms},
          {"first_touch_ms", {"first touch"}, ran(timed(&VectorTiming::first_touch_s)), ms},
          {"to_device_ms", {"to device"}, timed(&VectorTiming::to_device_s), ms},
          {"first_kernel_ms", ran(timed(&VectorTiming::first_kernel_s))},
          {"kernel_ms", {"kernel"}, scaled(&VectorRow::kernel_median_s, 1e3), ms},
          {"kernel_least_ms", {"least"}, scaled(&VectorRow::kernel_least_s, 1e3), least},
          {"kernel_spread_ms", {"spread"}, ran(scaled(&VectorRow::kernel_spread_s, 1e3)), ms},
          {"samples_ms",
           [](const VectorRow& row) {
             Json samples = Json::array();
             for (const double sample : row.timing.kernel_s) samples.push_back(sample * 1e3);
             return samples;
           }},
          {"from_device_ms", {"back"}, timed(&VectorTiming::from_device_s), ms},
          {"total_ms", {"total"}, scaled(&VectorRow::total_s, 1e3), ms},
          {"free_ms", {"free"}, ran(timed(&VectorTiming::free_s)), ms},
          {"gbps", {"GB/s"}, divided(&VectorRow::bytes_per_s, 1e9), Fixed{2}},
          {"share_of_peak", {"of limit"}, share_of_peak, Percent{0}},
          {"measured", [](const VectorRow& row) { return row.origin == VectorOrigin::kMeasured; }},
          {"origin",
           {"origin", Align::kLeft},
           [](const VectorRow& row) { return std::string(vector_origin_name(row.origin)); }},
          {"verified",
           {"result", Align::kLeft},
           ran([](const VectorRow& row) { return row.timing.verified; }),
           right},
          {"measured_elements", &VectorRow::measured_elements}};
}

Table vector_table(std::span<const VectorRow> rows) {
  const Fields<VectorRow> fields = vector_fields();
  Table table = empty_table(fields);
  // A rule between blocks of one operation and size, which are what is compared.
  const VectorRow* previous = nullptr;
  for (const VectorRow& row : rows) {
    if (previous != nullptr &&
        (previous->what.elements != row.what.elements || previous->what.op != row.what.op)) {
      table.add_rule();
    }
    previous = &row;
    table.add_row(cells_of(fields, row));
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
  return Json::object(
      {{"rows", objects_of(vector_fields(), rows)}, {"limit_gbps", limit_bytes_per_s / 1e9}});
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

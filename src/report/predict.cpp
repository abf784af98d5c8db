#include "report/predict.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.h"
#include "report/calibration.h"

namespace trainyard::report {
namespace {

// Three digits or so: differences below a percent are noise of the model.
Cell ms_cell(double seconds) {
  const double ms = seconds * 1e3;
  return {fmt::format("{:.{}f}", ms, ms < 10 ? 2 : ms < 100 ? 1 : 0), fmt::format("{}", ms)};
}

// 0 is "no price known", which must not look like "free".
Cell money_cell(double usd) {
  if (usd <= 0) return "-";
  return {fmt::format("${:.2f}", usd), fmt::format("{}", usd)};
}

Cell peak_cell(double flops) {
  if (flops <= 0) return "-";
  return {fmt::format("{:.1f}", flops / 1e12), fmt::format("{}", flops)};
}

Json row_json(const predict::Row& row, bool priced) {
  Json json = Json::object({{"workers", row.workers},
                            {"batch_per_worker", row.batch_per_worker},
                            {"global_batch", row.global_batch},
                            {"forward_ms", row.forward * 1e3},
                            {"backward_ms", row.backward * 1e3},
                            {"update_ms", row.update * 1e3},
                            {"comm_ms", row.comm * 1e3},
                            {"exposed_comm_ms", row.exposed_comm * 1e3},
                            {"waiting_ms", row.waiting * 1e3},
                            {"input_ms", row.input * 1e3},
                            {"step_ms", row.step * 1e3},
                            {"images_per_s", row.images_per_s},
                            {"base_workers", row.base_workers},
                            {"speedup", row.speedup},
                            {"efficiency", row.efficiency},
                            {"epoch_s", row.epoch},
                            {"train_s", row.train}});
  // Programs get null where people get "-": a cost of 0 would be a claim.
  json["cost_usd"] = priced ? Json(row.cost_usd) : Json();
  json["memory_bytes"] = static_cast<int64_t>(row.memory_bytes);
  json["fits"] = row.fits;
  json["percent_of_peak"] = row.percent_of_peak * 100;
  json["comm"] = row.comm_model.empty() ? Json() : Json(row.comm_model);
  json["algorithm_bandwidth_gbps"] = row.algorithm_bandwidth / 1e9;
  json["bus_bandwidth_gbps"] = row.bus_bandwidth / 1e9;
  json["link_utilization"] = row.utilization;
  json["limit"] = row.limit;
  return json;
}

// Why the speed-up of a row is not over one worker, or is one that cannot be had; empty otherwise.
std::string base_note(std::span<const predict::Row> rows) {
  const bool any_fits = std::ranges::any_of(rows, &predict::Row::fits);
  if (!any_fits) {
    return "no row fits into the device's memory: times, speed-up and cost are those of a device "
           "with more of it";
  }
  if (rows[0].base_workers == 1) return "";
  return fmt::format(
      "speed-up and efficiency are over {} workers, the fewest of these that fit into memory",
      rows[0].base_workers);
}

void add_notes(const PredictionContext& context, Document& document) {
  for (const std::string& note : context.notes) {
    document.blocks.emplace_back(Paragraph{"- " + note});
  }
  document.data["notes"] = Json::array_of(context.notes);
}

Table times_table(std::span<const predict::Row> rows) {
  Table table({{"workers"},
               {"batch each"},
               {"forward ms"},
               {"backward ms"},
               {"update ms"},
               {"comm ms"},
               {"exposed ms"},

               {"step ms"},
               {"images/s"},
               {"speedup"},
               {"efficiency"},
               {"limit", Align::kLeft, 44}});
  for (const predict::Row& row : rows) {
    table.add_row({count_cell(row.workers), count_cell(row.batch_per_worker), ms_cell(row.forward),
                   ms_cell(row.backward), ms_cell(row.update), ms_cell(row.comm),
                   ms_cell(row.exposed_comm), ms_cell(row.step), fixed_cell(row.images_per_s, 1),
                   row.speedup ? fixed_cell(*row.speedup, 2) : Cell("-"),
                   row.efficiency ? percent_cell(*row.efficiency) : Cell("-"), row.limit});
  }
  return table;
}

Table totals_table(std::span<const predict::Row> rows) {
  Table table({{"workers"},
               {"batch each"},
               {"input ms"},
               {"epoch"},
               {"training"},
               {"cost"},
               {"memory each"},
               {"of peak"},
               {"communication", Align::kLeft},
               {"algorithm GB/s"},
               {"bus GB/s"},
               {"link used"}});
  for (const predict::Row& row : rows) {
    // One worker sends nothing; bandwidths of nothing would read as bad ones.
    const bool talks = row.bus_bandwidth > 0;
    table.add_row({count_cell(row.workers), count_cell(row.batch_per_worker), ms_cell(row.input),
                   seconds_cell(row.epoch), seconds_cell(row.train), money_cell(row.cost_usd),
                   bytes_cell(static_cast<int64_t>(row.memory_bytes)),
                   percent_cell(row.percent_of_peak),
                   row.comm_model.empty() ? Cell("-") : Cell(row.comm_model),
                   talks ? fixed_cell(row.algorithm_bandwidth / 1e9, 2) : Cell("-"),
                   talks ? fixed_cell(row.bus_bandwidth / 1e9, 2) : Cell("-"),
                   talks ? percent_cell(row.utilization) : Cell("-")});
  }
  return table;
}

Chart throughput_chart(std::span<const predict::Row> rows) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Predicted throughput",
              .x = {.name = "workers", .log = true},
              .y = {.name = "images/s"}};
  Series predicted{"predicted", Origin::kPredicted, {}};
  Series ideal{"ideal", Origin::kIdeal, {}};
  const bool any_fits = std::ranges::any_of(rows, &predict::Row::fits);
  double single = 0;
  for (const predict::Row& row : rows) {
    if (any_fits && !row.fits) continue;
    const auto workers = static_cast<double>(row.workers);
    // From the first row shown, which may have several workers: ideal is then relative to those.
    if (single == 0) single = row.images_per_s / workers;
    predicted.points.push_back({workers, row.images_per_s});
    ideal.points.push_back({workers, workers * single});
  }
  if (predicted.points.size() < rows.size()) {
    chart.caption = "Without the rows that do not fit into memory.";
  }
  chart.series = {std::move(predicted), std::move(ideal)};
  return chart;
}

// What is left of the step. Input is prepared while the device computes, so that only what takes
// longer than the rest of the step, and what is copied within it, is waited for.
double input_wait(const predict::Row& row) {
  constexpr double kRounding = 1e-12;
  const double rest =
      row.step - row.forward - row.backward - row.update - row.exposed_comm - row.waiting;
  return rest > kRounding ? rest : 0;
}

Chart step_chart(std::span<const predict::Row> rows) {
  Chart chart{.kind = ChartKind::kStackedBar,
              .title = "Where a step's time goes",
              .x = {.name = "workers"},
              .y = {.name = "ms"}};
  using Seconds = double (*)(const predict::Row&);
  const std::pair<const char*, Seconds> parts[] = {
      {"forward", [](const predict::Row& row) { return row.forward; }},
      {"backward", [](const predict::Row& row) { return row.backward; }},
      {"update", [](const predict::Row& row) { return row.update; }},
      {"waiting for the network", [](const predict::Row& row) { return row.exposed_comm; }},
      {"waiting for other workers", [](const predict::Row& row) { return row.waiting; }},
      {"waiting for input", input_wait}};
  for (const predict::Row& row : rows) {
    chart.x.categories.push_back(fmt::format("{}", row.workers));
  }
  for (const auto& [name, part] : parts) {
    Series series{name, Origin::kPredicted, {}};
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      series.points.push_back({static_cast<double>(i), part(rows[i]) * 1e3});
      sum += part(rows[i]);
    }
    // A part that no row has (input where none was limited) would only lengthen the legend.
    if (sum > 0) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

Document prediction_document(const PredictionContext& context, const predict::Request& request,
                             std::span<const predict::Row> rows) {
  Document document;
  const bool training = request.mode == predict::Mode::kTraining;
  document.blocks.emplace_back(
      Heading{fmt::format("{} on {}: predicted {}", context.network, request.device->name,
                          training ? "training" : "inference")});
  document.blocks.emplace_back(times_table(rows));
  document.blocks.emplace_back(totals_table(rows));
  // A curve needs two points.
  if (rows.size() > 1) {
    document.blocks.emplace_back(throughput_chart(rows));
    document.blocks.emplace_back(step_chart(rows));
  }
  document.data = Json::object({{"network", context.network}, {"device", request.device->id}});
  document.data["model"] = request.model == predict::Model::kPaleo ? "paleo" : "trainyard";
  document.data["stack"] = request.stack->id;
  document.data["precision"] = predict::precision_name(request.precision);
  document.data["rows"] = Json::array();
  for (const predict::Row& row : rows) {
    document.data["rows"].push_back(row_json(row, request.usd_per_hour > 0));
  }
  if (context.interval) {
    document.data["interval"] =
        Json::object({{"low", context.interval->least(1)}, {"high", context.interval->most(1)}});
  }
  // A copy: notes about these rows belong to this document alone.
  PredictionContext noted = context;
  if (std::string note = base_note(rows); !note.empty()) noted.notes.push_back(std::move(note));
  add_notes(noted, document);
  return document;
}

Document prediction_layers_document(const PredictionContext& context,
                                    std::span<const predict::LayerTime> layers) {
  Document document;
  document.blocks.emplace_back(Heading{context.network + ": predicted time per layer"});
  Table table({{"layer", Align::kLeft, 32},
               {"op", Align::kLeft},
               {"forward ms"},
               {"data gradient ms"},
               {"weight gradient ms"},
               {"share"},
               {"bound by", Align::kLeft},
               {"algorithm", Align::kLeft}});
  double total = 0;
  for (const predict::LayerTime& layer : layers) {
    total += layer.time.forward.seconds + layer.time.backward();
  }
  document.data = Json::object({{"network", context.network}});
  document.data["layers"] = Json::array();
  for (const predict::LayerTime& layer : layers) {
    const predict::OpTime& time = layer.time;
    const double all = time.forward.seconds + time.backward();
    const std::string_view algorithm =
        layer.op->is_conv ? predict::algorithm_name(time.forward.algorithm) : "-";
    const std::string_view bound = predict::bound_name(time.forward.bound);
    table.add_row({layer.op->name, layer.op->op, ms_cell(time.forward.seconds),
                   ms_cell(time.data_gradient.seconds), ms_cell(time.weight_gradient.seconds),
                   percent_cell(total > 0 ? all / total : 0), bound, algorithm});
    document.data["layers"].push_back(
        Json::object({{"name", layer.op->name},
                      {"op", layer.op->op},
                      {"forward_ms", time.forward.seconds * 1e3},
                      {"data_gradient_ms", time.data_gradient.seconds * 1e3},
                      {"weight_gradient_ms", time.weight_gradient.seconds * 1e3},
                      {"bound", bound},
                      {"algorithm", algorithm}}));
  }
  document.blocks.emplace_back(std::move(table));
  add_notes(context, document);
  return document;
}

Document peak_document(const PredictionContext& context, const predict::Device& device,
                       std::span<const predict::PeakRow> rows) {
  Document document;
  document.blocks.emplace_back(Heading{
      fmt::format("{} on {}: theory and practice of inference", context.network, device.name)});
  Table table({{"FLOPs counted by", Align::kLeft},
               {"GFLOPs"},
               {"single ms"},
               {"single images/s"},
               {"double ms"},
               {"double images/s"},
               {"practical images/s"},
               {"of single peak"},
               {"of double peak"},
               {"practical is", Align::kLeft}});
  document.data = Json::object({{"network", context.network},
                                {"device", device.id},
                                {"fp32_gflops", device.fp32 / 1e9},
                                {"fp64_gflops", device.fp64 / 1e9}});
  document.data["rows"] = Json::array();
  for (const predict::PeakRow& row : rows) {
    const bool has_double = row.double_s > 0;
    table.add_row({row.counted_by, fixed_cell(row.flops / 1e9, 2), ms_cell(row.single_s),
                   fixed_cell(row.single_images_per_s(), 1),
                   has_double ? ms_cell(row.double_s) : Cell("-"),
                   has_double ? fixed_cell(row.double_images_per_s(), 1) : Cell("-"),
                   fixed_cell(row.practical, 1), percent_cell(row.ratio()),
                   row.practical_double > 0 ? percent_cell(row.double_ratio()) : Cell("-"),
                   row.practical_source});
    document.data["rows"].push_back(
        Json::object({{"counted_by", row.counted_by},
                      {"gflops", row.flops / 1e9},
                      {"single_ms", row.single_s * 1e3},
                      {"single_images_per_s", row.single_images_per_s()},
                      {"double_ms", row.double_s * 1e3},
                      {"double_images_per_s", row.double_images_per_s()},
                      {"practical_images_per_s", row.practical},
                      {"ratio", row.ratio()},
                      {"practical_double_images_per_s", row.practical_double},
                      {"double_ratio", row.double_ratio()},
                      {"practical_source", row.practical_source},
                      {"practical_origin", row.practical_origin}}));
  }
  document.blocks.emplace_back(std::move(table));
  add_notes(context, document);
  return document;
}

Document devices_document(const predict::Catalog& catalog) {
  Document document;
  document.blocks.emplace_back(Heading{"Devices"});
  Table devices({{"device", Align::kLeft},
                 {"name", Align::kLeft, 44},
                 {"fp32 TFLOP/s"},
                 {"fp64"},
                 {"fp16"},
                 {"tf32"},
                 {"memory GB"},
                 {"GB/s"},
                 {"from $/h"}});
  document.data = Json::object(
      {{"devices", Json::array()}, {"links", Json::array()}, {"stacks", Json::array()}});
  for (const predict::Device& d : catalog.devices()) {
    const predict::Price* price = catalog.cheapest(d.id);
    // The rate that training reaches: matrix units where there are any.
    const double half = d.fp16_matrix > 0 ? d.fp16_matrix : d.fp16;
    constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;
    devices.add_row({d.id, d.name, peak_cell(d.fp32), peak_cell(d.fp64), peak_cell(half),
                     peak_cell(d.tf32), fixed_cell(d.memory_bytes / kGibi, 0),
                     fixed_cell(d.bytes_per_s / 1e9, 0),
                     price != nullptr ? fixed_cell(price->per_device(), 2) : Cell("-")});
    document.data["devices"].push_back(Json::object({{"id", d.id},
                                                     {"name", d.name},
                                                     {"kind", d.kind},
                                                     {"fp32_gflops", d.fp32 / 1e9},
                                                     {"fp64_gflops", d.fp64 / 1e9},
                                                     {"memory_bytes", d.memory_bytes},
                                                     {"bandwidth_gbps", d.bytes_per_s / 1e9},
                                                     {"source", d.source}}));
  }
  document.blocks.emplace_back(std::move(devices));
  document.blocks.emplace_back(Heading{"Links"});
  Table links({{"link", Align::kLeft}, {"name", Align::kLeft}, {"GB/s"}, {"latency us"}});
  for (const predict::Link& link : catalog.links()) {
    links.add_row({link.id, link.name, fixed_cell(link.speed.bytes_per_s / 1e9, 3),
                   fixed_cell(link.speed.latency_s * 1e6, 0)});
    document.data["links"].push_back(Json::object({{"id", link.id},
                                                   {"name", link.name},
                                                   {"gbps", link.speed.bytes_per_s / 1e9},
                                                   {"latency_us", link.speed.latency_s * 1e6},
                                                   {"source", link.source}}));
  }
  document.blocks.emplace_back(std::move(links));
  document.blocks.emplace_back(Heading{"Software stacks"});
  Table stacks({{"stack", Align::kLeft}, {"name", Align::kLeft}, {"fitted to", Align::kLeft, 60}});
  for (const predict::Stack& stack : catalog.stacks()) {
    stacks.add_row({stack.id, stack.name, stack.fitted_to.empty() ? "-" : stack.fitted_to});
    document.data["stacks"].push_back(
        Json::object({{"id", stack.id}, {"name", stack.name}, {"fitted_to", stack.fitted_to}}));
  }
  document.blocks.emplace_back(std::move(stacks));
  return document;
}

Document device_document(const predict::Catalog& catalog, const predict::Device& device) {
  Document document;
  document.blocks.emplace_back(Heading{device.id + ": " + device.name});
  Table facts({{"what", Align::kLeft}, {"value"}});
  document.data = Json::object({{"id", device.id}, {"name", device.name}, {"kind", device.kind}});
  // What a device lacks is null for programs and no row for people.
  const auto add = [&](std::string_view what, std::string_view key, double value, double unit,
                       std::string_view suffix) {
    document.data[key] = value > 0 ? Json(value / unit) : Json();
    if (value > 0) facts.add_row({what, fmt::format("{:g} {}", value / unit, suffix)});
  };
  add("single precision", "fp32_gflops", device.fp32, 1e9, "GFLOP/s");
  add("double precision", "fp64_gflops", device.fp64, 1e9, "GFLOP/s");
  add("half precision", "fp16_gflops", device.fp16, 1e9, "GFLOP/s");
  add("half precision, matrix units", "fp16_tensor_gflops", device.fp16_matrix, 1e9, "GFLOP/s");
  // Only where it differs: most devices have one rate for both.
  if (device.fp16_accumulate > device.fp16_matrix) {
    add("the same, sums in half precision", "fp16_accumulate_gflops", device.fp16_accumulate, 1e9,
        "GFLOP/s");
  }
  add("tf32, matrix units", "tf32_gflops", device.tf32, 1e9, "GFLOP/s");
  add("int8", "int8_gops", device.int8, 1e9, "GOP/s");
  add("memory", "memory_gb", device.memory_bytes, 1024.0 * 1024.0 * 1024.0, "GiB");
  add("memory bandwidth", "bandwidth_gbps", device.bytes_per_s, 1e9, "GB/s");
  add("clock", "clock_mhz", device.clock_hz, 1e6, "MHz");
  if (!device.is_cpu()) {
    add("base clock", "base_mhz", device.base_hz, 1e6, "MHz");
    add("multiprocessors", "multiprocessors", static_cast<double>(device.multiprocessors), 1, "");
    add("L2 cache", "l2_mb", device.cache_bytes, 1024.0 * 1024.0, "MiB");
    add("power", "watts", device.watts, 1, "W");
    add("fitted factor, vector units", "vector_factor", device.vector_factor, 1, "");
    add("fitted factor, matrix units", "matrix_factor", device.matrix_factor, 1, "");
    add("fitted factor, memory", "memory_factor", device.memory_factor, 1, "");
  }
  document.data["inside"] = device.inside;
  document.data["source"] = device.source;
  document.blocks.emplace_back(std::move(facts));
  document.blocks.emplace_back(
      Paragraph{"Link to other devices of a host: " + catalog.link(device.inside).name});
  document.blocks.emplace_back(Paragraph{"Sources: " + device.source});
  Table prices({{"cloud", Align::kLeft},
                {"instance", Align::kLeft},
                {"devices"},
                {"$/h"},
                {"$/h each"},
                {"as of", Align::kLeft}});
  document.data["prices"] = Json::array();
  for (const predict::Price& price : catalog.prices()) {
    if (price.device != device.id) continue;
    prices.add_row({price.cloud, price.instance, count_cell(price.devices),
                    fixed_cell(price.usd_per_hour, 2), fixed_cell(price.per_device(), 2),
                    price.date});
    document.data["prices"].push_back(Json::object({{"cloud", price.cloud},
                                                    {"instance", price.instance},
                                                    {"devices", price.devices},
                                                    {"usd_per_hour", price.usd_per_hour},
                                                    {"date", price.date},
                                                    {"source", price.source}}));
  }
  if (prices.num_rows() > 0) document.blocks.emplace_back(std::move(prices));
  Table rows({{"stack", Align::kLeft}, {"published rows"}});
  document.data["published"] = Json::object();
  for (const predict::Stack& stack : catalog.stacks()) {
    const int64_t count = stack.rows_on(device.id);
    if (count == 0) continue;
    rows.add_row({stack.id, count_cell(count)});
    document.data["published"][stack.id] = count;
  }
  if (rows.num_rows() > 0) document.blocks.emplace_back(std::move(rows));
  if (const auto& measured = catalog.default_stack(device).measured) {
    document.blocks.emplace_back(
        Paragraph{fmt::format("Measured on it, with a cache of {:g} MB between near and far:",
                              measured->cache_bytes / 1e6)});
    document.blocks.emplace_back(measured_costs_table(*measured, device));
    document.data["costs"] = measured_costs_json(*measured);
  }
  return document;
}

}  // namespace trainyard::report

#include "cluster/predict/view.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.h"
#include "cluster/predict/calibration_view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

// Three digits or so: differences below a percent are noise of the model.
Cell ms_cell(double ms) {
  return {fmt::format("{:.{}f}", ms, ms < 10 ? 2 : ms < 100 ? 1 : 0), fmt::format("{}", ms)};
}

template <typename Row, typename Get>
Field<Row> ms_field(std::string key, Column column, Get seconds) {
  return {std::move(key), std::move(column), scaled(seconds, 1e3), ms_cell};
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

// What both tables begin with.
Fields<predict::Row> which_fields() {
  using predict::Row;
  return {{"workers", {"workers"}, &Row::workers},
          {"batch_per_worker", {"batch each"}, &Row::batch_per_worker}};
}

Fields<predict::Row> time_fields() {
  using predict::Row;
  return {ms_field<Row>("forward_ms", {"forward ms"}, &Row::forward),
          ms_field<Row>("backward_ms", {"backward ms"}, &Row::backward),
          ms_field<Row>("update_ms", {"update ms"}, &Row::update),
          ms_field<Row>("comm_ms", {"comm ms"}, &Row::comm),
          ms_field<Row>("exposed_comm_ms", {"exposed ms"}, &Row::exposed_comm),
          {"waiting_ms", scaled(&Row::waiting, 1e3)},
          ms_field<Row>("step_ms", {"step ms"}, &Row::step),
          {"images_per_s", {"images/s"}, &Row::images_per_s, Fixed{1}},
          {"base_workers", &Row::base_workers},
          {"speedup", {"speedup"}, &Row::speedup, Fixed{2}},
          {"efficiency", {"efficiency"}, &Row::efficiency, Percent()},
          {"limit", {"limit", Align::kLeft, 44}, &Row::limit}};
}

// One worker sends nothing; bandwidths of nothing would read as bad ones.
template <typename Get, typename Show>
auto if_talking(Get get, Show show) {
  return [get, show](const predict::Row& row) {
    return row.bus_bandwidth > 0 ? show(std::invoke(get, row)) : Cell("-");
  };
}

Fields<predict::Row> total_fields(bool priced) {
  using predict::Row;
  // Programs get null where people get "-": a cost of 0 would be a claim.
  const auto cost = [priced](const Row& row) {
    return priced ? std::optional(row.cost_usd) : std::nullopt;
  };
  const auto memory = [](const Row& row) { return static_cast<int64_t>(row.memory_bytes); };
  const auto comm = [](const Row& row) {
    return row.comm_model.empty() ? std::nullopt : std::optional(row.comm_model);
  };
  const auto algorithm = divided(&Row::algorithm_bandwidth, 1e9);
  const auto bus = divided(&Row::bus_bandwidth, 1e9);
  return {
      ms_field<Row>("input_ms", {"input ms"}, &Row::input),
      {"epoch_s", {"epoch"}, &Row::epoch, seconds_cell},
      {"train_s", {"training"}, &Row::train, seconds_cell},
      {"cost_usd", {"cost"}, cost, [](const Row& row) { return money_cell(row.cost_usd); }},
      {"memory_bytes", {"memory each"}, memory, bytes_cell},
      {"fits", &Row::fits},
      percent_field<Row>("percent_of_peak", {"of peak"}, &Row::percent_of_peak),
      {"comm", {"communication", Align::kLeft}, comm},
      {"algorithm_bandwidth_gbps", {"algorithm GB/s"}, algorithm, if_talking(algorithm, Fixed{2})},
      {"bus_bandwidth_gbps", {"bus GB/s"}, bus, if_talking(bus, Fixed{2})},
      {"link_utilization",
       {"link used"},
       &Row::utilization,
       if_talking(&Row::utilization, Percent())}};
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

Fields<predict::LayerTime> layer_time_fields(double total) {
  using predict::LayerTime;
  const auto all = [total](const LayerTime& layer) {
    return total > 0 ? (layer.time.forward.seconds + layer.time.backward()) / total : 0;
  };
  const auto algorithm = [](const LayerTime& layer) -> std::string_view {
    return layer.op->is_conv ? predict::algorithm_name(layer.time.forward.algorithm) : "-";
  };
  return {{"name", {"layer", Align::kLeft, 32}, [](const LayerTime& l) { return l.op->name; }},
          {"op", {"op", Align::kLeft}, [](const LayerTime& l) { return l.op->op; }},
          ms_field<LayerTime>("forward_ms", {"forward ms"},
                              [](const LayerTime& l) { return l.time.forward.seconds; }),
          ms_field<LayerTime>("data_gradient_ms", {"data gradient ms"},
                              [](const LayerTime& l) { return l.time.data_gradient.seconds; }),
          ms_field<LayerTime>("weight_gradient_ms", {"weight gradient ms"},
                              [](const LayerTime& l) { return l.time.weight_gradient.seconds; }),
          {"", {"share"}, all, Percent()},
          {"bound",
           {"bound by", Align::kLeft},
           [](const LayerTime& l) { return predict::bound_name(l.time.forward.bound); }},
          {"algorithm", {"algorithm", Align::kLeft}, algorithm}};
}

Fields<predict::PeakRow> peak_fields() {
  using predict::PeakRow;
  const auto if_double = [](const auto& get, const auto& show) {
    return [get, show](const PeakRow& row) {
      return row.double_s > 0 ? show(std::invoke(get, row)) : Cell("-");
    };
  };
  const auto double_ms = scaled(&PeakRow::double_s, 1e3);
  const auto double_ratio = [](const PeakRow& row) {
    return row.practical_double > 0 ? percent_cell(row.double_ratio()) : Cell("-");
  };
  return {{"counted_by", {"FLOPs counted by", Align::kLeft}, &PeakRow::counted_by},
          {"gflops", {"GFLOPs"}, divided(&PeakRow::flops, 1e9), Fixed{2}},
          ms_field<PeakRow>("single_ms", {"single ms"}, &PeakRow::single_s),
          {"single_images_per_s", {"single images/s"}, &PeakRow::single_images_per_s, Fixed{1}},
          {"double_ms", {"double ms"}, double_ms, if_double(double_ms, ms_cell)},
          {"double_images_per_s",
           {"double images/s"},
           &PeakRow::double_images_per_s,
           if_double(&PeakRow::double_images_per_s, Fixed{1})},
          {"practical_images_per_s", {"practical images/s"}, &PeakRow::practical, Fixed{1}},
          {"ratio", {"of single peak"}, &PeakRow::ratio, Percent()},
          {"practical_double_images_per_s", &PeakRow::practical_double},
          {"double_ratio", {"of double peak"}, &PeakRow::double_ratio, double_ratio},
          {"practical_source", {"practical is", Align::kLeft}, &PeakRow::practical_source},
          {"practical_origin", &PeakRow::practical_origin}};
}

Fields<predict::Device> device_fields(const predict::Catalog& catalog) {
  using predict::Device;
  // The rate that training reaches: matrix units where there are any.
  const auto half = [](const Device& d) { return d.fp16_matrix > 0 ? d.fp16_matrix : d.fp16; };
  const auto memory = [](const Device& d) {
    constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;
    return fixed_cell(d.memory_bytes / kGibi, 0);
  };
  const auto price = [&catalog](const Device& d) {
    const predict::RentableInstance* cheapest = catalog.cheapest(d.id);
    return cheapest != nullptr ? std::optional(cheapest->per_device()) : std::nullopt;
  };
  return {{"id", {"device", Align::kLeft}, &Device::id},
          {"name", {"name", Align::kLeft, 44}, &Device::name},
          {"kind", &Device::kind},
          {"fp32_gflops",
           {"fp32 TFLOP/s"},
           divided(&Device::fp32, 1e9),
           [](const Device& d) { return peak_cell(d.fp32); }},
          {"fp64_gflops",
           {"fp64"},
           divided(&Device::fp64, 1e9),
           [](const Device& d) { return peak_cell(d.fp64); }},
          {"", {"fp16"}, half, peak_cell},
          {"", {"tf32"}, &Device::tf32, peak_cell},
          {"memory_bytes", {"memory GB"}, &Device::memory_bytes, memory},
          {"bandwidth_gbps", {"GB/s"}, divided(&Device::bytes_per_s, 1e9), Fixed{0}},
          {"", {"from $/h"}, price, Fixed{2}},
          {"source", &Device::source}};
}

Fields<predict::Link> link_fields() {
  using predict::Link;
  return {{"id", {"link", Align::kLeft}, &Link::id},
          {"name", {"name", Align::kLeft}, &Link::name},
          {"gbps", {"GB/s"}, [](const Link& l) { return l.speed.bytes_per_s / 1e9; }, Fixed{3}},
          {"latency_us",
           {"latency us"},
           [](const Link& l) { return l.speed.latency_s * 1e6; },
           Fixed{0}},
          {"source", &Link::source}};
}

Fields<predict::Stack> stack_fields() {
  using predict::Stack;
  return {{"id", {"stack", Align::kLeft}, &Stack::id},
          {"name", {"name", Align::kLeft}, &Stack::name},
          {"fitted_to", {"fitted to", Align::kLeft, 60}, &Stack::fitted_to, [](const Stack& s) {
             return Cell(s.fitted_to.empty() ? "-" : s.fitted_to);
           }}};
}

Fields<predict::RentableInstance> offer_fields() {
  using predict::RentableInstance;
  // A price without the host is the least that it may be.
  const auto dollars = [](auto get) {
    return [get](const RentableInstance& offer) {
      const double usd = std::invoke(get, offer);
      return Cell(fmt::format("{}{:.2f}", offer.complete ? "" : "≥ ", usd), fmt::format("{}", usd));
    };
  };
  const auto network = [](const RentableInstance& offer) { return Cell(offer.network_text()); };
  return {{"cloud", {"cloud", Align::kLeft}, &RentableInstance::cloud},
          {"instance", {"instance", Align::kLeft}, &RentableInstance::instance},
          {"devices", {"devices"}, &RentableInstance::devices},
          {"inside", {"inside", Align::kLeft}, &RentableInstance::inside},
          {"network", {"network", Align::kLeft}, &RentableInstance::network, network},
          {"network_is_peak", &RentableInstance::up_to},
          {"usd_per_hour",
           {"$/h"},
           &RentableInstance::usd_per_hour,
           dollars(&RentableInstance::usd_per_hour)},
          Field<RentableInstance>::shown({"$/h each"}, dollars(&RentableInstance::per_device)),
          {"complete", &RentableInstance::complete},
          {"date", {"as of", Align::kLeft}, &RentableInstance::date},
          {"source", &RentableInstance::source}};
}

}  // namespace

Document prediction_document(const PredictionContext& context, const predict::Request& request,
                             std::span<const predict::Row> rows) {
  Document document;
  const bool training = request.mode == predict::Mode::kTraining;
  document.blocks.emplace_back(
      Heading{fmt::format("{} on {}: predicted {}", context.network, request.device->name,
                          training ? "training" : "inference")});
  const Fields<predict::Row> times = joined(which_fields(), time_fields());
  const Fields<predict::Row> totals = total_fields(request.usd_per_hour > 0);
  document.blocks.emplace_back(table_of(times, rows));
  document.blocks.emplace_back(table_of(joined(which_fields(), totals), rows));
  // A curve needs two points.
  if (rows.size() > 1) {
    document.blocks.emplace_back(throughput_chart(rows));
    document.blocks.emplace_back(step_chart(rows));
  }
  document.data = Json::object({{"network", context.network}, {"device", request.device->id}});
  document.data["model"] = request.model == predict::Model::kPaleo ? "paleo" : "trainyard";
  document.data["stack"] = request.stack->id;
  document.data["precision"] = predict::precision_name(request.precision);
  const Fields<predict::Row> alone = {{"global_batch", &predict::Row::global_batch}};
  document.data["rows"] = objects_of(joined(joined(times, totals), alone), rows);
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
  double total = 0;
  for (const predict::LayerTime& layer : layers) {
    total += layer.time.forward.seconds + layer.time.backward();
  }
  const Fields<predict::LayerTime> fields = layer_time_fields(total);
  document.blocks.emplace_back(table_of(fields, layers));
  document.data = Json::object({{"network", context.network}});
  document.data["layers"] = objects_of(fields, layers);
  add_notes(context, document);
  return document;
}

Document peak_document(const PredictionContext& context, const predict::Device& device,
                       std::span<const predict::PeakRow> rows) {
  Document document;
  document.blocks.emplace_back(Heading{
      fmt::format("{} on {}: theory and practice of inference", context.network, device.name)});
  document.data = Json::object({{"network", context.network},
                                {"device", device.id},
                                {"fp32_gflops", device.fp32 / 1e9},
                                {"fp64_gflops", device.fp64 / 1e9}});
  document.blocks.emplace_back(table_of(peak_fields(), rows));
  document.data["rows"] = objects_of(peak_fields(), rows);
  add_notes(context, document);
  return document;
}

Document devices_document(const predict::Catalog& catalog) {
  Document document;
  document.blocks.emplace_back(Heading{"Devices"});
  const Fields<predict::Device> devices = device_fields(catalog);
  document.blocks.emplace_back(table_of(devices, catalog.devices()));
  document.data = Json::object({{"devices", objects_of(devices, catalog.devices())}});
  document.blocks.emplace_back(Heading{"Links"});
  document.blocks.emplace_back(table_of(link_fields(), catalog.links()));
  document.data["links"] = objects_of(link_fields(), catalog.links());
  document.blocks.emplace_back(Heading{"Software stacks"});
  document.blocks.emplace_back(table_of(stack_fields(), catalog.stacks()));
  document.data["stacks"] = objects_of(stack_fields(), catalog.stacks());
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
  std::vector<predict::RentableInstance> offers;
  std::ranges::copy_if(
      catalog.offers(), std::back_inserter(offers),
      [&](const predict::RentableInstance& offer) { return offer.device == device.id; });
  document.data["instances"] = objects_of(offer_fields(), offers);
  if (!offers.empty()) document.blocks.emplace_back(table_of(offer_fields(), offers));
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

#include "cluster/predict/peak.h"

#include "base/csv.h"
#include "base/error.h"
#include "cluster/predict/embedded.h"

namespace trainyard::predict {
namespace {

struct Count {
  std::string who;
  double flops = 0;
};

// Others count the same network differently (with or without biases, pooling, pairs as one); each
// count is a row of its own, so that a share of peak can be compared with a published one.
std::vector<Count> published_counts(const std::string& name) {
  std::vector<Count> counts;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name != "flop_counts.csv") continue;
    const CsvTable table = CsvTable::parse(file.text, "catalog/flop_counts.csv");
    for (size_t i = 0; i < table.size(); ++i) {
      if (table.row(i).text("network") != name) continue;
      const std::string& source = table.row(i).text("source");
      counts.push_back(
          {source.substr(0, source.find(',')), 2e6 * table.row(i).number("millions_of_macs")});
    }
  }
  return counts;
}

// The best published speed is the fairest "practice" to hold against theory.
std::optional<Measurement> fastest(const std::string& name, const std::string& device) {
  std::optional<Measurement> best;
  for (const Measurement& m : published_measurements()) {
    const bool matches = m.mode == Mode::kInference && m.model == name && m.device == device &&
                         m.precision == Precision::kFp32 && m.images_per_s;
    if (matches && (!best || *m.images_per_s > *best->images_per_s)) best = m;
  }
  return best;
}

double roofline_forward_s(const Network& network, const Device& device, const Stack& stack,
                          Precision precision, int64_t batch) {
  const Roofline roofline(device, stack, precision);
  return predict_step(network.profile, roofline, static_cast<double>(batch), Mode::kInference)
      .total();
}

// In double precision PALEO's machine has the other peak, and its memory moves half as many values.
double paleo_forward_s(const Network& network, const Device& device, const Stack& stack,
                       Precision precision, int64_t batch) {
  paleo::Options options;
  options.machine = device.paleo_machine();
  if (precision == Precision::kFp64) {
    options.machine.peak_gflops *= device.fp64 / device.fp32;
    options.machine.memory_gbps /= 2;
  }
  options.percent = stack.paleo;
  return paleo::iteration(network.paleo, batch, options).forward_ms * 1e-3;
}

}  // namespace

std::vector<PeakRow> peak_rows(const Network& network, const std::string& name,
                               const Device& device, const Stack& stack, Model model,
                               int64_t batch) {
  const bool paleo = model == Model::kPaleo;
  const auto speed = [&](Precision precision) {
    return static_cast<double>(batch) /
           (paleo ? paleo_forward_s : roofline_forward_s)(network, device, stack, precision, batch);
  };
  const double predicted = speed(Precision::kFp32);
  const double predicted_double = device.fp64 > 0 ? speed(Precision::kFp64) : 0;
  const std::string predicted_by =
      paleo ? fmt::format("PALEO, {:g} % of peak", 100 * stack.paleo.compute) : stack.id;
  std::vector<Count> counts = {{"trainyard", 2 * network.profile.macs}};
  for (Count& count : published_counts(name)) counts.push_back(std::move(count));
  const std::optional<Measurement> measured = fastest(name, device.id);
  std::vector<PeakRow> rows;
  for (const Count& count : counts) {
    PeakRow row{count.who,
                count.flops,
                count.flops / device.fp32,
                device.fp64 > 0 ? count.flops / device.fp64 : 0,
                predicted,
                predicted_double,
                fmt::format("predicted, {}, batch {}", predicted_by, batch)};
    rows.push_back(row);
    if (!measured) continue;
    row.practical = *measured->images_per_s;
    row.practical_double = 0;
    row.practical_origin = "published";
    row.practical_source =
        fmt::format("published, {}, batch {}", measured->framework, measured->batch_per_gpu);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace trainyard::predict

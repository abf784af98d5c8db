#include "studies/scaling/view.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "report/fields.h"
#include "studies/scaling/all_reduce_view.h"

namespace trainyard::report {
namespace {

using measure::ScalePoint;
using measure::ScaleRow;

std::set<int64_t> batches_of(const ScaleReport& report) {
  std::set<int64_t> batches;
  for (const ScalePoint& point : report.points) batches.insert(point.batch);
  return batches;
}

// Null where that pair was not measured: the measurement may have been stopped early.
const ScalePoint* find_point(const ScaleReport& report, int64_t workers, int64_t batch) {
  for (const ScalePoint& point : report.points) {
    if (point.workers == workers && point.batch == batch) return &point;
  }
  return nullptr;
}

// Of whole batches: the rest of an epoch that fills none is counted in proportion.
double epoch_seconds(const ScaleReport& report, const ScalePoint& point, double step_s) {
  return static_cast<double>(report.settings.images) /
         static_cast<double>(point.workers * point.batch) * step_s;
}

// Weak scaling fixes the batch of a worker, strong that of all workers.
Fields<ScaleRow> scale_fields(bool weak, const measure::ScaleSettings& settings) {
  const auto step = [](const ScaleRow& row) {
    return Cell((row.measured ? "" : "~") + seconds_text(row.step_s),
                fmt::format("{}", row.step_s));
  };
  const auto dollars = [](double usd) {
    return Cell(fmt::format("${:.4f}", usd), fmt::format("{}", usd));
  };
  const std::string all = fmt::format("{:g} epochs", settings.epochs);
  return {{"batch", {weak ? "batch per worker" : ""}, &ScaleRow::batch},
          {"global_batch", {weak ? "" : "batch of all"}, &ScaleRow::global_batch},
          {"workers", {"workers"}, &ScaleRow::workers},
          {"measured", &ScaleRow::measured},
          {"step_s", {"step"}, &ScaleRow::step_s, step},
          {"error_s", &ScaleRow::error_s},
          {"images_per_s", {"images/s"}, &ScaleRow::images_per_s, Fixed{1}},
          {"epoch_s", {"epoch"}, &ScaleRow::epoch_s, seconds_cell},
          {"speedup", {"speed-up"}, &ScaleRow::speedup, Fixed{2}},
          {"efficiency", {"efficiency"}, &ScaleRow::efficiency, Fixed{3}},
          {"train_s", {all}, &ScaleRow::train_s, seconds_cell},
          {"cost_usd", {settings.usd_per_hour > 0 ? "cost" : ""}, &ScaleRow::cost_usd, dollars}};
}

Fields<ScalePoint> loss_fields() {
  const auto of = [](auto member) {
    return [member](const ScalePoint& point) {
      return std::invoke(member, measure::scale_loss(point));
    };
  };
  using Loss = measure::ScaleLoss;
  return {{"batch", {"batch per worker"}, &ScalePoint::batch},
          {"workers", {"workers"}, &ScalePoint::workers},
          {"alone_s", {"alone"}, of(&Loss::alone_s), seconds_cell},
          {"independent_s", {"at the same time"}, of(&Loss::independent_s), seconds_cell},
          {"slowest_s", {"the slowest"}, of(&Loss::slowest_s), seconds_cell},
          {"together_s", {"together"}, of(&Loss::together_s), seconds_cell},
          {"efficiency", {"efficiency"}, of(&Loss::efficiency), Fixed{3}},
          {"limit", {"cores' limit"}, of(&Loss::limit), Fixed{3}},
          {"contention", {"contention"}, of(&Loss::contention), Percent{}},
          {"unevenness", {"uneven steps"}, of(&Loss::unevenness), Percent{}},
          {"communication", {"communication"}, of(&Loss::communication), Percent{}}};
}

// A predicted step beside the measured one.
struct PredictedStep {
  const ScalePrediction* predicted = nullptr;
  double measured_s = 0;

  double error() const { return predicted->step_s / measured_s - 1; }
};

Fields<PredictedStep> predicted_fields() {
  const auto of = [](auto member) {
    return [member](const PredictedStep& step) { return step.predicted->*member; };
  };
  return {{"batch", {"batch per worker"}, of(&ScalePrediction::batch)},
          {"workers", {"workers"}, of(&ScalePrediction::workers)},
          {"predicted_s", {"predicted"}, of(&ScalePrediction::step_s), seconds_cell},
          {"measured_s", {"measured"}, &PredictedStep::measured_s, seconds_cell},
          {"error", {"error"}, &PredictedStep::error, Percent{}}};
}

// One section of the document after another; each leaves itself out where nothing was measured for
// it, but its key is in the data all the same.
class ScaleMaker {
 public:
  explicit ScaleMaker(const ScaleReport& report) : report_(report) {}

  Document run() {
    document_.data["model"] = report_.model;
    document_.data["data"] = report_.data;
    document_.data["images"] = report_.settings.images;
    document_.data["threads"] = report_.threads;
    document_.data["whole_epochs"] = report_.whole_epochs;
    Json points = Json::array();
    for (const ScalePoint& point : report_.points) points.push_back(scale_point_json(point));
    document_.data["points"] = std::move(points);
    add_one_worker();
    add_scaling("weak", "Weak scaling: the same batch for every worker",
                "The work of a step grows with the workers. Efficiency is the growth of one "
                "iteration: its time with one worker over that with n.");
    add_scaling("strong", "Strong scaling: the same batch for all workers together",
                "Each of n workers has 1/n of the batch. ~ marks times between two measured "
                "batches, on a straight line.");
    add_parts();
    add_losses();
    add_all_reduce();
    add_predictions();
    add_largest();
    return std::move(document_);
  }

 private:
  void heading(std::string text) { document_.blocks.emplace_back(Heading{std::move(text)}); }
  void paragraph(std::string text) { document_.blocks.emplace_back(Paragraph{std::move(text)}); }

  void add_one_worker() {
    heading(fmt::format("{} on {}: one worker, {} thread{}", report_.model, report_.data,
                        report_.threads, report_.threads == 1 ? "" : "s"));
    paragraph(
        fmt::format("An epoch has {} images. The first {} warmed up, the second was measured{}.",
                    report_.settings.images, report_.whole_epochs ? "epoch" : "steps",
                    report_.whole_epochs ? "" : "; epochs are extrapolated from them"));
    Table table({{"batch"},
                 {"step"},
                 {"waiting for data"},
                 {"epoch without data I/O"},
                 {"images/s without"},
                 {"epoch with everything"}});
    for (const int64_t batch : batches_of(report_)) {
      const ScalePoint* point = find_point(report_, 1, batch);
      if (point == nullptr) continue;
      table.add_row({count_cell(batch), seconds_cell(point->step_s), seconds_cell(point->data_s),
                     seconds_cell(epoch_seconds(report_, *point, point->without_data_s())),
                     fixed_cell(static_cast<double>(batch) / point->without_data_s(), 1),
                     seconds_cell(epoch_seconds(report_, *point, point->step_s))});
    }
    document_.blocks.emplace_back(std::move(table));
  }

  // Both kinds of scaling are the same table over other rows: weak fixes the batch of a worker,
  // strong that of all workers.
  void add_scaling(const std::string& kind, std::string title, std::string words) {
    const Fields<ScaleRow> fields = scale_fields(kind == "weak", report_.settings);
    Table table = empty_table(fields);
    Json data = Json::array();
    Chart chart{.kind = ChartKind::kLine,
                .title = kind == "weak" ? "Weak scaling" : "Strong scaling",
                .x = {.name = "workers"},
                .y = {.name = "images/s"}};
    bool first = true;
    for (const int64_t batch : batches_of(report_)) {
      const std::vector<ScaleRow> rows =
          kind == "weak" ? measure::weak_scaling(report_.points, batch, report_.settings)
                         : measure::strong_scaling(report_.points, batch, report_.settings);
      // One number of workers shows no scaling.
      if (rows.size() < 2) continue;
      if (!first) table.add_rule();
      first = false;
      Series series{fmt::format("batch {}", batch), Origin::kMeasured, {}};
      for (const ScaleRow& row : rows) {
        series.points.push_back({static_cast<double>(row.workers), row.images_per_s});
        table.add_row(cells_of(fields, row));
        data.push_back(object_of(fields, row));
      }
      chart.series.push_back(std::move(series));
    }
    document_.data[kind] = std::move(data);
    if (table.num_rows() == 0) return;
    heading(std::move(title));
    paragraph(std::move(words));
    document_.blocks.emplace_back(std::move(table));
    document_.blocks.emplace_back(std::move(chart));
  }

  // The least time in which the gradients could be summed in memory; 0: not known.
  double bound_s(const ScalePoint& point) const {
    if (report_.all_reduce.is_null()) return 0;
    for (const Json& row : report_.all_reduce.at("rows").items()) {
      if (row.at("workers").as_int() == point.workers) {
        return row.at("bound_ms").as_number() / 1e3 * static_cast<double>(point.gradient_bytes) /
               row.at("bytes").as_number();
      }
    }
    return 0;
  }

  void add_parts() {
    Table table({{"batch per worker"},
                 {"workers"},
                 {"computation"},
                 {"communication"},
                 {"hidden"},
                 {"waited for"},
                 {"data"},
                 {"bus GB/s"},
                 {"of bandwidth"}});
    for (const ScalePoint& p : report_.points) {
      if (p.workers < 2) continue;
      const auto n = static_cast<double>(p.workers);
      // What a ring would move through the busiest link, the usual measure whatever the algorithm
      // was: so that columns compare.
      const double bus = 2 * (n - 1) / n * static_cast<double>(p.gradient_bytes) / 1e9;
      const double busy = std::max(p.communication_s, 1e-9);
      table.add_row({count_cell(p.batch), count_cell(p.workers), seconds_cell(p.compute_s),
                     seconds_cell(p.communication_s),
                     seconds_cell(std::max(0.0, p.communication_s - p.exposed_s)),
                     seconds_cell(p.exposed_s), seconds_cell(p.data_s), fixed_cell(bus / busy, 2),
                     percent_cell(bound_s(p) / busy)});
    }
    if (table.num_rows() == 0) return;
    heading("Computation and communication, seconds of a step");
    paragraph(
        "Measured in training: computation is the time in forward, backward and update less the "
        "waits for sums; communication is the time in which a sum was under way, waits for slower "
        "workers included, hidden behind backward or waited for. Bus bandwidth is 2 (n-1)/n of the "
        "gradients over that time; the last column is the least time in which memory could do it "
        "(every message read and written once) over that time.");
    document_.blocks.emplace_back(std::move(table));
  }

  // Only where workers were timed in turns: alone, at the same time and together. Differences of
  // figures from different minutes would mostly show what else the machine did.
  void add_losses() {
    std::vector<ScalePoint> timed;
    for (const ScalePoint& point : report_.points) {
      if (point.independent_s > 0) timed.push_back(point);
    }
    document_.data["losses"] = objects_of(loss_fields(), timed);
    if (timed.empty()) return;
    heading("Where the efficiency of weak scaling goes");
    paragraph(
        "The median step without data I/O: of one worker while the others rest, of n workers at "
        "the same time that send nothing, of the slowest of these in each step, and of n workers "
        "that train together, a step of each in turn. What the second takes longer than the "
        "first is lost to contention for caches, memory and cores, what the third takes longer "
        "than the second to steps that are not equally long, and the rest to communication. The "
        "cores' limit is the efficiency of work as long as a step that stays in the caches of a "
        "core and sends nothing: what is lost there (clocks, cores shared with each other or with "
        "other machines), no training on these cores keeps.");
    document_.blocks.emplace_back(table_of(loss_fields(), timed));
  }

  void add_all_reduce() {
    if (report_.all_reduce.is_null()) return;
    heading("All-reduce of the gradients");
    paragraph(
        "With n workers, M bytes, latency a and bandwidth B: ring 2 (n-1) a + 2 (n-1)/n M / B; "
        "butterfly 2 log2(n) a + 2 (n-1)/n M / B; tree 2 log2(n) (a + M / B); one after another to "
        "one worker and back 2 (n-1) (a + M / B); in shared memory 2 meetings + 2 n M / memory "
        "bandwidth.");
    Document table = all_reduce_document(report_.all_reduce);
    for (auto& block : table.blocks) document_.blocks.push_back(std::move(block));
    document_.data["all_reduce"] = report_.all_reduce;
  }

  void add_predictions() {
    std::vector<PredictedStep> steps;
    for (const ScalePrediction& prediction : report_.predictions) {
      const ScalePoint* point = find_point(report_, prediction.workers, prediction.batch);
      if (point != nullptr) steps.push_back({&prediction, point->median_s});
    }
    heading("Prediction beside measurement");
    paragraph(report_.prediction_note);
    if (!steps.empty()) document_.blocks.emplace_back(table_of(predicted_fields(), steps));
    document_.data["predictions"] = objects_of(predicted_fields(), steps);
  }

  void add_largest() {
    if (!report_.largest) return;
    const LargestBatch& largest = *report_.largest;
    heading("Largest batch of one worker");
    const std::string limit = bytes_text(static_cast<double>(largest.limit_bytes));
    if (largest.batch == 0) {
      paragraph(fmt::format("Not even one image fits in {}.", limit));
    } else {
      paragraph(
          fmt::format("{} images are predicted to need {} of {} by the engine's plan; running them "
                      "took {} more than "
                      "the process without them, which {}.",
                      largest.batch, bytes_text(static_cast<double>(largest.predicted_bytes)),
                      limit, bytes_text(static_cast<double>(largest.measured_bytes)),
                      largest.measured_bytes <= largest.limit_bytes ? "fits" : "does not fit"));
    }
    document_.data["largest_batch"] = Json::object({{"limit_bytes", largest.limit_bytes},
                                                    {"batch", largest.batch},
                                                    {"predicted_bytes", largest.predicted_bytes},
                                                    {"measured_bytes", largest.measured_bytes}});
  }

  const ScaleReport& report_;
  Document document_;
};

}  // namespace

Json scale_point_json(const ScalePoint& p) {
  return Json::object({{"workers", p.workers},
                       {"batch", p.batch},
                       {"steps", p.steps},
                       {"step_s", p.step_s},
                       {"error_s", p.error_s},
                       {"data_s", p.data_s},
                       {"compute_s", p.compute_s},
                       {"communication_s", p.communication_s},
                       {"exposed_s", p.exposed_s},
                       {"median_s", p.median_s},
                       {"alone_s", p.alone_s},
                       {"independent_s", p.independent_s},
                       {"slowest_s", p.slowest_s},
                       {"together_s", p.together_s},
                       {"cores_alone_s", p.cores_alone_s},
                       {"cores_slowest_s", p.cores_slowest_s},
                       {"gradient_bytes", p.gradient_bytes},
                       {"memory_bytes", p.memory_bytes}});
}

// The ranks of a job hand their points to the process that prints, as JSON: the inverse of
// scale_point_json, with every digit.
ScalePoint scale_point_from_json(const Json& data) {
  ScalePoint p;
  p.workers = data.at("workers").as_int();
  p.batch = data.at("batch").as_int();
  p.steps = data.at("steps").as_int();
  p.step_s = data.at("step_s").as_number();
  if (const Json& error = data.at("error_s"); !error.is_null()) p.error_s = error.as_number();
  p.data_s = data.at("data_s").as_number();
  p.compute_s = data.at("compute_s").as_number();
  p.communication_s = data.at("communication_s").as_number();
  p.exposed_s = data.at("exposed_s").as_number();
  p.median_s = data.at("median_s").as_number();
  p.alone_s = data.at("alone_s").as_number();
  p.independent_s = data.at("independent_s").as_number();
  p.slowest_s = data.at("slowest_s").as_number();
  p.together_s = data.at("together_s").as_number();
  p.cores_alone_s = data.at("cores_alone_s").as_number();
  p.cores_slowest_s = data.at("cores_slowest_s").as_number();
  p.gradient_bytes = data.at("gradient_bytes").as_int();
  p.memory_bytes = data.at("memory_bytes").as_int();
  return p;
}

Document scale_document(const ScaleReport& report) {
  return ScaleMaker(report).run();
}

}  // namespace trainyard::report

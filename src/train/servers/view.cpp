#include "train/view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace trainyard::cli {
namespace {

Json staleness_json(const train::StalenessCount& count) {
  return Json::object({{"gradients", count.gradients()},
                       {"mean", count.mean()},
                       {"max", count.maximum()},
                       {"histogram", Json::array_of(count.histogram())}});
}

void add_workers(const train::ServerTrainResult& result, report::Document& document) {
  report::Table table({{"worker"},
                       {"gradients"},
                       {"mean staleness", report::Align::kRight, 0, "staleness_mean"},
                       {"max", report::Align::kRight, 0, "staleness_max"},
                       {"most ahead", report::Align::kRight, 0, "ahead_max"},
                       {"gradient time", report::Align::kRight, 0, "gradient_s"},
                       {"waiting for weights", report::Align::kRight, 0, "wait_share"}});
  Json rows = Json::array();
  for (size_t w = 0; w < result.workers.size(); ++w) {
    const train::WorkerReport& r = result.workers[w];
    const int64_t gradients = r.staleness.gradients();
    const double each = r.compute_s / static_cast<double>(std::max<int64_t>(1, gradients));
    const double all = r.compute_s + r.wait_s;
    table.add_row({report::count_cell(static_cast<int64_t>(w)), report::count_cell(gradients),
                   report::fixed_cell(r.staleness.mean(), 2),
                   report::count_cell(r.staleness.maximum()), report::count_cell(r.most_ahead),
                   report::seconds_cell(each), report::percent_cell(all > 0 ? r.wait_s / all : 0)});
    rows.push_back(Json::object({{"worker", static_cast<int64_t>(w)},
                                 {"staleness", staleness_json(r.staleness)},
                                 {"ahead_max", r.most_ahead},
                                 {"compute_s", r.compute_s},
                                 {"wait_s", r.wait_s}}));
  }
  document.blocks.emplace_back(std::move(table));
  document.data["workers"] = std::move(rows);
}

void add_histogram(const train::StalenessCount& count, report::Document& document) {
  report::Table table({{"staleness"}, {"gradients"}, {"share"}});
  report::Series series{"gradients", report::Origin::kMeasured, {}};
  std::vector<std::string> categories;
  const std::vector<int64_t>& histogram = count.histogram();
  for (size_t s = 0; s < histogram.size(); ++s) {
    const auto number = static_cast<double>(histogram[s]);
    table.add_row({report::count_cell(static_cast<int64_t>(s)), report::count_cell(histogram[s]),
                   report::percent_cell(number / static_cast<double>(count.gradients()))});
    series.points.push_back({static_cast<double>(s), number});
    categories.push_back(std::to_string(s));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(
      report::Chart{.kind = report::ChartKind::kBar,
                    .title = "Staleness of gradients",
                    .x = {.name = "updates since the read", .categories = std::move(categories)},
                    .y = {.name = "gradients"},
                    .series = {std::move(series)}});
}

}  // namespace

void add_server_report(const train::TrainConfig& config, const train::ServerTrainResult& result,
                       report::Document& document) {
  if (result.servers.empty()) return;
  document.blocks.emplace_back(report::Heading{"Workers"});
  add_workers(result, document);
  // Servers see the same gradients in other orders; their counts differ by a few.
  const train::StalenessCount& first = result.servers[0].staleness;
  document.blocks.emplace_back(report::Heading{"Staleness"});
  std::string text = fmt::format(
      "Updates between the read of the weights and the update by the gradient computed from them: "
      "mean {:.2f}, at most {}.",
      first.mean(), first.maximum());
  if (train::parse_server_mode(config.sync) == train::ServerMode::kStaleSync) {
    text += fmt::format(
        " With at most {} gradients ahead of the slowest, each of {} other workers can add at most "
        "{}, so {} is the bound.",
        config.staleness_bound, config.workers - 1, 2 * config.staleness_bound + 1,
        (config.workers - 1) * (2 * config.staleness_bound + 1));
  }
  if (result.servers.size() > 1) text += " As the first server saw it; the data has all.";
  document.blocks.emplace_back(report::Paragraph{std::move(text)});
  add_histogram(first, document);
  Json rows = Json::array();
  for (const train::ServerReport& server : result.servers) {
    rows.push_back(Json::object({{"elements", server.elements},
                                 {"pieces", server.pieces},
                                 {"staleness", staleness_json(server.staleness)}}));
  }
  document.data["servers"] = std::move(rows);
  if (result.servers.size() < 2) return;
  const auto [least, most] =
      std::minmax_element(result.servers.begin(), result.servers.end(),
                          [](const auto& a, const auto& b) { return a.elements < b.elements; });
  int64_t pieces = 0;
  for (const train::ServerReport& server : result.servers) pieces += server.pieces;
  // The spread says whether one server has more to do than the others.
  document.data["shard"] = Json::object({{"rule", config.shard},
                                         {"spread_elements", most->elements - least->elements},
                                         {"pieces", pieces}});
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "Parameters dealt by rule {}: {} to {} elements on a server, {} pieces in all.", config.shard,
      with_commas(least->elements), with_commas(most->elements), pieces)});
}

}  // namespace trainyard::cli

// The document of a plan: offers with their prices, dates and sources.
#include <fmt/format.h>

#include "base/text.h"
#include "cluster/jobs/view.h"

namespace trainyard::report {
namespace {

Cell usd_cell(const std::optional<double>& usd, std::string_view before = "") {
  if (!usd) return {"–", ""};
  return {fmt::format("{}${:.2f}", before, *usd), fmt::format("{}", *usd)};
}

Json offer_json(const jobs::RentableInstance& offer) {
  return Json::object({{"platform", offer.platform},
                       {"cloud", offer.cloud},
                       {"region", offer.region},
                       {"machine", offer.machine},
                       {"accelerator", offer.accelerator},
                       {"count", offer.count},
                       {"nodes", offer.nodes},
                       {"usd_per_hour", offer.usd_per_hour},
                       {"complete", offer.complete},
                       {"hours", offer.hours},
                       {"time", jobs::time_origin_name(offer.time)},
                       {"total_usd", offer.total_usd()},
                       {"date", offer.date},
                       {"source", offer.source},
                       {"note", offer.note}});
}

void add_offer(const jobs::RentableInstance& offer, Table& table) {
  const std::string_view before = offer.complete ? "" : "≥ ";
  const std::string gpus =
      offer.accelerator.empty() ? "–" : fmt::format("{} x {}", offer.count, offer.accelerator);
  table.add_row({offer.platform, offer.machine, gpus, std::to_string(offer.nodes),
                 usd_cell(offer.usd_per_hour, before),
                 offer.hours ? Cell(fmt::format("{:.2f}", *offer.hours)) : Cell("–", ""),
                 std::string(jobs::time_origin_name(offer.time)),
                 usd_cell(offer.total_usd(), before), offer.usd_per_hour ? offer.date : "–",
                 offer.note});
}

}  // namespace

Document plan_document(const jobs::Job& job, const jobs::Plan& plan) {
  Document document;
  document.title = fmt::format("Where {} could run, and what it would cost", job.name);
  Table table({{"platform", Align::kLeft},
               {"machine", Align::kLeft},
               {"accelerators", Align::kLeft},
               {"nodes"},
               {"$/hour"},
               {"hours"},
               {"time", Align::kLeft},
               {"total"},
               {"price of", Align::kLeft},
               {"note", Align::kLeft, 60}});
  Json offers = Json::array();
  std::vector<std::string> sources;
  for (const jobs::RentableInstance& offer : plan.offers) {
    add_offer(offer, table);
    offers.push_back(offer_json(offer));
    if (!offer.usd_per_hour) continue;
    const std::string source =
        fmt::format("{} {}, {}: {}", offer.cloud, offer.region, offer.date, offer.source);
    if (std::find(sources.begin(), sources.end(), source) == sources.end())
      sources.push_back(source);
  }
  if (plan.offers.empty()) {
    document.blocks.emplace_back(Paragraph{"No platform has machines that satisfy the job."});
  } else {
    document.blocks.emplace_back(std::move(table));
  }
  for (const std::string& note : plan.notes) document.blocks.emplace_back(Paragraph{"- " + note});
  for (const std::string& source : sources) {
    document.blocks.emplace_back(Paragraph{"- prices: " + source});
  }
  document.data = Json::object({{"job", job.name},
                                {"spot", job.spot},
                                {"offers", std::move(offers)},
                                {"notes", Json::array_of(plan.notes)}});
  return document;
}

}  // namespace trainyard::report

#include "cluster/schedule/plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/integers.h"
#include "base/text.h"
#include "cluster/predict/sweep.h"

namespace trainyard::schedule {
namespace {

bool among(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

void check_question(const PlanQuestion& question, const predict::Catalog& catalog) {
  TY_REQUIRE(question.images > 0 && question.epochs > 0,
             "{:g} epochs of {:g} images; both have to be above 0", question.epochs,
             question.images);
  TY_REQUIRE(question.deadline_s >= 0, "the deadline is {:g} s from now, expected more than 0",
             question.deadline_s);
  TY_REQUIRE(question.budget_usd >= 0, "the budget is {:g} dollars, expected more than 0",
             question.budget_usd);
  TY_REQUIRE(question.error >= 0 && question.error < 1,
             "the error is {:g}, expected a share from 0 to below 1", question.error);
  TY_REQUIRE(question.precision != predict::Precision::kInt8,
             "int8 is for inference; plan a training in another precision");
  for (const std::string& device : question.devices) catalog.device(device);
  if (!question.link.empty()) catalog.link(question.link);
  std::set<std::string> clouds;
  for (const predict::RentableInstance& offer : catalog.offers()) clouds.insert(offer.cloud);
  const std::vector<std::string> known(clouds.begin(), clouds.end());
  for (const std::string& cloud : question.clouds) {
    TY_REQUIRE(clouds.contains(cloud), "no offers of cloud '{}'.{} Known: {}", cloud,
               did_you_mean(cloud, known), join(known, ", "));
  }
}

const std::vector<std::string> kComms = {"auto", "ps"};

// Servers are worth naming only where they save time: at least this share.
constexpr double kWorthServers = 0.01;

// Without rows of parameter servers that an all-reduce equals. Rows of one batch and number of
// workers follow each other, the all-reduce first.
std::vector<predict::SweepRow> without_idle_servers(const std::vector<predict::SweepRow>& rows) {
  std::vector<predict::SweepRow> kept;
  double all_reduce = 0;
  for (const predict::SweepRow& row : rows) {
    const bool servers = row.comm == 1;
    if (!servers) all_reduce = row.train;
    if (servers && row.train > all_reduce * (1 - kWorthServers)) continue;
    kept.push_back(row);
  }
  return kept;
}

// What decides how fast an offer is; others differ in price alone.
using HostKind = std::tuple<std::string, int64_t, std::string, std::string>;

HostKind host_kind_of(const PlanQuestion& question, const predict::RentableInstance& offer) {
  return {offer.device, offer.devices, offer.inside,
          question.link.empty() ? offer.network : question.link};
}

// Everything about machines of one kind.
std::vector<predict::SweepRow> sweep_hosts(const PlanQuestion& question, const HostKind& hosts,
                                           const predict::Catalog& catalog,
                                           predict::Networks& networks) {
  const auto& [device, per_host, inside, network] = hosts;
  predict::SweepSpec spec;
  spec.models = {question.model};
  spec.devices = {device};
  spec.precisions = {question.precision};
  spec.workers = question.workers;
  // One instance is all that can be predicted where the network is not known.
  if (network.empty()) {
    std::erase_if(spec.workers, [most = per_host](int64_t workers) { return workers > most; });
  }
  spec.batches = question.batches;
  spec.comms = kComms;
  spec.scalings = {predict::Scaling::kWeak};
  spec.inside = inside;
  spec.links = {network};
  spec.per_host = per_host;
  spec.dataset_images = question.images;
  spec.epochs = question.epochs;
  return without_idle_servers(predict::run_sweep(spec, catalog, networks));
}

PlanChoice choice_of(const PlanQuestion& question, const predict::RentableInstance& offer,
                     const predict::SweepRow& row) {
  PlanChoice choice;
  choice.device = offer.device;
  choice.workers = row.workers;
  choice.comm = kComms[static_cast<size_t>(row.comm)];
  choice.instances = divide_up(row.workers, offer.devices);
  // Servers run on the hosts of the workers, one on each.
  choice.servers = choice.comm == "ps" ? choice.instances : 0;
  choice.batch = row.batch;
  choice.hours = row.train / 3600;
  choice.low_hours = choice.hours * (1 - question.error);
  choice.high_hours = choice.hours * (1 + question.error);
  const double per_hour = static_cast<double>(choice.instances) * offer.usd_per_hour;
  choice.cost_usd = choice.hours * per_hour;
  choice.low_usd = choice.low_hours * per_hour;
  choice.high_usd = choice.high_hours * per_hour;
  choice.cloud = offer.cloud;
  choice.offer = offer.instance;
  choice.inside = offer.inside;
  choice.network = question.link.empty() ? offer.network_text() : question.link;
  choice.complete = offer.complete;
  choice.price_date = offer.date;
  const auto within = [&](double hours, double usd) {
    return (question.deadline_s == 0 || hours * 3600 <= question.deadline_s) &&
           (question.budget_usd == 0 || usd <= question.budget_usd);
  };
  choice.meets = within(choice.hours, choice.cost_usd);
  choice.surely = within(choice.high_hours, choice.high_usd);
  return choice;
}

// Of each number of workers the row that is fastest, which is the cheapest too: an hour costs the
// same with every batch.
std::vector<predict::SweepRow> fastest_rows(const std::vector<predict::SweepRow>& rows) {
  std::map<int64_t, predict::SweepRow> best;
  for (const predict::SweepRow& row : rows) {
    const auto [found, fresh] = best.try_emplace(row.workers, row);
    if (!fresh && row.train < found->second.train) found->second = row;
  }
  std::vector<predict::SweepRow> kept;
  for (const auto& [workers, row] : best) kept.push_back(row);
  return kept;
}

bool better(const PlanChoice& a, const PlanChoice& b) {
  return a.cost_usd != b.cost_usd ? a.cost_usd < b.cost_usd : a.hours < b.hours;
}

std::vector<PlanChoice> front_of(std::vector<PlanChoice> all) {
  std::sort(all.begin(), all.end(), [](const PlanChoice& a, const PlanChoice& b) {
    return a.hours != b.hours ? a.hours < b.hours : a.cost_usd < b.cost_usd;
  });
  std::vector<PlanChoice> front;
  double least = std::numeric_limits<double>::infinity();
  for (PlanChoice& choice : all) {
    if (choice.cost_usd >= least) continue;
    least = choice.cost_usd;
    front.push_back(std::move(choice));
  }
  return front;
}

// A price of the accelerators alone is half of one; it stands in only where there is no whole one.
std::vector<predict::RentableInstance> offers_for(const PlanQuestion& question,
                                                  const predict::Catalog& catalog) {
  std::vector<predict::RentableInstance> offers;
  std::set<std::string> whole;
  for (const predict::RentableInstance& offer : catalog.offers()) {
    if (!among(question.devices, offer.device) || !among(question.clouds, offer.cloud)) continue;
    const bool able =
        question.precision != predict::Precision::kFp64 || catalog.device(offer.device).fp64 > 0;
    if (!able) continue;
    offers.push_back(offer);
    if (offer.complete) whole.insert(offer.device);
  }
  std::erase_if(offers, [&](const predict::RentableInstance& offer) {
    return !offer.complete && whole.contains(offer.device);
  });
  return offers;
}

}  // namespace

Plan make_plan(const PlanQuestion& question, const predict::Catalog& catalog,
               predict::Networks& networks) {
  check_question(question, catalog);
  Plan plan;
  std::vector<PlanChoice> all;
  std::map<HostKind, std::vector<predict::SweepRow>> swept;
  for (const predict::RentableInstance& offer : offers_for(question, catalog)) {
    const HostKind hosts = host_kind_of(question, offer);
    const auto [found, fresh] = swept.try_emplace(hosts);
    std::vector<predict::SweepRow>& rows = found->second;
    if (fresh) {
      rows = sweep_hosts(question, hosts, catalog, networks);
      std::erase_if(rows, [&](const predict::SweepRow& row) {
        return !row.fits || row.workers * row.batch > question.most_batch;
      });
    }
    plan.considered += static_cast<int64_t>(rows.size());
    for (const predict::SweepRow& row : question.every_batch ? rows : fastest_rows(rows)) {
      all.push_back(choice_of(question, offer, row));
    }
  }
  TY_REQUIRE(!all.empty(),
             "no offer of the price catalog has {} in memory with these devices, clouds and "
             "batches; try smaller `batches` or other `devices`",
             question.model);
  plan.pareto = front_of(all);
  plan.fastest = plan.pareto.front();
  plan.cheapest = plan.pareto.back();
  for (PlanChoice& choice : all) {
    if (choice.meets) plan.choices.push_back(std::move(choice));
  }
  std::stable_sort(plan.choices.begin(), plan.choices.end(), better);
  return plan;
}

}  // namespace trainyard::schedule

#include "schedule/plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "base/integers.h"
#include "base/text.h"
#include "predict/sweep.h"

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
  for (const std::string& device : question.devices) catalog.device(device);
  std::set<std::string> clouds;
  for (const predict::Price& price : catalog.prices()) clouds.insert(price.cloud);
  const std::vector<std::string> known(clouds.begin(), clouds.end());
  for (const std::string& cloud : question.clouds) {
    TY_REQUIRE(clouds.contains(cloud), "no offers of cloud '{}'.{} Known: {}", cloud,
               did_you_mean(cloud, known), join(known, ", "));
  }
}

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

// Everything about a device in hosts of so many.
std::vector<predict::SweepRow> sweep_device(const PlanQuestion& question,
                                            const predict::Price& price,
                                            const predict::Catalog& catalog,
                                            predict::Networks& networks, predict::SweepSpec& spec) {
  spec.models = {question.model};
  spec.devices = {price.device};
  spec.workers = question.workers;
  spec.batches = question.batches;
  spec.comms = {"auto", "ps"};
  spec.scalings = {predict::Scaling::kWeak};
  spec.links = {question.link};
  spec.per_host = price.devices;
  spec.dataset_images = question.images;
  spec.epochs = question.epochs;
  return without_idle_servers(predict::run_sweep(spec, catalog, networks));
}

PlanChoice choice_of(const PlanQuestion& question, const predict::Price& price,
                     const predict::SweepSpec& spec, const predict::SweepRow& row) {
  PlanChoice choice;
  choice.device = price.device;
  choice.workers = row.workers;
  choice.comm = spec.comms[static_cast<size_t>(row.comm)];
  choice.instances = divide_up(row.workers, price.devices);
  // Servers run on the hosts of the workers, one on each.
  choice.servers = choice.comm == "ps" ? choice.instances : 0;
  choice.batch = row.batch;
  choice.hours = row.train / 3600;
  choice.low_hours = choice.hours * (1 - question.error);
  choice.high_hours = choice.hours * (1 + question.error);
  const double per_hour = static_cast<double>(choice.instances) * price.usd_per_hour;
  choice.cost_usd = choice.hours * per_hour;
  choice.low_usd = choice.low_hours * per_hour;
  choice.high_usd = choice.high_hours * per_hour;
  choice.cloud = price.cloud;
  choice.offer = price.instance;
  choice.attached = price.attached;
  choice.price_date = price.date;
  const auto within = [&](double hours, double usd) {
    return (question.deadline_s == 0 || hours * 3600 <= question.deadline_s) &&
           (question.budget_usd == 0 || usd <= question.budget_usd);
  };
  choice.meets = within(choice.hours, choice.cost_usd);
  choice.surely = within(choice.high_hours, choice.high_usd);
  return choice;
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

}  // namespace

Plan make_plan(const PlanQuestion& question, const predict::Catalog& catalog,
               predict::Networks& networks) {
  check_question(question, catalog);
  std::vector<PlanChoice> all;
  // Offers of one device in hosts of one size differ in price alone.
  std::map<std::pair<std::string, int64_t>,
           std::pair<predict::SweepSpec, std::vector<predict::SweepRow>>>
      swept;
  // A price of the accelerator alone is half of one; it stands in only where there is no whole one.
  std::set<std::string> whole;
  for (const predict::Price& price : catalog.prices()) {
    if (!price.attached && among(question.clouds, price.cloud)) whole.insert(price.device);
  }
  for (const predict::Price& price : catalog.prices()) {
    if (!among(question.devices, price.device) || !among(question.clouds, price.cloud)) continue;
    if (price.attached && whole.contains(price.device)) continue;
    auto [found, fresh] = swept.try_emplace({price.device, price.devices});
    auto& [spec, rows] = found->second;
    if (fresh) rows = sweep_device(question, price, catalog, networks, spec);
    for (const predict::SweepRow& row : rows) {
      if (!row.fits || row.workers * row.batch > question.most_batch) continue;
      all.push_back(choice_of(question, price, spec, row));
    }
  }
  TY_REQUIRE(!all.empty(),
             "no offer of the price catalog has {} in memory with these devices, clouds and "
             "batches; try smaller --batches or other --devices",
             question.model);
  Plan plan;
  plan.considered = static_cast<int64_t>(all.size());
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

#include "cluster/schedule/plan_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace trainyard::report {
namespace {

Json choice_json(const schedule::PlanQuestion& question, const schedule::PlanChoice& choice) {
  return Json::object({{"device", choice.device},
                       {"workers", choice.workers},
                       {"servers", choice.servers},
                       {"batch", choice.batch},
                       {"comm", choice.comm},
                       {"hours", choice.hours},
                       {"low_hours", choice.low_hours},
                       {"high_hours", choice.high_hours},
                       {"cost_usd", choice.cost_usd},
                       {"low_usd", choice.low_usd},
                       {"high_usd", choice.high_usd},
                       {"accuracy_basis", question.accuracy_basis},
                       {"cloud", choice.cloud},
                       {"offer", choice.offer},
                       {"instances", choice.instances},
                       {"inside", choice.inside},
                       {"network", choice.network},
                       {"accelerator_only", !choice.complete},
                       {"price_date", choice.price_date},
                       {"meets", choice.meets},
                       {"meets_surely", choice.surely}});
}

Table choices_table(std::span<const schedule::PlanChoice> choices) {
  Table table({{"device", Align::kLeft},
               {"workers"},
               {"servers"},
               {"batch each"},
               {"time", Align::kRight, 0, "hours", Best::kLowest},
               {"from–to, h"},
               {"cost $", Align::kRight, 0, "cost_usd", Best::kLowest},
               {"offer", Align::kLeft, 40},
               {"inside", Align::kLeft},
               {"network", Align::kLeft},
               {"price of"}});
  for (const schedule::PlanChoice& c : choices) {
    table.add_row({c.device, count_cell(c.workers), count_cell(c.servers), count_cell(c.batch),
                   // Minutes or days for people; files keep hours, whatever the size.
                   Cell(seconds_cell(c.hours * 3600).text, fmt::format("{}", c.hours)),
                   fmt::format("{:.2f}–{:.2f}", c.low_hours, c.high_hours),
                   fixed_cell(c.cost_usd, 2),
                   fmt::format("{} x {} {}{}", c.instances, c.cloud, c.offer,
                               c.complete ? "" : " (without host)"),
                   c.inside, c.network, c.price_date});
  }
  return table;
}

std::string words(const schedule::PlanChoice& c) {
  return fmt::format("{} x {} ({} {}): {:.2f} h, ${:.2f}", c.workers, c.device, c.cloud, c.offer,
                     c.hours, c.cost_usd);
}

void add_answer(Document& document, const schedule::PlanQuestion& question,
                const schedule::Plan& plan) {
  if (!plan.choices.empty()) {
    // Choices are sorted by cost, so the cheapest is the first.
    const auto quickest =
        std::min_element(plan.choices.begin(), plan.choices.end(),
                         [](const auto& a, const auto& b) { return a.hours < b.hours; });
    document.blocks.emplace_back(Paragraph{
        fmt::format(
            "{} {} of {} configurations. Cheapest: {}{}. Fastest: {}.", plan.choices.size(),
            question.every_batch ? "choices fit" : "offers fit, each with its fastest batch,",
            plan.considered, words(plan.choices.front()),
            plan.choices.front().surely ? "" : " (not at the far end of its interval)",
            words(*quickest)),
        Tone::kAnswer});
    return;
  }
  // What would: the least money that keeps the deadline, the least time that keeps the budget.
  std::string text = fmt::format("Nothing of {} configurations fits.", plan.considered);
  // The front runs from fast and dear to slow and cheap: from its end, the first that is fast
  // enough is the cheapest.
  for (auto it = plan.pareto.rbegin(); it != plan.pareto.rend(); ++it) {
    if (question.deadline_s > 0 && it->hours * 3600 <= question.deadline_s) {
      text +=
          fmt::format(" The deadline alone can be kept for ${:.2f}: {}.", it->cost_usd, words(*it));
      break;
    }
  }
  for (const schedule::PlanChoice& choice : plan.pareto) {
    if (question.budget_usd > 0 && choice.cost_usd <= question.budget_usd) {
      text += fmt::format(" The budget alone buys {:.2f} h: {}.", choice.hours, words(choice));
      break;
    }
  }
  if (plan.fastest) text += fmt::format(" Fastest of all: {}.", words(*plan.fastest));
  if (plan.cheapest) text += fmt::format(" Cheapest of all: {}.", words(*plan.cheapest));
  document.blocks.emplace_back(Paragraph{std::move(text), Tone::kAnswer});
}

Chart front_chart(const schedule::Plan& plan) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Nothing is both faster and cheaper",
              .x = {"hours", true},
              .y = {"cost limit in US dollars", true}};
  Series series{.name = "Pareto front", .origin = Origin::kPredicted, .points = {}};
  for (const schedule::PlanChoice& c : plan.pareto) {
    series.points.push_back({.x = c.hours,
                             .y = c.cost_usd,
                             .low = c.low_usd,
                             .high = c.high_usd,
                             .label = fmt::format("{} x {}", c.workers, c.device)});
  }
  chart.series = {std::move(series)};
  return chart;
}

}  // namespace

Document plan_document(const schedule::PlanQuestion& question, const schedule::Plan& plan,
                       size_t most) {
  Document document;
  document.title = "A plan for " + question.model;
  document.lead = fmt::format("{:g} epochs of {} images in {}; {}", question.epochs,
                              with_commas(static_cast<int64_t>(question.images)),
                              predict::precision_name(question.precision), question.accuracy_basis);
  add_answer(document, question, plan);
  const std::span<const schedule::PlanChoice> shown(plan.choices.data(),
                                                    std::min(most, plan.choices.size()));
  Json choices = Json::array();
  for (const schedule::PlanChoice& choice : shown) choices.push_back(choice_json(question, choice));
  Json pareto = Json::array();
  for (const schedule::PlanChoice& choice : plan.pareto) {
    pareto.push_back(choice_json(question, choice));
  }
  if (!shown.empty()) document.blocks.emplace_back(choices_table(shown));
  document.blocks.emplace_back(Heading{"Time against cost"});
  document.blocks.emplace_back(front_chart(plan));
  document.blocks.emplace_back(choices_table(plan.pareto));
  document.blocks.emplace_back(Paragraph{fmt::format(
      "Times are predicted; intervals are ± {:.0f} %, the error of predictions for networks that "
      "were not fitted (docs/results/validation.md). Prices are the catalog's, of the dates shown. "
      "Epochs are taken to be the same for every batch up to {} images. {}{}",
      question.error * 100, question.most_batch,
      question.link.empty()
          ? "Each instance is predicted with its own devices and links."
          : fmt::format("{} between the instances is not theirs but what was asked for.",
                        question.link),
      question.every_batch ? "" : " Of each offer the fastest batch is shown.")});
  document.data = Json::object({{"model", question.model},
                                {"precision", predict::precision_name(question.precision)},
                                {"epochs", question.epochs},
                                {"images", question.images},
                                {"considered", plan.considered},
                                {"fitting", static_cast<int64_t>(plan.choices.size())},
                                {"choices", std::move(choices)},
                                {"pareto", std::move(pareto)}});
  return document;
}

}  // namespace trainyard::report

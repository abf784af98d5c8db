#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cluster/schedule/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

Fields<schedule::PlanChoice> choice_fields(const std::string& accuracy_basis) {
  using schedule::PlanChoice;
  // Minutes or days for people; files keep hours, whatever the size.
  const auto hours = [](double value) {
    return Cell(seconds_cell(value * 3600).text, fmt::format("{}", value));
  };
  const auto interval = [](const PlanChoice& c) {
    return Cell(fmt::format("{:.2f}–{:.2f}", c.low_hours, c.high_hours));
  };
  const auto offer = [](const PlanChoice& c) {
    return Cell(fmt::format("{} x {} {}{}", c.instances, c.cloud, c.offer,
                            c.complete ? "" : " (without host)"));
  };
  return {{"device", {"device", Align::kLeft}, &PlanChoice::device},
          {"workers", {"workers"}, &PlanChoice::workers},
          {"servers", {"servers"}, &PlanChoice::servers},
          {"batch", {"batch each"}, &PlanChoice::batch},
          {"comm", &PlanChoice::comm},
          {"hours", {"time", Align::kRight, 0, "hours", Best::kLowest}, &PlanChoice::hours, hours},
          Field<PlanChoice>::shown({"from–to, h"}, interval),
          {"low_hours", &PlanChoice::low_hours},
          {"high_hours", &PlanChoice::high_hours},
          {"cost_usd",
           {"cost $", Align::kRight, 0, "cost_usd", Best::kLowest},
           &PlanChoice::cost_usd,
           Fixed{2}},
          {"low_usd", &PlanChoice::low_usd},
          {"high_usd", &PlanChoice::high_usd},
          {"accuracy_basis", [accuracy_basis](const PlanChoice&) { return accuracy_basis; }},
          {"cloud", &PlanChoice::cloud},
          {"offer", {"offer", Align::kLeft, 40}, &PlanChoice::offer, offer},
          {"instances", &PlanChoice::instances},
          {"inside", {"inside", Align::kLeft}, &PlanChoice::inside},
          {"network", {"network", Align::kLeft}, &PlanChoice::network},
          {"accelerator_only", [](const PlanChoice& c) { return !c.complete; }},
          {"price_date", {"price of"}, &PlanChoice::price_date},
          {"meets", &PlanChoice::meets},
          {"meets_surely", &PlanChoice::surely}};
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
  const Fields<schedule::PlanChoice> fields = choice_fields(question.accuracy_basis);
  if (!shown.empty()) document.blocks.emplace_back(table_of(fields, shown));
  document.blocks.emplace_back(Heading{"Time against cost"});
  document.blocks.emplace_back(front_chart(plan));
  document.blocks.emplace_back(table_of(fields, plan.pareto));
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
                                {"choices", objects_of(fields, shown)},
                                {"pareto", objects_of(fields, plan.pareto)}});
  return document;
}

}  // namespace trainyard::report

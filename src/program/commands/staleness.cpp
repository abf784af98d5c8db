// `trainyard staleness`: how stale the gradients of asynchronous learners are.
#include "dist/staleness.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "program/command.h"
#include "report/document.h"
#include "report/fields.h"

namespace trainyard::cli {
namespace {

struct StalenessOptions {
  std::vector<std::string> learners;
  report::Format format = report::Format::kText;
};

std::vector<double> parse_times(const std::string& text) {
  std::vector<double> times;
  for (const std::string& part : split(text, ',')) {
    const auto time = parse_number<double>(part);
    TY_REQUIRE(time, "--learner {}: '{}' is no number; expected times such as 1,2.5,4", text, part);
    times.push_back(*time);
  }
  return times;
}

// A lane per learner; each span is a gradient from its read to its write.
report::Chart timeline(const std::vector<dist::GradientEvent>& events, size_t learners) {
  report::Chart chart{.kind = report::ChartKind::kTimeline,
                      .title = "Gradients from read to write, with their staleness",
                      .x = {.name = "s"},
                      .y = {.name = "learner"}};
  for (size_t l = 0; l < learners; ++l) {
    chart.y.categories.push_back(fmt::format("learner {}", l + 1));
  }
  report::Series fresh{"fresh", report::Origin::kPlain, {}};
  report::Series stale{"stale", report::Origin::kPlain, {}};
  for (const dist::GradientEvent& event : events) {
    (event.staleness == 0 ? fresh : stale)
        .points.push_back({.y = static_cast<double>(event.learner - 1),
                           .low = event.read_time,
                           .high = event.time,
                           .label = fmt::format("{}", event.staleness)});
  }
  for (report::Series* series : {&fresh, &stale}) {
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
  }
  return chart;
}

report::Document document_of_staleness(const std::vector<dist::GradientEvent>& events,
                                       size_t learners) {
  using dist::GradientEvent;
  const auto exact = [](double seconds) { return report::Cell(fmt::format("{}", seconds)); };
  const report::Fields<GradientEvent> fields = {
      {"learner", {"learner"}, &GradientEvent::learner},
      {"index", {"gradient"}, &GradientEvent::index},
      {"read_time", {"read at"}, &GradientEvent::read_time, exact},
      {"time", {"written at"}, &GradientEvent::time, exact},
      {"staleness", {"staleness"}, &GradientEvent::staleness}};
  report::Document document;
  std::vector<dist::GradientEvent> sorted = events;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.learner < b.learner; });
  int64_t most = 0;
  int64_t total = 0;
  for (const dist::GradientEvent& event : sorted) {
    most = std::max(most, event.staleness);
    total += event.staleness;
  }
  document.blocks.emplace_back(timeline(events, learners));
  document.blocks.emplace_back(table_of(fields, sorted));
  document.data = Json::object({{"gradients", objects_of(fields, sorted)}});
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{} updates, staleness {:.2f} on average, {} at most.", events.size(),
                  static_cast<double>(total) / static_cast<double>(events.size()), most)});
  return document;
}

int staleness_command(const StalenessOptions& options, std::ostream& out) {
  TY_REQUIRE(!options.learners.empty(),
             "no learner is given; expected --learner with the times of its gradients, as "
             "--learner 1,2,3,4 --learner 2.5,5");
  std::vector<std::vector<double>> learners;
  for (const std::string& text : options.learners) learners.push_back(parse_times(text));
  const auto events = dist::gradient_staleness(learners);
  out << report::render(document_of_staleness(events, learners.size()), options.format);
  return 0;
}

Runner setup_staleness(Args& args) {
  auto options = std::make_shared<StalenessOptions>();
  args.repeated("--learner", options->learners,
                "times at which a learner pushes its gradients, as 1,2,3,4; once per learner");
  args.format(options->format);
  return [options](std::ostream& out) { return staleness_command(*options, out); };
}

}  // namespace

extern const Command kStaleness = {
    .name = "staleness",
    .group = "Train",
    .summary = "Compute the staleness of asynchronous gradients",
    .examples =
        "  trainyard staleness --learner 1,2,3,4 --learner 2.5,5\n"
        "  trainyard staleness --learner 1,2,3,4 --learner 2.5,5 --json\n",
    .setup = setup_staleness,
};

}  // namespace trainyard::cli

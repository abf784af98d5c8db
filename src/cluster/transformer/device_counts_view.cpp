// The document of numbers of devices.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cluster/transformer/view.h"
#include "cluster/transformer/view_parts.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

using transformer::DeviceCountPlan;
using transformer::RefusedCount;

// "tensor exchange" is "tensor_exchange_s".
std::string key_of_part(std::string name) {
  std::ranges::replace(name, ' ', '_');
  return name + "_s";
}

Fields<DeviceCountPlan> fleet_fields(const TransformerQuestion& question) {
  const auto speed = [](const DeviceCountPlan& one) {
    const transformer::Mapping& mapping = one.best.mapping;
    return static_cast<double>(mapping.batch * mapping.sequence) / one.best.time.total();
  };
  const transformer::StepModel model(question.model, question.machine, question.stack->factors,
                                     question.mapping.sequence);
  Fields<DeviceCountPlan> fields = {
      {"workers", {"devices"}, [](const DeviceCountPlan& one) { return one.best.mapping.workers; }},
      {"mapping",
       {"mapping", Align::kLeft},
       [](const DeviceCountPlan& one) { return one.best.mapping.text(); }},
      {"step_s",
       {"step"},
       [](const DeviceCountPlan& one) { return one.best.time.total(); },
       seconds_cell},
      {"tokens_per_s", {"tokens/s"}, speed, si_cell},
      percent_field<DeviceCountPlan>("mfu_percent", {"MFU"},
                                     [model](const DeviceCountPlan& one) {
                                       return model.mfu(one.best.mapping, one.best.time.total());
                                     }),
      {"bound_by",
       {"bound by", Align::kLeft},
       [](const DeviceCountPlan& one) { return one.best.time.largest(); }},
      {"memory_bytes",
       {"memory"},
       [](const DeviceCountPlan& one) { return static_cast<int64_t>(one.best.memory.total()); },
       bytes_cell},
      {"hours", {"hours"}, [](const DeviceCountPlan& one) { return one.time.hours; }, Fixed{1}},
      percent_field<DeviceCountPlan>(
          "goodput_percent", {"goodput"},
          [](const DeviceCountPlan& one) { return one.time.goodput.share; }),
      {"good", {"within limits"}, &DeviceCountPlan::good}};
  if (question.goal.usd_per_hour > 0) {
    fields.emplace_back(
        "usd", Column{"US$"}, [](const DeviceCountPlan& one) { return one.time.usd; }, Fixed{0});
  }
  const size_t parts = time_parts({}).size() - 1;
  for (size_t i = 0; i < parts; ++i) {
    fields.emplace_back(key_of_part(time_parts({})[i].name), [i](const DeviceCountPlan& one) {
      return time_parts(one.best.time)[i].amount;
    });
  }
  return fields;
}

}  // namespace

Document transformer_counts_document(const TransformerQuestion& question,
                                     const transformer::DeviceCounts& fleets) {
  const Fields<DeviceCountPlan> fields = fleet_fields(question);
  const Fields<RefusedCount> reasons = {
      {"workers", {"devices"}, &RefusedCount::workers},
      {"reason", {"cannot, because", Align::kLeft}, &RefusedCount::reason}};
  const transformer::SpeedInterval& interval =
      question.stack->interval(question.machine.generation);
  Document document;
  document.data = Json::object({{"model", Json(question.model.name)},
                                {"device", Json(question.machine.id)},
                                {"tokens", Json(question.goal.tokens)},
                                {"usd_per_device_hour", Json(question.goal.usd_per_hour)},
                                {"speed_low", Json(interval.low)},
                                {"speed_high", Json(interval.high)},
                                {"fleets", objects_of(fields, fleets.best_first)},
                                {"unfit", objects_of(reasons, fleets.unfit)}});
  const DeviceCountPlan& best = fleets.best_first.front();
  const std::string money = question.goal.usd_per_hour > 0
                                ? fmt::format(" and ${:.0f}", best.time.usd)
                                : ", at no known price";
  document.blocks.emplace_back(Paragraph{
      best.good ? fmt::format("Take {} x {}: {} tokens take {}{}.",
                              with_commas(best.best.mapping.workers), question.machine.id,
                              si(question.goal.tokens), seconds_text(best.time.hours * 3600), money)
                : std::string("Nothing keeps to the limits; the nearest comes first."),
      Tone::kAnswer});
  document.blocks.emplace_back(table_of(fields, fleets.best_first));
  document.blocks.emplace_back(
      Paragraph{fmt::format("80 % of speeds are expected between {:.0f} % and {:.0f} % of these.",
                            100 * interval.low, 100 * interval.high)});
  if (!fleets.unfit.empty()) document.blocks.emplace_back(table_of(reasons, fleets.unfit));
  return document;
}

}  // namespace trainyard::report

#include "cluster/transformer/view.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "cluster/transformer/view_parts.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

using transformer::Mapping;
using transformer::Memory;
using transformer::PlannedMapping;
using transformer::StepTime;

Fields<Part> part_fields(const std::string& unit, bool bytes) {
  const auto amount = [bytes](const Part& part) {
    return bytes ? bytes_cell(static_cast<int64_t>(part.amount)) : seconds_cell(part.amount);
  };
  return {{"part", {"part", Align::kLeft}, &Part::name},
          {unit, {bytes ? "memory" : "time"}, &Part::amount, amount},
          percent_field<Part>("percent", {"share"}, &Part::share)};
}

Json mapping_json(const Mapping& mapping) {
  return Json::object({{"workers", mapping.workers},
                       {"tensor", mapping.tensor},
                       {"pipeline", mapping.pipeline},
                       {"interleave", mapping.interleave},
                       {"context", mapping.context},
                       {"expert", mapping.expert},
                       {"data", mapping.data()},
                       {"micro_batch", mapping.micro_batch},
                       {"accumulation", mapping.accumulation()},
                       {"batch", mapping.batch},
                       {"sequence", mapping.sequence},
                       {"zero", mapping.zero},
                       {"recompute", transformer::recompute_name(mapping.recompute)},
                       {"shard_group", mapping.shard_group},
                       {"lora", mapping.lora},
                       {"zero_bubble", mapping.zero_bubble},
                       {"offload", transformer::offload_name(mapping.offload)},
                       {"precision", transformer::number_name(mapping.number)}});
}

// What is unusual of it: ", adapters of rank 16, zero-bubble, optimizer offloaded".
std::string traits_text(const Mapping& mapping) {
  std::string text;
  if (mapping.shard_group > 0) text += fmt::format(", in groups of {}", mapping.shard_group);
  if (mapping.lora > 0) text += fmt::format(", adapters of rank {}", mapping.lora);
  if (mapping.zero_bubble) text += ", zero-bubble";
  if (mapping.offload != transformer::Offload::kNone) {
    text += fmt::format(", offload {}", transformer::offload_name(mapping.offload));
  }
  return text;
}

void describe_question(const TransformerQuestion& question, Document& document) {
  const transformer::Parameters count = transformer::count_parameters(question.model);
  std::string text =
      fmt::format("{}: {} parameters", question.model.name, with_commas(count.total));
  if (count.active != count.total) {
    text += fmt::format(", of which a token meets {}", with_commas(count.active));
  }
  const double flops =
      transformer::token_flops(question.model, question.mapping.sequence).training();
  text += fmt::format("; {} FLOPs per token of a sequence of {}", si(flops),
                      with_commas(question.mapping.sequence));
  document.blocks.emplace_back(Paragraph{text});
  document.blocks.emplace_back(Paragraph{fmt::format(
      "{} x {}: {}, batch {}, {}, ZeRO {}{}, recompute {}", question.mapping.workers,
      question.machine.id, question.mapping.text(), with_commas(question.mapping.batch),
      transformer::number_name(question.mapping.number), question.mapping.zero,
      traits_text(question.mapping), transformer::recompute_name(question.mapping.recompute))});
  document.data["model"] = question.model.name;
  document.data["parameters"] = count.total;
  document.data["active_parameters"] = count.active;
  document.data["training_flops_per_token"] = flops;
  document.data["device"] = question.machine.id;
  document.data["mapping"] = mapping_json(question.mapping);
}

void add_memory(const TransformerQuestion& question, Document& document) {
  const Memory memory = transformer::memory_of(question.model, question.mapping);
  const double device = question.machine.memory_bytes;
  const std::string first(transformer::first_that_does_not_fit(memory, device));
  const int64_t largest =
      transformer::largest_micro_batch(question.model, question.mapping, device);
  const Fields<Part> fields = part_fields("bytes", true);
  const std::vector<Part> parts = memory_parts(memory);
  document.blocks.emplace_back(table_of(fields, parts));
  const std::string room =
      largest > 0 ? fmt::format("the largest micro batch that fits is {}", with_commas(largest))
                  : "not even a micro batch of 1 fits";
  document.blocks.emplace_back(Paragraph{
      first.empty() ? fmt::format("It fits: {} of {}; {}.", bytes_text(memory.total()),
                                  bytes_text(device), room)
                    : fmt::format("It does not fit: {} of {}; the first part that does not is {}; "
                                  "{}.",
                                  bytes_text(memory.total()), bytes_text(device), first, room),
      Tone::kAnswer});
  document.data["memory"] = objects_of(fields, parts);
  document.data["host_bytes"] = memory.host;
  if (memory.host > 0) {
    document.blocks.emplace_back(
        Paragraph{fmt::format("The host keeps {} more for each device.", bytes_text(memory.host))});
  }
  document.data["memory_bytes"] = memory.total();
  document.data["device_bytes"] = device;
  document.data["fits"] = first.empty();
  document.data["first_that_does_not_fit"] = first.empty() ? Json() : Json(first);
  document.data["largest_micro_batch"] = largest;
}

// Tokens per second with the interval of the stack's residuals, and utilization.
void add_speed(const TransformerQuestion& question, const StepTime& time, Document& document) {
  const transformer::StepModel model(question.model, question.machine, question.stack->factors,
                                     question.mapping.sequence);
  const double seconds = time.total();
  const double speed = model.tokens(question.mapping) / seconds;
  const transformer::SpeedInterval& interval =
      question.stack->interval(question.machine.generation);
  const double low = speed * interval.low;
  const double high = speed * interval.high;
  const double mfu = model.mfu(question.mapping, seconds);
  const double hfu = model.hfu(question.mapping, seconds);
  const double each = speed / static_cast<double>(question.mapping.workers);
  document.blocks.emplace_back(Paragraph{
      fmt::format(
          "{} a step: {} tokens/s (80 % interval {} to {}), {} per device, {} sequences/s; MFU "
          "{:.1f} %, HFU {:.1f} %. Bound by {}.",
          seconds_text(seconds), si(speed), si(low), si(high), si(each),
          si(static_cast<double>(question.mapping.batch) / seconds), 100 * mfu, 100 * hfu,
          time.largest()),
      Tone::kAnswer});
  document.blocks.emplace_back(Paragraph{
      fmt::format("Software stack {}, fitted to {} published rows{}; the interval is that "
                  "of rows that a fit did not see. MFU counts forward and backward FLOPs "
                  "of the model, causal attention half, against the dense peak in {}; "
                  "HFU adds what is computed again.",
                  question.stack->name, question.stack->rows,
                  question.stack->knows(question.machine.generation)
                      ? ""
                      : ", none of them on this generation of devices (extrapolated)",
                  transformer::number_name(question.mapping.number))});
  document.data["stack"] = question.stack->name;
  document.data["extrapolated"] = !question.stack->knows(question.machine.generation);
  document.data["sequences_per_s"] = static_cast<double>(question.mapping.batch) / seconds;
  document.data["step_seconds"] = seconds;
  document.data["tokens_per_s"] = speed;
  document.data["tokens_per_s_low"] = low;
  document.data["tokens_per_s_high"] = high;
  document.data["tokens_per_s_per_device"] = each;
  document.data["mfu_percent"] = 100 * mfu;
  document.data["hfu_percent"] = 100 * hfu;
  document.data["bound_by"] = std::string(time.largest());
}

// The published row that is most like the question, beside what is predicted of it.
void add_nearest(const TransformerQuestion& question, Document& document) {
  if (!question.nearest) return;
  const transformer::PublishedRow& row = *question.nearest;
  const double predicted = transformer::predicted_seconds(row, row.stack_of().factors);
  document.blocks.emplace_back(Paragraph{
      fmt::format("The nearest published row: {} on {} x {}, {}, batch {}, sequence {}, {} ({}, "
                  "{}): {} a step, "
                  "where {} are predicted.",
                  row.model_name, with_commas(row.mapping.workers), row.machine.id,
                  row.mapping.text(), with_commas(row.mapping.batch),
                  with_commas(row.mapping.sequence), transformer::number_name(row.mapping.number),
                  row.group, row.stack, seconds_text(row.step_seconds), seconds_text(predicted))});
  document.data["nearest"] = Json::object({{"model", Json(row.model_name)},
                                           {"device", Json(row.machine.id)},
                                           {"source", Json(row.group)},
                                           {"stack", Json(row.stack)},
                                           {"mapping", mapping_json(row.mapping)},
                                           {"published_s", Json(row.step_seconds)},
                                           {"predicted_s", Json(predicted)}});
}

std::string money_text(const TransformerQuestion& question, double usd) {
  if (question.goal.usd_per_hour == 0) return "no price known";
  return fmt::format("${} at ${:.2f} per device and hour ({})",
                     with_commas(static_cast<int64_t>(std::llround(usd))),
                     question.goal.usd_per_hour, question.price_source);
}

std::string failures_text(const transformer::TotalTime& time) {
  return fmt::format(
      "A device fails every {}; saving every {} and starting again leave {:.1f} % "
      "of the time as progress.",
      seconds_text(time.goodput.failure_seconds), seconds_text(time.goodput.interval_seconds),
      100 * time.goodput.share);
}

// To a number of tokens or a quality: hours, dollars, what failures cost.
void add_errand(const TransformerQuestion& question, double step_seconds, Document& document) {
  const transformer::Target* target =
      question.to_target ? transformer::find_target(question.model.name) : nullptr;
  if (target == nullptr && question.goal.tokens == 0) return;
  const Mapping& mapping = question.mapping;
  const double tokens = static_cast<double>(mapping.batch * mapping.sequence);
  const double steps = target != nullptr ? transformer::steps_to_target(*target, mapping.batch)
                                         : std::ceil(question.goal.tokens / tokens);
  const transformer::TotalTime time =
      transformer::total_time(question.model, mapping, steps, step_seconds, question.goal);
  const std::string goal =
      target != nullptr ? fmt::format("To {} ({} sequences with a batch of {})", target->what,
                                      si(target->samples(static_cast<double>(mapping.batch))),
                                      with_commas(mapping.batch))
                        : fmt::format("To {} tokens", si(question.goal.tokens));
  document.blocks.emplace_back(
      Paragraph{fmt::format("{}: {} steps, {}; {}.", goal, with_commas(static_cast<int64_t>(steps)),
                            seconds_text(time.hours * 3600), money_text(question, time.usd)),
                Tone::kAnswer});
  document.blocks.emplace_back(Paragraph{failures_text(time)});
  const std::optional<double> critical =
      target != nullptr ? target->critical_batch() : std::nullopt;
  if (critical) {
    document.blocks.emplace_back(
        Paragraph{fmt::format("From a batch of {} on it takes twice the fewest samples.",
                              with_commas(static_cast<int64_t>(*critical)))});
  }
  document.data["steps"] = steps;
  document.data["hours"] = time.hours;
  document.data["usd"] = question.goal.usd_per_hour > 0 ? Json(time.usd) : Json();
  document.data["usd_per_device_hour"] = question.goal.usd_per_hour;
  document.data["goodput_percent"] = 100 * time.goodput.share;
  document.data["checkpoint_interval_s"] = time.goodput.interval_seconds;
  document.data["failure_interval_s"] = time.goodput.failure_seconds;
}

// What a launch line said and what of it is not known here.
void add_launch(const TransformerQuestion& question, Document& document) {
  if (!question.launch) return;
  std::string text =
      fmt::format("Read from the launch line: {}.", join(question.launch->used, ", "));
  if (!question.launch->ignored.empty()) {
    text += fmt::format(" Without effect here: {}.", join(question.launch->ignored, ", "));
  }
  document.blocks.emplace_back(Paragraph{text});
  Json ignored = Json::array();
  for (const std::string& name : question.launch->ignored) ignored.push_back(name);
  document.data["launch_ignored"] = std::move(ignored);
}

void add_step(const TransformerQuestion& question, Document& document) {
  const transformer::StepModel model(question.model, question.machine, question.stack->factors,
                                     question.mapping.sequence);
  const StepTime time = model.step(question.mapping);
  const Fields<Part> fields = part_fields("seconds", false);
  const std::vector<Part> parts = time_parts(time);
  add_speed(question, time, document);
  add_nearest(question, document);
  document.blocks.emplace_back(table_of(fields, parts));
  document.data["time"] = objects_of(fields, parts);
  add_errand(question, time.total(), document);
}

Fields<PlannedMapping> plan_fields() {
  const auto of = [](auto member) {
    return [member](const PlannedMapping& one) { return one.mapping.*member; };
  };
  return {{"tensor", {"tensor"}, of(&Mapping::tensor)},
          {"pipeline", {"pipeline"}, of(&Mapping::pipeline)},
          {"interleave", {"interleave"}, of(&Mapping::interleave)},
          {"context", {"context"}, of(&Mapping::context)},
          {"expert", {"expert"}, of(&Mapping::expert)},
          {"data", {"data"}, [](const PlannedMapping& one) { return one.mapping.data(); }},
          {"zero", {"ZeRO"}, of(&Mapping::zero)},
          {"micro_batch", {"micro batch"}, of(&Mapping::micro_batch)},
          {"recompute",
           {"recompute", Align::kLeft},
           [](const PlannedMapping& one) {
             return transformer::recompute_name(one.mapping.recompute);
           }},
          {"step_s",
           {"step"},
           [](const PlannedMapping& one) { return one.time.total(); },
           seconds_cell},
          {"memory_bytes",
           {"memory"},
           [](const PlannedMapping& one) { return static_cast<int64_t>(one.memory.total()); },
           bytes_cell},
          {"bound_by", {"bound by", Align::kLeft}, [](const PlannedMapping& one) {
             return one.time.largest();
           }}};
}

// What the second does worse than the best, in seconds of its largest part.
std::string difference_text(const PlannedMapping& best, const PlannedMapping& second) {
  const std::vector<Part> mine = time_parts(best.time);
  const std::vector<Part> other = time_parts(second.time);
  size_t most = 0;
  for (size_t i = 0; i + 1 < mine.size(); ++i) {
    if (other[i].amount - mine[i].amount > other[most].amount - mine[most].amount) most = i;
  }
  return fmt::format("The runner-up ({}) takes {:.1f} % longer, mostly for {}.",
                     second.mapping.text(), 100 * (second.time.total() / best.time.total() - 1),
                     mine[most].name);
}

}  // namespace

Document transformer_memory_document(const TransformerQuestion& question) {
  Document document;
  document.data = Json::object();
  describe_question(question, document);
  add_launch(question, document);
  add_memory(question, document);
  return document;
}

Document transformer_step_document(const TransformerQuestion& question) {
  Document document;
  document.data = Json::object();
  describe_question(question, document);
  add_launch(question, document);
  add_step(question, document);
  add_memory(question, document);
  return document;
}

Document transformer_plan_document(const TransformerQuestion& question,
                                   const transformer::Plan& plan) {
  TransformerQuestion chosen = question;
  chosen.mapping = plan.best.front().mapping;
  Document document;
  document.data = Json::object();
  describe_question(chosen, document);
  add_speed(chosen, plan.best.front().time, document);
  const double per_second = static_cast<double>(plan.tried) / std::max(plan.seconds, 1e-9);
  std::string why = fmt::format("The fastest of {} mappings, of which {} fit ({} mappings/s).",
                                with_commas(plan.tried), with_commas(plan.fitting), si(per_second));
  if (plan.best.size() > 1) why += " " + difference_text(plan.best[0], plan.best[1]);
  document.blocks.emplace_back(Paragraph{why});
  document.blocks.emplace_back(table_of(plan_fields(), plan.best));
  document.data["plans"] = objects_of(plan_fields(), plan.best);
  document.data["tried"] = plan.tried;
  document.data["fitting"] = plan.fitting;
  document.data["mappings_per_s"] = per_second;
  add_errand(chosen, plan.best.front().time.total(), document);
  return document;
}

Document transformer_models_document(std::span<const transformer::Transformer> models) {
  using transformer::Transformer;
  const Fields<Transformer> fields = {
      {"name", {"model", Align::kLeft}, &Transformer::name},
      {"parameters",
       {"parameters"},
       [](const Transformer& model) { return transformer::count_parameters(model).total; }},
      {"layers", {"layers"}, &Transformer::layers},
      {"hidden", {"hidden"}, &Transformer::hidden},
      {"heads", {"heads"}, &Transformer::heads},
      {"kv_heads", {"key heads"}, &Transformer::kv_heads},
      {"ffn", {"feed-forward"}, &Transformer::ffn},
      {"experts", {"experts"}, &Transformer::experts},
      {"vocab", {"vocabulary"}, &Transformer::vocab},
      {"source", &Transformer::source}};
  Document document;
  document.data = Json::object({{"models", objects_of(fields, models)}});
  document.blocks.emplace_back(table_of(fields, models));
  return document;
}

}  // namespace trainyard::report

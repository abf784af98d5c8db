#include "cluster/transformer/view.h"

#include "base/text.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

using transformer::Mapping;
using transformer::Memory;
using transformer::PlannedMapping;
using transformer::StepTime;

struct Part {
  std::string name;
  double amount = 0;
  double share = 0;
};

std::vector<Part> parts_of(std::vector<Part> parts, double total) {
  for (Part& part : parts) part.share = total > 0 ? part.amount / total : 0;
  parts.push_back({"total", total, 1});
  return parts;
}

std::vector<Part> memory_parts(const Memory& memory) {
  return parts_of({{"weights", memory.weights},
                   {"gradients", memory.gradients},
                   {"optimizer", memory.optimizer},
                   {"activations", memory.activations},
                   {"logits", memory.logits},
                   {"buffers", memory.buffers},
                   {"driver and libraries", memory.driver}},
                  memory.total());
}

std::vector<Part> time_parts(const StepTime& time) {
  return parts_of({{"matrix products", time.matmul},
                   {"attention", time.attention},
                   {"memory bandwidth", time.memory},
                   {"launches", time.launch},
                   {"head and loss", time.head},
                   {"tensor exchange", time.tensor},
                   {"context exchange", time.context},
                   {"expert exchange", time.expert},
                   {"pipeline bubble", time.bubble},
                   {"pipeline exchange", time.pipeline},
                   {"data exchange", time.data},
                   {"optimizer", time.optimizer},
                   {"offloading", time.offload},
                   {"fixed cost", time.other}},
                  time.total());
}

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
  const double low = speed * question.stack->low;
  const double high = speed * question.stack->high;
  const double mfu = model.mfu(question.mapping, seconds);
  const double hfu = model.hfu(question.mapping, seconds);
  const double each = speed / static_cast<double>(question.mapping.workers);
  document.blocks.emplace_back(Paragraph{
      fmt::format("{} a step: {} tokens/s ({} to {} in 80 % of the published rows of this stack), "
                  "{} per device; MFU {:.1f} %, HFU {:.1f} %. Bound by {}.",
                  seconds_text(seconds), si(speed), si(low), si(high), si(each), 100 * mfu,
                  100 * hfu, time.largest()),
      Tone::kAnswer});
  document.blocks.emplace_back(
      Paragraph{fmt::format("Software stack {}, fitted to {} published rows. MFU counts forward "
                            "and backward FLOPs of the "
                            "model, causal attention half, against the dense peak in {}; HFU adds "
                            "what is computed again.",
                            question.stack->name, question.stack->rows,
                            transformer::number_name(question.mapping.number))});
  document.data["stack"] = question.stack->name;
  document.data["step_seconds"] = seconds;
  document.data["tokens_per_s"] = speed;
  document.data["tokens_per_s_low"] = low;
  document.data["tokens_per_s_high"] = high;
  document.data["tokens_per_s_per_device"] = each;
  document.data["mfu_percent"] = 100 * mfu;
  document.data["hfu_percent"] = 100 * hfu;
  document.data["bound_by"] = std::string(time.largest());
}

void add_step(const TransformerQuestion& question, Document& document) {
  const transformer::StepModel model(question.model, question.machine, question.stack->factors,
                                     question.mapping.sequence);
  const StepTime time = model.step(question.mapping);
  const Fields<Part> fields = part_fields("seconds", false);
  const std::vector<Part> parts = time_parts(time);
  add_speed(question, time, document);
  document.blocks.emplace_back(table_of(fields, parts));
  document.data["time"] = objects_of(fields, parts);
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
  add_memory(question, document);
  return document;
}

Document transformer_step_document(const TransformerQuestion& question) {
  Document document;
  document.data = Json::object();
  describe_question(question, document);
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

Document transformer_scores_document(std::span<const transformer::Score> scores,
                                     std::span<const transformer::SkippedRow> skipped,
                                     bool left_out) {
  using transformer::Score;
  Fields<Score> fields = {{"source", {"source", Align::kLeft}, &Score::group},
                          {"rows", {"rows"}, &Score::rows},
                          percent_field<Score>("error_percent", {"mean error"}, &Score::in_sample),
                          percent_field<Score>("median_percent", {"median"}, &Score::median),
                          percent_field<Score>("inside_percent", {"in 80 %"}, &Score::inside)};
  if (left_out) {
    const auto show = [](double share) { return percent_cell(share); };
    fields.emplace_back("size_left_out", Column{"size left out"}, &Score::size_left_out, show);
    fields.emplace_back("generation_left_out", Column{"generation left out"},
                        &Score::device_left_out, show);
  }
  using transformer::SkippedRow;
  const Fields<SkippedRow> reasons = {
      {"line", {"line"}, [](const SkippedRow& row) { return static_cast<int64_t>(row.line); }},
      {"source", {"source", Align::kLeft}, &SkippedRow::group},
      {"reason", {"skipped because", Align::kLeft}, &SkippedRow::reason}};
  Document document;
  document.data = Json::object(
      {{"scores", objects_of(fields, scores)}, {"skipped", objects_of(reasons, skipped)}});
  document.blocks.emplace_back(table_of(fields, scores));
  if (!skipped.empty()) document.blocks.emplace_back(table_of(reasons, skipped));
  return document;
}

}  // namespace trainyard::report

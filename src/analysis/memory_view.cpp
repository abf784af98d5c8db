// The memory that inference and training need.
#include <fmt/format.h>

#include "analysis/view.h"
#include "base/text.h"

namespace trainyard::report {
namespace {

using analysis::ActivationPeak;
using analysis::MemoryUse;
using analysis::Optimizer;

// Without a node the peak is before the first one runs: the inputs.
std::string peak_text(const ActivationPeak& peak) {
  if (peak.node.empty()) return "on entry";
  return fmt::format("{} {}", peak.backward ? "in the backward pass of" : "at", peak.node);
}

Json peak_json(const ActivationPeak& peak) {
  return Json::object({{"bytes", peak.bytes}, {"node", peak.node}, {"backward", peak.backward}});
}

Json memory_json(const MemoryUse& use) {
  Json training = Json::object({{"gradients", use.gradients},
                                {"kept_for_backward", use.saved_for_backward},
                                {"activation_peak", peak_json(use.training)}});
  for (const Optimizer optimizer : analysis::kOptimizers) {
    training[analysis::optimizer_name(optimizer)] =
        Json::object({{"optimizer_state", use.optimizer_state(optimizer)},
                      {"total", use.training_total(optimizer)},
                      {"total_here", use.training_here_total(optimizer)}});
  }
  return Json::object(
      {{"weights", use.weights()},
       {"trainable", use.trainable},
       {"statistics", use.statistics},
       {"constants", use.constants},
       {"inputs", use.inputs},
       {"inference", Json::object({{"activation_peak", peak_json(use.inference_in_place)},
                                   {"activation_peak_without_reuse", peak_json(use.inference)},
                                   {"total", use.inference_total()}})},
       {"training", std::move(training)}});
}

Table memory_table(const MemoryUse& use) {
  std::vector<Column> columns = {{"bytes of", Align::kLeft}, {"inference"}};
  for (const Optimizer optimizer : analysis::kOptimizers) {
    columns.push_back({fmt::format("training, {}", analysis::optimizer_name(optimizer)),
                       Align::kRight, 0,
                       fmt::format("training_{}", analysis::optimizer_name(optimizer))});
  }
  Table table(std::move(columns));
  const auto add = [&](const char* name, int64_t inference, const auto& training) {
    std::vector<Cell> row = {name, bytes_cell(inference)};
    for (const Optimizer optimizer : analysis::kOptimizers) {
      row.push_back(bytes_cell(training(optimizer)));
    }
    table.add_row(std::move(row));
  };
  // Rows that do not depend on the optimizer still fill its columns.
  const auto always = [](int64_t bytes) { return [bytes](Optimizer) { return bytes; }; };
  add("weights and biases", use.trainable, always(use.trainable));
  add("statistics and constants", use.weights() - use.trainable,
      always(use.weights() - use.trainable));
  add("gradients", 0, always(use.gradients));
  add("optimizer state", 0, [&](Optimizer o) { return use.optimizer_state(o); });
  add("activations at the peak", use.inference_in_place.bytes, always(use.training.bytes));
  table.add_rule();
  add("total", use.inference_total(), [&](Optimizer o) { return use.training_total(o); });
  add("total in this engine", use.inference_total(),
      [&](Optimizer o) { return use.training_here_total(o); });
  return table;
}

std::string size_text(int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

}  // namespace

Document memory_document(const std::string& model, const MemoryUse& use, int64_t batch) {
  const std::string notes = fmt::format(
      "- inference reaches its peak {}\n"
      "  (values are freed after their last use, element-wise layers work in place)\n"
      "- if nothing worked in place, the peak would be {}, {}\n"
      "- training reaches its peak {}\n"
      "- the backward pass needs {} of the forward pass\n"
      "- one batch of inputs is {} of both\n"
      "- this engine reaches its peak {}\n"
      "  (gradients of weights come one by one, parts of concatenations are made in place)\n"
      "- not counted: scratch space of kernels, weights in other layouts, the program itself",
      peak_text(use.inference_in_place), size_text(use.inference.bytes), peak_text(use.inference),
      peak_text(use.training), size_text(use.saved_for_backward), size_text(use.inputs),
      peak_text(use.training_here));
  Document document;
  document.blocks = {
      Heading{fmt::format("{}, batch {}: memory, worked out from the graph", model, batch)},
      memory_table(use), Paragraph{notes}};
  document.data = Json::object({{"model", model}, {"batch", batch}, {"memory", memory_json(use)}});
  return document;
}

}  // namespace trainyard::report

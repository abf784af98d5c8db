#include "cluster/transformer/published.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/csv.h"
#include "base/error.h"
#include "base/text.h"
#include "cluster/predict/embedded.h"
#include "cluster/transformer/memory.h"
#include "cluster/transformer/model_catalog.h"

namespace trainyard::transformer {
namespace {

constexpr int64_t kUsualVocab = 51200;  // of GPT-2's tokenizer, padded
constexpr double kMostCount = 1e12;
constexpr double kMostMeasured = 1e15;
constexpr int64_t kUsualAdapterRank = 16;  // of MLPerf's benchmark

// Why a row cannot be used.
struct Skip {
  std::string reason;
};

// "VIA-Research/vTrain@f8dda8473a:data/…" is of vTrain.
std::string group_of(std::string_view source) {
  source = source.substr(0, source.find('@'));
  const size_t slash = source.rfind('/');
  return std::string(slash == std::string_view::npos ? source : source.substr(slash + 1));
}

int64_t number_or(const CsvRow& row, std::string_view column, int64_t fallback) {
  const std::optional<double> number = row.maybe_number(column);
  if (!number) return fallback;
  if (!(*number >= 0 && *number <= kMostCount)) {
    throw Skip{fmt::format("{} is {}", column, row.text(column))};
  }
  return static_cast<int64_t>(*number);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

int64_t needed(const CsvRow& row, std::string_view column) {
  const int64_t number = number_or(row, column, 0);
  if (number < 1) throw Skip{fmt::format("no {}", column)};
  return number;
}

// A model of the catalog with the row's own sizes, or a GPT of these sizes.
Transformer model_of_row(const CsvRow& row) {
  const std::string& name = row.text("model");
  const Transformer* known = find_model(name);
  const int64_t layers = number_or(row, "layers", 0);
  const int64_t hidden = number_or(row, "hidden", 0);
  // Some give a network of other sizes the name of a known one.
  if (known != nullptr && (hidden == 0 || hidden == known->hidden)) {
    Transformer model = *known;
    if (layers > 0) model.layers = layers;
    return model;
  }
  if (layers == 0 || hidden == 0) throw Skip{"model not known: " + name};
  Transformer model;
  model.name = name;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = std::max<int64_t>(number_or(row, "heads", hidden / 128), 1);
  model.vocab = kUsualVocab;
  model.bias = model.qkv_bias = model.tied = true;
  model.causal = !name.starts_with("bert");
  if (contains(name, "switch")) throw Skip{"layers of another kind: " + name};
  complete(model);
  return model;
}

Number number_of_row(const CsvRow& row) {
  const std::string& text = row.text("precision");
  if (contains(text, "nvfp4")) return Number::kFp4;
  if (contains(text, "fp8")) return Number::kFp8;
  if (contains(text, "tf32")) return Number::kTf32;
  if (contains(text, "fp32")) return Number::kFp32;
  return Number::kHalf;
}

int64_t zero_of_row(const CsvRow& row) {
  const std::string& text = row.text("sharding");
  if (contains(text, "zero2") || contains(text, "zero-2")) return 2;
  if (contains(text, "fsdp") || contains(text, "zero3") || contains(text, "zero-3")) return 3;
  return text == "ddp" ? 0 : 1;
}

// Older software stored the scores of attention and split no sequences.
bool is_old(const CsvRow& row) {
  const std::string& stack = row.text("stack");
  return stack == "megatron-lm" || stack == "megatron-deepspeed" ||
         stack.starts_with("pytorch 2.1");
}

// Some say it in a note.
bool is_lora(const CsvRow& row) {
  return row.text("task") == "lora" || contains(row.text("note"), "LoRA");
}

void set_recompute(const CsvRow& row, Mapping& mapping) {
  const std::string& text = row.text("recompute");
  if (text.starts_with("full")) mapping.recompute = Recompute::kFull;
  if (text.starts_with("selective")) mapping.recompute = Recompute::kSelective;
}

Mapping mapping_of_row(const CsvRow& row) {
  Mapping mapping;
  mapping.workers = needed(row, "devices");
  mapping.sequence = needed(row, "seq_len");
  mapping.batch = needed(row, "global_batch");
  mapping.tensor = needed(row, "tp");
  mapping.pipeline = needed(row, "pp");
  mapping.interleave = number_or(row, "vp", 1);
  mapping.context = number_or(row, "cp", 1);
  mapping.expert = number_or(row, "ep", 1);
  mapping.zero = zero_of_row(row);
  mapping.number = number_of_row(row);
  set_recompute(row, mapping);
  if (is_lora(row)) mapping.lora = kUsualAdapterRank;
  mapping.drops_tokens = contains(row.text("model"), "tokendrop");
  mapping.fuses = contains(row.text("note"), "fusion");
  const bool old = is_old(row);
  mapping.flash = !old;
  mapping.sequence_parallel = !old || contains(row.text("recompute"), "sequence parallel");
  // Older software computes the batch of a device at once where it splits no layers.
  const int64_t data = std::max<int64_t>(mapping.data(), 1);
  const bool at_once = old && (data == mapping.workers || row.text("stack").starts_with("pytorch"));
  const int64_t usual = at_once ? std::max<int64_t>(mapping.batch / data, 1) : 1;
  mapping.micro_batch = number_or(row, "micro_batch", usual);
  return mapping;
}

// A figure that was measured.
double positive(double number, std::string_view what) {
  if (!(number > 0 && number < kMostMeasured)) {
    throw Skip{fmt::format("{} is {}, which cannot be", what, number)};
  }
  return number;
}

double seconds_of_row(const CsvRow& row, const Mapping& mapping) {
  if (const auto seconds = row.maybe_number("iter_s")) return positive(*seconds, "iter_s");
  const double tokens = static_cast<double>(mapping.batch) * static_cast<double>(mapping.sequence);
  if (const auto speed = row.maybe_number("tokens_per_s")) {
    return tokens / positive(*speed, "tokens_per_s");
  }
  throw Skip{"no speed"};
}

Machine machine_of_row(const CsvRow& row, const predict::Catalog& catalog) {
  if (!is_machine(catalog, row.text("device"))) {
    throw Skip{"device not known: " + row.text("device")};
  }
  return machine_of(catalog, row.text("device"));
}

// Rows of one source that are scored apart.
std::string group_of_row(const CsvRow& row, const Transformer& model, int64_t workers) {
  std::string group = group_of(row.text("source"));
  if (group == "vTrain") group += workers > 8 ? ", several hosts" : ", one host";
  if (model.experts > 0) group += ", experts";
  if (row.text("task") == "inference forward") group += ", forward";
  return group;
}

void refuse_oddities(const CsvRow& row) {
  if (contains(row.text("note"), "SUSPECT")) throw Skip{"marked as suspect"};
  if (contains(row.text("note"), "REPEATED")) throw Skip{"a result that was submitted before"};
}

void require_possible(const Transformer& model, const Mapping& mapping) {
  const std::string problem = problem_of(model, mapping);
  if (!problem.empty()) throw Skip{problem};
}

PublishedRow speed_of_row(const CsvRow& row, const predict::Catalog& catalog) {
  PublishedRow out;
  out.line = row.line();
  out.stack = row.text("stack");
  out.model_name = row.text("model");
  if (row.text("task") == "memory only") throw Skip{"memory alone"};
  if (row.text("task") == "inference forward") out.pass = Pass::kForward;
  refuse_oddities(row);
  out.machine = machine_of_row(row, catalog);
  out.mapping = mapping_of_row(row);
  out.model = model_of_row(row);
  out.group = group_of_row(row, out.model, out.mapping.workers);
  if (out.mapping.lora > 0) out.group += ", LoRA";
  out.step_seconds = seconds_of_row(row, out.mapping);
  require_possible(out.model, out.mapping);
  if (out.machine.peak(out.mapping.number) <= 0) throw Skip{"the device has no such precision"};
  return out;
}

MemoryRow memory_of_row(const CsvRow& row, double gib) {
  MemoryRow out;
  out.line = row.line();
  refuse_oddities(row);
  out.mapping = mapping_of_row(row);
  out.model = model_of_row(row);
  out.group = group_of_row(row, out.model, out.mapping.workers);
  out.bytes = positive(gib, "memory_gib") * kGibi;
  require_possible(out.model, out.mapping);
  return out;
}

// "mlcommons/training_results_v3.0@…" is of round 3.0.
std::string round_of(const std::string& source) {
  const std::string group = group_of(source);
  const size_t at = group.rfind('v');
  return at == std::string::npos ? group : group.substr(at + 1);
}

TargetRow target_of_row(const CsvRow& row, double minutes, const predict::Catalog& catalog) {
  TargetRow out;
  out.line = row.line();
  refuse_oddities(row);
  out.round = round_of(row.text("source"));
  out.machine = machine_of_row(row, catalog);
  out.model = model_of_row(row);
  out.group = "MLPerf, " + out.model.name;
  out.wanted.workers = needed(row, "devices");
  out.wanted.batch = needed(row, "global_batch");
  out.wanted.sequence = needed(row, "seq_len");
  // Results are as fast as they can be made.
  out.wanted.number = out.machine.peak(Number::kFp8) > 0 ? Number::kFp8 : Number::kHalf;
  if (is_lora(row)) out.wanted.lora = kUsualAdapterRank;
  out.seconds = 60 * positive(minutes, "minutes_to_target");
  return out;
}

std::optional<double> number_if_any(const CsvTable& table, const CsvRow& row,
                                    std::string_view column) {
  if (std::ranges::find(table.columns(), column) == table.columns().end()) return std::nullopt;
  return row.maybe_number(column);
}

// Reads one kind of figure; false if it cannot be, with the reason.
template <typename Rows, typename Read>
bool read_into(Rows& rows, std::string& reason, const Read& read) {
  try {
    rows.push_back(read());
    return true;
  } catch (const Skip& skip) {
    reason = skip.reason;
    return false;
  }
}

}  // namespace

PublishedRows read_published(std::string_view text, const std::string& origin,
                             const predict::Catalog& catalog) {
  const CsvTable table = CsvTable::parse(text, origin);
  table.require_columns({"source",       "stack",        "task",     "device",    "devices",
                         "model",        "layers",       "hidden",   "heads",     "seq_len",
                         "global_batch", "micro_batch",  "tp",       "pp",        "vp",
                         "cp",           "ep",           "sharding", "recompute", "precision",
                         "iter_s",       "tokens_per_s", "note"});
  PublishedRows out;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    std::string reason;
    bool used = false;
    if (const auto gib = number_if_any(table, row, "memory_gib")) {
      used |= read_into(out.memory, reason, [&] { return memory_of_row(row, *gib); });
    }
    if (const auto minutes = number_if_any(table, row, "minutes_to_target")) {
      used |= read_into(out.targets, reason, [&] { return target_of_row(row, *minutes, catalog); });
    } else {
      used |= read_into(out.rows, reason, [&] { return speed_of_row(row, catalog); });
    }
    if (!used) out.skipped.push_back({row.line(), group_of(row.text("source")), reason});
  }
  return out;
}

PublishedRows catalog_rows(const predict::Catalog& catalog) {
  PublishedRows all;
  for (const std::string_view file :
       {"transformer_rows.csv", "training/transformer_memory.csv", "training/mlperf.csv"}) {
    PublishedRows some = read_published(embedded_text(predict::embedded_files(), file),
                                        "catalog/" + std::string(file), catalog);
    std::ranges::move(some.rows, std::back_inserter(all.rows));
    std::ranges::move(some.memory, std::back_inserter(all.memory));
    std::ranges::move(some.targets, std::back_inserter(all.targets));
    std::ranges::move(some.skipped, std::back_inserter(all.skipped));
  }
  return all;
}

}  // namespace trainyard::transformer

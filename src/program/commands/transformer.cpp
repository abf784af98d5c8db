// `trainyard transformer`: memory, time and the best mapping of training transformers.
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/predict/embedded.h"
#include "cluster/transformer/model_catalog.h"
#include "cluster/transformer/view.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

struct TransformerFlags {
  std::string action;
  std::string model;
  std::string device = "h100";
  std::string stack = "megatron-core";
  transformer::Mapping mapping;
  std::optional<int64_t> batch;
  std::optional<int64_t> sequence;
  std::string precision = "bf16";
  std::string recompute = "none";
  std::string optimizer = "adam";
  std::string offload = "none";
  bool no_flash = false;
  bool no_sequence_parallel = false;
  int64_t plans = 5;
  // Sizes that a model is made of, or changed by.
  std::optional<int64_t> layers, hidden, heads, kv_heads, ffn, vocab, experts, top_k;
  std::string measurements;
  bool leave_out = false;
  bool fit = false;
  std::vector<std::string> catalogs;
  report::Format format = report::Format::kText;
};

void set_if(const std::optional<int64_t>& given, int64_t& target) {
  if (given) target = *given;
}

transformer::Transformer model_of_flags(const TransformerFlags& flags) {
  transformer::Transformer model;
  if (flags.model.empty()) {
    TY_REQUIRE(flags.layers && flags.hidden && flags.heads && flags.vocab,
               "transformer {}: no MODEL; name one of 'trainyard transformer models', a "
               "config.json, or give --layers, --hidden, --heads and --vocab",
               flags.action);
    model.name = "transformer";
    model.gated = model.rms_norm = true;
  } else {
    model = transformer::load_model(flags.model);
  }
  if (flags.heads || flags.hidden) model.head_size = 0;
  if (flags.heads && !flags.kv_heads) model.kv_heads = 0;
  set_if(flags.layers, model.layers);
  set_if(flags.hidden, model.hidden);
  set_if(flags.heads, model.heads);
  set_if(flags.kv_heads, model.kv_heads);
  set_if(flags.ffn, model.ffn);
  set_if(flags.vocab, model.vocab);
  set_if(flags.experts, model.experts);
  set_if(flags.top_k, model.top_k);
  set_if(flags.sequence, model.sequence);
  transformer::complete(model);
  return model;
}

// A micro batch for each stage and data parallel rank; where the workers cannot be split as asked,
// what any other split can do with.
int64_t usual_batch(const transformer::Mapping& mapping) {
  const int64_t group = mapping.tensor * mapping.pipeline * mapping.context;
  const bool even = group > 0 && mapping.workers >= group && mapping.workers % group == 0;
  return mapping.micro_batch * (even ? mapping.data() * mapping.pipeline : mapping.workers);
}

constexpr int64_t kMost = 1 << 20;

// So that products of them can be formed at all.
void check_counts(const transformer::Mapping& mapping) {
  const std::vector<std::pair<const char*, int64_t>> counts = {
      {"--workers", mapping.workers},         {"--tensor", mapping.tensor},
      {"--pipeline", mapping.pipeline},       {"--interleave", mapping.interleave},
      {"--context", mapping.context},         {"--expert", mapping.expert},
      {"--micro-batch", mapping.micro_batch}, {"--batch", mapping.batch}};
  for (const auto& [flag, count] : counts) {
    TY_REQUIRE(count >= 1 && count <= kMost, "{} is {}, expected 1 to {}", flag, count, kMost);
  }
}

report::TransformerQuestion question_of(const TransformerFlags& flags) {
  const predict::Catalog catalog = predict::Catalog::load(flags.catalogs);
  report::TransformerQuestion question;
  question.model = model_of_flags(flags);
  question.machine = transformer::machine_of(catalog, flags.device);
  question.stack = &transformer::stack_for(flags.stack, question.model.experts > 0);
  transformer::Mapping& mapping = question.mapping;
  mapping = flags.mapping;
  mapping.batch = flags.batch.value_or(1);
  check_counts(mapping);
  mapping.sequence = question.model.sequence;
  mapping.number = transformer::number_from_name(flags.precision);
  mapping.recompute = transformer::recompute_from_name(flags.recompute);
  mapping.optimizer = transformer::optimizer_from_name(flags.optimizer);
  mapping.offload = transformer::offload_from_name(flags.offload);
  mapping.flash = !flags.no_flash;
  mapping.sequence_parallel = !flags.no_sequence_parallel;
  mapping.batch = flags.batch.value_or(usual_batch(mapping));
  TY_REQUIRE(question.machine.peak(mapping.number) > 0, "{} has no {}; give another --precision",
             question.machine.id, flags.precision);
  return question;
}

int plan_action(const TransformerFlags& flags, std::ostream& out) {
  report::TransformerQuestion question = question_of(flags);
  if (!flags.batch) {
    // About four million tokens, as large models are trained with, and a multiple of the workers.
    const int64_t rounds = (int64_t{4} << 20) / question.mapping.sequence / flags.mapping.workers;
    question.mapping.batch = std::max<int64_t>(rounds, 1) * flags.mapping.workers;
  }
  TY_REQUIRE(flags.plans >= 1 && flags.plans <= 1000, "--plans is {}, expected 1 to 1000",
             flags.plans);
  const transformer::Plan plan =
      transformer::find_plan(question.model, question.machine, question.stack->factors,
                             question.mapping, static_cast<size_t>(flags.plans));
  out << report::render(report::transformer_plan_document(question, plan), flags.format);
  return 0;
}

// The factors that the rows lead to, as the catalog has them, or how well they predict.
int validate_action(const TransformerFlags& flags, std::ostream& out) {
  const predict::Catalog catalog = predict::Catalog::load(flags.catalogs);
  constexpr std::string_view kRows = "transformer_rows.csv";
  const bool own = flags.measurements.empty();
  const std::string text = own ? std::string(embedded_text(predict::embedded_files(), kRows))
                               : read_file(flags.measurements);
  const transformer::PublishedRows read = transformer::read_published(
      text, own ? "catalog/" + std::string(kRows) : flags.measurements, catalog);
  TY_REQUIRE(!read.rows.empty(), "{}: no row can be used", flags.measurements);
  if (flags.fit) {
    out << transformer::factors_csv(transformer::fit_stacks(read.rows));
    return 0;
  }
  const std::vector<transformer::Score> scores = flags.leave_out
                                                     ? transformer::score_fits(read.rows, true)
                                                     : transformer::score_catalog(read.rows);
  out << report::render(report::transformer_scores_document(scores, read.skipped, flags.leave_out),
                        flags.format);
  return 0;
}

int transformer_command(const TransformerFlags& flags, std::ostream& out) {
  if (flags.action == "validate") return validate_action(flags, out);
  if (flags.action == "plan") return plan_action(flags, out);
  if (flags.action == "models") {
    out << report::render(report::transformer_models_document(transformer::known_models()),
                          flags.format);
    return 0;
  }
  const std::vector<std::string> actions = {"predict", "memory", "plan", "validate", "models"};
  TY_REQUIRE(flags.action == "predict" || flags.action == "memory",
             "transformer {}: expected predict, memory, plan, validate or models.{}", flags.action,
             did_you_mean(flags.action, actions));
  const report::TransformerQuestion question = question_of(flags);
  transformer::check(question.model, question.mapping);
  out << report::render(flags.action == "memory" ? report::transformer_memory_document(question)
                                                 : report::transformer_step_document(question),
                        flags.format);
  return 0;
}

void declare_model(Args& args, TransformerFlags& flags) {
  args.option("--layers", flags.layers, "layers of the model (its own if absent)");
  args.option("--hidden", flags.hidden, "width of the hidden state");
  args.option("--heads", flags.heads, "attention heads");
  args.option("--kv-heads", flags.kv_heads, "heads of keys and values");
  args.option("--ffn", flags.ffn, "width of the feed-forward layers");
  args.option("--vocab", flags.vocab, "tokens of the vocabulary");
  args.option("--experts", flags.experts, "experts of a layer");
  args.option("--top-k", flags.top_k, "experts that a token visits");
  args.option("--sequence", flags.sequence, "tokens of a sequence (the model's if absent)");
}

void declare_mapping(Args& args, TransformerFlags& flags) {
  transformer::Mapping& mapping = flags.mapping;
  args.option("--workers", mapping.workers, "devices");
  args.option("--tensor", mapping.tensor, "devices that split each layer");
  args.option("--pipeline", mapping.pipeline, "stages that split the layers");
  args.option("--interleave", mapping.interleave, "parts of the network on each stage");
  args.option("--context", mapping.context, "devices that split each sequence");
  args.option("--expert", mapping.expert, "devices that the experts are spread over");
  args.option("--micro-batch", mapping.micro_batch, "sequences that a device computes at a time");
  args.option("--batch", flags.batch, "sequences of a step, of all devices");
  args.option("--zero", mapping.zero,
              "what data parallel ranks share out: 0 nothing, 1 optimizer, 2 gradients, 3 weights");
  args.choice("--recompute", flags.recompute, {"none", "selective", "full"},
              "what the backward pass computes again");
  args.choice("--optimizer", flags.optimizer, {"adam", "adafactor", "muon", "sgd"},
              "whose states take memory");
  args.choice("--precision", flags.precision, {"fp32", "tf32", "bf16", "fp16", "fp8", "nvfp4"},
              "of the matrix products");
  args.option("--shard-group", mapping.shard_group,
              "devices of a group that share out what --zero says, every group the whole (0: all)");
  args.option("--lora", mapping.lora, "train adapters of this rank alone (0: all weights)");
  args.choice("--offload", flags.offload, {"none", "optimizer", "activations", "both"},
              "what the host's memory keeps");
  args.flag("--zero-bubble", mapping.zero_bubble,
            "compute gradients of weights where a pipeline would wait");
  args.flag("--drop-tokens", mapping.drops_tokens, "experts drop what exceeds their capacity");
  args.flag("--no-flash", flags.no_flash, "attention stores its scores");
  args.flag("--no-sequence-parallel", flags.no_sequence_parallel,
            "tensor parallel ranks repeat what lies between split layers");
}

Runner setup_transformer(Args& args) {
  auto flags = std::make_shared<TransformerFlags>();
  args.positional("ACTION", flags->action,
                  "predict: time and memory; memory; plan: the best mapping; validate: against "
                  "published rows; models: those known by name");
  args.optional_positional("MODEL", flags->model,
                           "a name of 'transformer models', or a config.json of Hugging Face");
  args.option("--device", flags->device, "a device, as h100, b200 or gb200");
  args.option("--stack", flags->stack, "the software, as megatron-core, fsdp or fsdp-compile");
  declare_mapping(args, *flags);
  declare_model(args, *flags);
  args.option("--plans", flags->plans, "how many plans are shown");
  args.option("--measurements", flags->measurements,
              "validate: a CSV file of published rows (those of the catalog if absent)");
  args.flag("--leave-one-out", flags->leave_out,
            "validate: fit again without each size and each generation of devices");
  args.flag("--fit", flags->fit, "validate: print the factors that the rows lead to");
  args.repeated("--catalog", flags->catalogs, "a YAML file that adds to or overrides the catalog");
  args.format(flags->format);
  args.own_flags([flags] { return flags->action; },
                 {{{"validate"}, {"measurements", "leave-one-out", "fit"}}, {{"plan"}, {"plans"}}});
  return [flags](std::ostream& out) { return transformer_command(*flags, out); };
}

}  // namespace

extern const Command kTransformer = {
    .name = "transformer",
    .group = "Predict",
    .summary = "Memory, time and the best mapping of training a transformer on many devices",
    .examples =
        "  trainyard transformer predict llama-3-8b --device h100 --workers 64 --tensor 4 \\\n"
        "    --pipeline 2 --batch 128\n"
        "  trainyard transformer memory llama-3-70b --workers 64 --tensor 8 --zero 1\n"
        "  trainyard transformer plan mixtral-8x7b --device h100 --workers 64 --batch 256\n"
        "  trainyard transformer validate --leave-one-out\n",
    .setup = setup_transformer,
};

}  // namespace trainyard::cli

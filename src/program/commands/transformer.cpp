// `trainyard transformer`: memory, time and the best mapping of training transformers.
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/transformer/model_catalog.h"
#include "cluster/transformer/nearest_row.h"
#include "cluster/transformer/view.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

struct TransformerFlags {
  std::string action;
  std::string model;
  std::string device = "h100";
  std::string stack;
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
  std::string launch;
  double tokens = 0;
  bool target = false;
  std::optional<double> price;
  double deadline = 0;
  double budget = 0;
  transformer::TrainingGoal goal;
  std::string measurements;
  bool leave_out = false;
  bool fit = false;
  std::vector<std::string> catalogs;
  report::Format format = report::Format::kText;
};

constexpr int64_t kUsualVocab = 51200;  // of GPT-2's tokenizer, padded, which Megatron-LM reads
constexpr double kMostTrainingTokens = 1e18;

void set_if(const std::optional<int64_t>& given, int64_t& target) {
  if (given) target = *given;
}

// The line of other software, which may describe the model too.
std::optional<transformer::Launch> launch_of(const TransformerFlags& flags) {
  if (flags.launch.empty()) return std::nullopt;
  transformer::Launch launch = transformer::read_launch(
      flags.launch, [](const std::string& path) { return read_file(path); });
  if (flags.mapping.workers > 1) {
    const int64_t data = launch.mapping.data();
    const int64_t rounds = launch.mapping.batch / std::max<int64_t>(data, 1);
    launch.mapping.workers = flags.mapping.workers;
    // Without a global batch it grows with the devices.
    if (data <= 1) launch.mapping.batch = rounds * std::max<int64_t>(launch.mapping.data(), 1);
  }
  return launch;
}

transformer::Transformer model_of_flags(const TransformerFlags& flags,
                                        const std::optional<transformer::Launch>& launch) {
  transformer::Transformer model;
  const std::string name = flags.model.empty() && launch ? launch->model : flags.model;
  if (name.empty() && launch && launch->sizes.layers > 0) {
    model = launch->sizes;
    if (launch->mapping.sequence > 0) model.sequence = launch->mapping.sequence;
    if (model.vocab == 0) model.vocab = flags.vocab.value_or(kUsualVocab);
  } else if (name.empty()) {
    TY_REQUIRE(flags.layers && flags.hidden && flags.heads && flags.vocab,
               "transformer {}: no MODEL; name one of 'trainyard transformer models', a "
               "config.json, or give --layers, --hidden, --heads and --vocab",
               flags.action);
    model.name = "transformer";
    model.gated = model.rms_norm = true;
  } else {
    model = transformer::load_model(name);
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

void set_mapping(const TransformerFlags& flags, report::TransformerQuestion& question) {
  transformer::Mapping& mapping = question.mapping;
  if (question.launch) {
    mapping = question.launch->mapping;
    if (mapping.sequence == 0) mapping.sequence = question.model.sequence;
    return;
  }
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
}

// The target's own software and length of sequences.
void set_target(const TransformerFlags& flags, report::TransformerQuestion& question) {
  const transformer::Target* target = transformer::find_target(question.model.name);
  if (target == nullptr) {
    std::vector<std::string> names;
    for (const transformer::Target& one : transformer::known_targets()) names.push_back(one.model);
    throw_error("--target: no samples to a target are known for {}, only for {}; give --tokens",
                question.model.name, join(names, ", "));
  }
  TY_REQUIRE(flags.tokens == 0, "--tokens and --target both say how long: give one");
  question.to_target = true;
  question.mapping.sequence =
      static_cast<int64_t>(static_cast<double>(question.mapping.sequence) * target->filled);
}

void set_goal(const TransformerFlags& flags, const predict::Catalog& catalog,
              report::TransformerQuestion& question) {
  question.goal = flags.goal;
  question.goal.tokens = flags.tokens;
  question.goal.deadline_hours = flags.deadline;
  question.goal.budget_usd = flags.budget;
  if (flags.price) {
    question.goal.usd_per_hour = *flags.price;
    question.price_source = "as given";
  } else if (const predict::RentableInstance* offer = catalog.cheapest(question.machine.id)) {
    question.goal.usd_per_hour = offer->per_device();
    question.price_source = fmt::format("{} {}, {}", offer->cloud, offer->instance, offer->date);
  }
}

report::TransformerQuestion question_of(const TransformerFlags& flags) {
  const predict::Catalog catalog = predict::Catalog::load(flags.catalogs);
  report::TransformerQuestion question;
  question.launch = launch_of(flags);
  question.model = model_of_flags(flags, question.launch);
  question.machine = transformer::machine_of(catalog, flags.device);
  set_mapping(flags, question);
  set_goal(flags, catalog, question);
  if (flags.target) set_target(flags, question);
  const bool experts = question.model.experts > 0;
  const std::string usual = flags.target ? transformer::target_stack(question.model.name) : "";
  question.stack = flags.stack.empty()
                       ? &transformer::stack_for(usual, experts, question.mapping.zero == 3)
                       : &transformer::stack_named(flags.stack, experts);
  TY_REQUIRE(question.machine.peak(question.mapping.number) > 0,
             "{} has no {}; give another --precision", question.machine.id,
             transformer::number_name(question.mapping.number));
  return question;
}

int plan_action(const TransformerFlags& flags, std::ostream& out) {
  report::TransformerQuestion question = question_of(flags);
  if (!flags.batch) {
    // About four million tokens, as large models are trained with, and a multiple of the workers.
    const int64_t rounds = (int64_t{4} << 20) / question.mapping.sequence / flags.mapping.workers;
    question.mapping.batch = std::max<int64_t>(rounds, 1) * flags.mapping.workers;
  }
  if (flags.deadline > 0 || flags.budget > 0) {
    TY_REQUIRE(flags.tokens > 0, "--deadline and --budget need --tokens: what is to be trained");
    TY_REQUIRE(flags.budget == 0 || question.goal.usd_per_hour > 0,
               "--budget: no price of {} is known; give --price", question.machine.id);
    const transformer::DeviceCounts counts = transformer::plan_device_counts(
        question.model, question.machine, question.stack->factors, question.mapping, question.goal);
    out << report::render(report::transformer_counts_document(question, counts), flags.format);
    return 0;
  }
  const transformer::Plan plan =
      transformer::find_plan(question.model, question.machine, question.stack->factors,
                             question.mapping, static_cast<size_t>(flags.plans));
  out << report::render(report::transformer_plan_document(question, plan), flags.format);
  return 0;
}

// The factors that the rows lead to, as the catalog has them, or how well they predict.
int validate_action(const TransformerFlags& flags, std::ostream& out) {
  const predict::Catalog catalog = predict::Catalog::load(flags.catalogs);
  transformer::PublishedRows read =
      flags.measurements.empty()
          ? transformer::catalog_rows(catalog)
          : transformer::read_published(read_file(flags.measurements), flags.measurements, catalog);
  const std::vector<transformer::PublishedRow> targets =
      transformer::rows_of_targets(read.targets, read.skipped);
  read.rows.insert(read.rows.end(), targets.begin(), targets.end());
  TY_REQUIRE(!read.rows.empty() || !read.memory.empty(), "{}: no row can be used{}",
             flags.measurements,
             read.skipped.empty() ? "" : ", the first since: " + read.skipped.front().reason);
  if (flags.fit) {
    out << transformer::factors_csv(transformer::fit_stacks(read.rows));
    return 0;
  }
  report::TransformerScores scores;
  scores.left_out = flags.leave_out;
  scores.speeds = flags.leave_out ? transformer::score_fits(read.rows, true)
                                  : transformer::score_catalog(read.rows);
  scores.memory = transformer::score_memory(read.memory);
  if (!flags.leave_out) scores.rows = transformer::scored_rows(read.rows);
  scores.skipped = std::move(read.skipped);
  out << report::render(report::transformer_scores_document(scores), flags.format);
  return 0;
}

void set_nearest(const TransformerFlags& flags, report::TransformerQuestion& question) {
  const predict::Catalog catalog = predict::Catalog::load(flags.catalogs);
  const transformer::PublishedRows rows = transformer::catalog_rows(catalog);
  const transformer::PublishedRow* row =
      transformer::nearest_row(rows.rows, question.model, question.machine, question.mapping);
  if (row != nullptr) question.nearest = *row;
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
  report::TransformerQuestion question = question_of(flags);
  transformer::check(question.model, question.mapping);
  if (flags.action == "predict") set_nearest(flags, question);
  out << report::render(flags.action == "memory" ? report::transformer_memory_document(question)
                                                 : report::transformer_step_document(question),
                        flags.format);
  return 0;
}

void declare_goal(Args& args, TransformerFlags& flags) {
  args.option("--tokens", flags.tokens, "tokens to train on; adds hours and dollars",
              between(0, kMostTrainingTokens));
  args.flag("--target", flags.target, "train to the MLPerf Training target, instead of --tokens");
  args.option("--price", flags.price,
              "US dollars per device and hour (default: the cheapest known offer)",
              between(0, 1e6));
  transformer::Reliability& reliability = flags.goal.reliability;
  args.option("--mtbf-hours", reliability.device_hours, "mean time between failures of a device",
              between(1, 1e12));
  args.option("--checkpoint-seconds", reliability.save_seconds,
              "seconds that training stops for a checkpoint (0: its size at 2 GB/s per host of 8)",
              between(0, 1e6));
  args.option("--restart-seconds", reliability.restart_seconds,
              "seconds from a failure until training continues", between(0, 1e6));
  args.option("--deadline", flags.deadline, "plan: time limit in hours (0: none)", between(0, 1e6));
  args.option("--budget", flags.budget, "plan: cost limit in US dollars (0: none)",
              between(0, 1e12));
}

void declare_model(Args& args, TransformerFlags& flags) {
  args.option("--layers", flags.layers, "number of layers (default: the model's)");
  args.option("--hidden", flags.hidden, "hidden size");
  args.option("--heads", flags.heads, "attention heads");
  args.option("--kv-heads", flags.kv_heads, "key and value heads");
  args.option("--ffn", flags.ffn, "feed-forward size");
  args.option("--vocab", flags.vocab, "vocabulary size");
  args.option("--experts", flags.experts, "experts per layer");
  args.option("--top-k", flags.top_k, "experts per token");
  args.option("--sequence", flags.sequence, "sequence length in tokens (default: the model's)");
}

void declare_mapping(Args& args, TransformerFlags& flags) {
  transformer::Mapping& mapping = flags.mapping;
  args.option("--workers", mapping.workers, "devices");
  args.option("--tensor", mapping.tensor, "tensor parallel size: devices that split each layer");
  args.option("--pipeline", mapping.pipeline,
              "pipeline parallel size: stages that split the layers");
  args.option("--interleave", mapping.interleave, "virtual stages on each pipeline stage");
  args.option("--context", mapping.context,
              "context parallel size: devices that split each sequence");
  args.option("--expert", mapping.expert,
              "expert parallel size: devices that experts are spread over");
  args.option("--micro-batch", mapping.micro_batch, "sequences that a device computes at a time");
  args.option("--batch", flags.batch, "global batch: sequences per step over all devices");
  args.option("--zero", mapping.zero,
              "what data parallel ranks shard: 0 nothing, 1 optimizer states, 2 also gradients, 3 "
              "also weights");
  args.choice("--recompute", flags.recompute, {"none", "selective", "full"},
              "what the backward pass recomputes");
  args.choice("--optimizer", flags.optimizer, {"adam", "adafactor", "muon", "sgd"},
              "the optimizer, whose states take memory");
  args.choice("--precision", flags.precision, {"fp32", "tf32", "bf16", "fp16", "fp8", "nvfp4"},
              "precision of matrix products");
  args.option("--shard-group", mapping.shard_group,
              "devices in a sharding group (hybrid sharding): each group holds a full copy (0: all "
              "devices)");
  args.option("--lora", mapping.lora,
              "train only LoRA adapters of this rank (0: train all weights)");
  args.choice("--offload", flags.offload, {"none", "optimizer", "activations", "both"},
              "what is offloaded to host memory");
  args.flag("--zero-bubble", mapping.zero_bubble,
            "zero-bubble schedule: compute weight gradients where the pipeline would wait");
  args.flag("--drop-tokens", mapping.drops_tokens, "experts drop tokens above their capacity");
  args.flag("--no-flash", flags.no_flash, "no flash attention: store the attention scores");
  args.flag("--no-sequence-parallel", flags.no_sequence_parallel,
            "no sequence parallelism: tensor parallel ranks repeat the work between split layers");
}

Runner setup_transformer(Args& args) {
  auto flags = std::make_shared<TransformerFlags>();
  args.positional("ACTION", flags->action,
                  "predict: time and memory; memory: memory only; plan: search for the best "
                  "mapping; validate: compare with published rows; models: list known models");
  args.optional_positional("MODEL", flags->model,
                           "a name of 'transformer models', or a config.json of Hugging Face");
  args.option("--device", flags->device, "a device, as h100, b200 or gb200");
  args.option(
      "--stack", flags->stack,
      "software stack, as megatron-core, fsdp or fsdp-compile (default: what matches --zero)");
  args.option("--launch", flags->launch,
              "memory, predict: a launch command for Megatron-LM, DeepSpeed, torchtitan or Hugging "
              "Face Trainer");
  declare_mapping(args, *flags);
  declare_model(args, *flags);
  declare_goal(args, *flags);
  args.option("--plans", flags->plans, "plan: how many plans to show", between(1, 1000));
  args.option("--measurements", flags->measurements,
              "validate: a CSV file of measured rows (default: the catalog's)");
  args.flag("--leave-one-out", flags->leave_out,
            "validate: fit again without each size and each generation of devices");
  args.flag("--fit", flags->fit, "validate: print the fitted factors");
  args.repeated("--catalog", flags->catalogs, "a YAML file that adds to or overrides the catalog");
  args.format(flags->format);
  args.own_flags(
      [flags] { return flags->action; },
      {{{"validate"}, {"measurements", "leave-one-out", "fit"}},
       {{"plan"}, {"plans", "deadline", "budget"}},
       {{"memory", "predict"}, {"launch"}},
       {{"plan", "predict"},
        {"tokens", "target", "price", "mtbf-hours", "checkpoint-seconds", "restart-seconds"}}});
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
        "  trainyard transformer memory --launch 'torchrun --nproc_per_node 8 pretrain_gpt.py …'\n"
        "  trainyard transformer plan mixtral-8x7b --device h100 --workers 64 --batch 256\n"
        "  trainyard transformer plan llama-2-7b --workers 256 --tokens 1e12 --deadline 720\n"
        "  trainyard transformer predict bert-large --device a100 --workers 8 --batch 448 "
        "--target\n"
        "  trainyard transformer validate --leave-one-out\n",
    .setup = setup_transformer,
};

}  // namespace trainyard::cli

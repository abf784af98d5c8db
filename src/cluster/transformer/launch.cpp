#include "cluster/transformer/launch.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "cluster/transformer/model.h"

namespace trainyard::transformer {
namespace {

// "--micro-batch-size 4" is {"micro_batch_size", "4"}, zero_optimization: {stage: 3} of a JSON file
// {"zero_optimization.stage", "3"}; a switch has the value "true".
struct LaunchWord {
  std::string name;
  std::string value;
};

constexpr size_t kLongestLine = 1 << 20;

// As a shell splits them, without variables.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool open = false;
  for (const char c : line) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\';
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (space) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  TY_REQUIRE(quote == 0, "launch: a quote {} is not closed", quote);
  if (open) words.push_back(std::move(word));
  return words;
}

std::string plain_flag(std::string_view flag) {
  std::string name(flag.substr(flag.find_first_not_of('-')));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool is_flag(std::string_view word) {
  // A number below 0 is a value.
  return word.size() > 2 && word.starts_with("--");
}

std::vector<LaunchWord> flags_of(const std::vector<std::string>& words) {
  std::vector<LaunchWord> out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!is_flag(words[i])) continue;
    const size_t equals = words[i].find('=');
    if (equals != std::string::npos) {
      out.push_back({plain_flag(words[i].substr(0, equals)), words[i].substr(equals + 1)});
    } else if (i + 1 < words.size() && !is_flag(words[i + 1])) {
      out.push_back({plain_flag(words[i]), words[i + 1]});
      ++i;
    } else {
      out.push_back({plain_flag(words[i]), "true"});
    }
  }
  return out;
}

void flatten(const Json& json, const std::string& prefix, std::vector<LaunchWord>& out) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.members()) {
      flatten(value, prefix.empty() ? key : prefix + "." + key, out);
    }
    return;
  }
  out.push_back({prefix, json.is_string() ? json.as_string() : json.dump(-1)});
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// What of TOML torchtitan's files need: tables, and keys with a value in one line.
std::vector<LaunchWord> toml_words(std::string_view text, const std::string& origin) {
  std::vector<LaunchWord> out;
  std::string table;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    std::string line = trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[') {
      const size_t end = line.find(']');
      TY_REQUIRE(end != std::string::npos, "{}:{}: a table without ]", origin, number);
      table = trimmed(std::string_view(line).substr(1, end - 1));
      continue;
    }
    const size_t equals = line.find('=');
    TY_REQUIRE(equals != std::string::npos, "{}:{}: expected key = value, found '{}'", origin,
               number, line);
    std::string value = trimmed(std::string_view(line).substr(equals + 1));
    const bool quoted = value.size() > 1 && (value.front() == '"' || value.front() == '\'');
    if (quoted) {
      value = value.substr(1, value.find(value.front(), 1) - 1);
    } else {
      value = trimmed(value.substr(0, value.find('#')));
    }
    const std::string key = trimmed(std::string_view(line).substr(0, equals));
    out.push_back({table.empty() ? key : table + "." + key, value});
  }
  return out;
}

std::optional<std::string> file_of(const std::vector<LaunchWord>& words,
                                   std::initializer_list<std::string_view> names) {
  for (const LaunchWord& word : words) {
    if (std::ranges::find(names, word.name) != names.end() && word.value != "true") {
      return word.value;
    }
  }
  return std::nullopt;
}

// Later ones overrule earlier ones: files come before what stands in the line.
std::vector<LaunchWord> launch_words(std::string_view line,
                                     const std::function<std::string(const std::string&)>& read) {
  TY_REQUIRE(line.size() <= kLongestLine, "launch: longer than {} characters", kLongestLine);
  const std::vector<LaunchWord> flags = flags_of(shell_words(line));
  std::vector<LaunchWord> words;
  if (const auto file = file_of(flags, {"deepspeed", "deepspeed_config"})) {
    flatten(Json::parse(read(*file), *file), "", words);
  }
  if (const auto file = file_of(flags, {"job.config_file"})) {
    const std::vector<LaunchWord> toml = toml_words(read(*file), *file);
    words.insert(words.end(), toml.begin(), toml.end());
  }
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

// So that products of three of them can be formed.
constexpr int64_t kLargest = 1 << 20;

int64_t number_in(const LaunchWord& word, int64_t most = kLargest) {
  const std::optional<int64_t> number = parse_number<int64_t>(word.value);
  TY_REQUIRE(number && *number >= -1 && *number <= most,
             "launch: {} is '{}', expected a whole number of at most {}; write out what variables "
             "hold",
             word.name, word.value, most);
  return *number;
}

bool is_on(const LaunchWord& word) {
  return word.value == "true" || word.value == "True" || word.value == "1";
}

// What a line says before it is known what it means together.
struct Draft {
  Launch launch;
  int64_t per_host = 0;
  int64_t hosts = 1;
  int64_t global_batch = 0;
  int64_t accumulation = 1;
  int64_t layers_per_part = 0;
  int64_t shard_degree = 0;
  std::string family;  // of torchtitan: "llama3" and "8B"
  std::string flavor;
  bool grouped = false;
  bool untied = false;
  bool is_megatron = false;

  Mapping& mapping() { return launch.mapping; }
  Transformer& sizes() { return launch.sizes; }
};

using Set = void (*)(Draft&, const LaunchWord&);

template <int64_t Mapping::*Member>
void set_mapping(Draft& draft, const LaunchWord& word) {
  draft.mapping().*Member = number_in(word);
}
template <int64_t Transformer::*Member>
void set_size(Draft& draft, const LaunchWord& word) {
  draft.sizes().*Member = number_in(word, kWidest);
}
template <int64_t Draft::*Member>
void set_draft(Draft& draft, const LaunchWord& word) {
  draft.*Member = number_in(word);
}
template <Number number>
void set_number(Draft& draft, const LaunchWord& word) {
  if (is_on(word)) draft.mapping().number = number;
}

void set_recompute(Draft& draft, const LaunchWord& word) {
  const bool full = word.value == "full" || is_on(word);
  draft.mapping().recompute = full                        ? Recompute::kFull
                              : word.value == "selective" ? Recompute::kSelective
                                                          : Recompute::kNone;
}

void set_offload(Draft& draft, const LaunchWord& word) {
  if (word.value == "cpu" || is_on(word)) draft.mapping().offload = Offload::kOptimizer;
}

void set_fsdp(Draft& draft, const LaunchWord& word) {
  draft.mapping().zero = word.value.find("shard_grad_op") != std::string::npos ? 2 : 3;
  if (word.value.find("hybrid") != std::string::npos) draft.mapping().shard_group = -1;
}

void set_optimizer(Draft& draft, const LaunchWord& word) {
  for (const Optimizer optimizer : {Optimizer::kAdafactor, Optimizer::kMuon, Optimizer::kSgd}) {
    if (word.value.find(optimizer_name(optimizer)) != std::string::npos) {
      draft.mapping().optimizer = optimizer;
    }
  }
}

// Megatron-LM.
const std::map<std::string, Set, std::less<>>& megatron_settings() {
  static const std::map<std::string, Set, std::less<>> settings = {
      {"tensor_model_parallel_size", set_mapping<&Mapping::tensor>},
      {"pipeline_model_parallel_size", set_mapping<&Mapping::pipeline>},
      {"num_virtual_stages_per_pipeline_rank", set_mapping<&Mapping::interleave>},
      {"num_layers_per_virtual_pipeline_stage", set_draft<&Draft::layers_per_part>},
      {"context_parallel_size", set_mapping<&Mapping::context>},
      {"expert_model_parallel_size", set_mapping<&Mapping::expert>},
      {"micro_batch_size", set_mapping<&Mapping::micro_batch>},
      {"global_batch_size", set_draft<&Draft::global_batch>},
      {"seq_length", set_mapping<&Mapping::sequence>},
      {"num_layers", set_size<&Transformer::layers>},
      {"hidden_size", set_size<&Transformer::hidden>},
      {"num_attention_heads", set_size<&Transformer::heads>},
      {"num_query_groups", set_size<&Transformer::kv_heads>},
      {"kv_channels", set_size<&Transformer::head_size>},
      {"ffn_hidden_size", set_size<&Transformer::ffn>},
      {"vocab_size", set_size<&Transformer::vocab>},
      {"padded_vocab_size", set_size<&Transformer::vocab>},
      {"num_experts", set_size<&Transformer::experts>},
      {"moe_router_topk", set_size<&Transformer::top_k>},
      {"moe_ffn_hidden_size", set_size<&Transformer::expert_ffn>},
      {"moe_shared_expert_intermediate_size", set_size<&Transformer::shared_ffn>},
      {"group_query_attention",
       [](Draft& draft, const LaunchWord& word) { draft.grouped = is_on(word); }},
      {"swiglu", [](Draft& draft, const LaunchWord& word) { draft.sizes().gated = is_on(word); }},
      {"normalization",
       [](Draft& draft, const LaunchWord& word) {
         draft.sizes().rms_norm = word.value == "RMSNorm";
       }},
      {"disable_bias_linear",
       [](Draft& draft, const LaunchWord& word) {
         draft.sizes().bias = draft.sizes().qkv_bias = !is_on(word);
       }},
      {"untie_embeddings_and_output_weights",
       [](Draft& draft, const LaunchWord& word) { draft.untied = is_on(word); }},
      {"use_distributed_optimizer",
       [](Draft& draft, const LaunchWord& word) { draft.mapping().zero = is_on(word) ? 1 : 0; }},
      {"sequence_parallel",
       [](Draft& draft, const LaunchWord& word) {
         draft.mapping().sequence_parallel = is_on(word);
       }},
      {"recompute_granularity", set_recompute},
      {"recompute_activations",
       [](Draft& draft, const LaunchWord&) { draft.mapping().recompute = Recompute::kSelective; }},
      {"optimizer", set_optimizer},
      {"optimizer_cpu_offload", set_offload},
      {"fp8_format",
       [](Draft& draft, const LaunchWord&) { draft.mapping().number = Number::kFp8; }}};
  return settings;
}

// Hugging Face's Trainer, DeepSpeed, torchtitan and torchrun.
const std::map<std::string, Set, std::less<>>& other_settings() {
  static const std::map<std::string, Set, std::less<>> settings = {
      {"nproc_per_node", set_draft<&Draft::per_host>},
      {"nnodes", set_draft<&Draft::hosts>},
      {"num_gpus", set_draft<&Draft::per_host>},
      {"num_nodes", set_draft<&Draft::hosts>},
      {"bf16", set_number<Number::kHalf>},
      {"fp16", set_number<Number::kHalf>},
      {"bf16.enabled", set_number<Number::kHalf>},
      {"fp16.enabled", set_number<Number::kHalf>},
      {"model_name_or_path",
       [](Draft& draft, const LaunchWord& word) { draft.launch.model = word.value; }},
      {"per_device_train_batch_size", set_mapping<&Mapping::micro_batch>},
      {"train_micro_batch_size_per_gpu", set_mapping<&Mapping::micro_batch>},
      {"training.local_batch_size", set_mapping<&Mapping::micro_batch>},
      {"training.batch_size", set_mapping<&Mapping::micro_batch>},
      {"training.global_batch_size", set_draft<&Draft::global_batch>},
      {"train_batch_size", set_draft<&Draft::global_batch>},
      {"gradient_accumulation_steps", set_draft<&Draft::accumulation>},
      {"max_seq_length", set_mapping<&Mapping::sequence>},
      {"block_size", set_mapping<&Mapping::sequence>},
      {"model_max_length", set_mapping<&Mapping::sequence>},
      {"training.seq_len", set_mapping<&Mapping::sequence>},
      {"gradient_checkpointing", set_recompute},
      {"activation_checkpoint.mode", set_recompute},
      {"fsdp", set_fsdp},
      {"optim", set_optimizer},
      {"lora_r", set_mapping<&Mapping::lora>},
      {"zero_optimization.stage", set_mapping<&Mapping::zero>},
      {"zero_optimization.offload_optimizer.device", set_offload},
      {"model.name", [](Draft& draft, const LaunchWord& word) { draft.family = word.value; }},
      {"model.flavor", [](Draft& draft, const LaunchWord& word) { draft.flavor = word.value; }},
      {"model.converters",
       [](Draft& draft, const LaunchWord& word) {
         if (word.value.find("float8") != std::string::npos) {
           draft.mapping().number = Number::kFp8;
         }
       }},
      {"parallelism.tensor_parallel_degree", set_mapping<&Mapping::tensor>},
      {"parallelism.pipeline_parallel_degree", set_mapping<&Mapping::pipeline>},
      {"parallelism.context_parallel_degree", set_mapping<&Mapping::context>},
      {"parallelism.expert_parallel_degree", set_mapping<&Mapping::expert>},
      {"parallelism.data_parallel_shard_degree", set_draft<&Draft::shard_degree>}};
  return settings;
}

bool apply(Draft& draft, const LaunchWord& word) {
  for (const auto* settings : {&megatron_settings(), &other_settings()}) {
    const auto found = settings->find(word.name);
    if (found == settings->end()) continue;
    found->second(draft, word);
    draft.is_megatron |= settings == &megatron_settings() && word.name != "optimizer";
    return true;
  }
  return false;
}

// What is usual in the software that the line is of, before it says anything else.
Draft draft_for(const std::vector<LaunchWord>& words) {
  Draft draft;
  const auto has = [&words](std::string_view name) {
    for (const LaunchWord& word : words) {
      if (word.name.starts_with(name)) return true;
    }
    return false;
  };
  const bool titan = has("parallelism.") || has("job.config_file") || has("training.");
  draft.mapping().zero = titan ? 3 : 0;
  draft.mapping().sequence_parallel = titan;
  draft.sizes().bias = draft.sizes().qkv_bias = true;
  draft.sizes().name = "the launch line's model";
  return draft;
}

void finish_workers(Draft& draft) {
  Mapping& mapping = draft.mapping();
  TY_REQUIRE(draft.hosts >= 1 && draft.per_host >= 0, "launch: nnodes and nproc_per_node below 1");
  if (draft.per_host > 0) mapping.workers = draft.per_host * draft.hosts;
  TY_REQUIRE(mapping.workers <= kLargest, "launch: {} devices, expected at most {}",
             mapping.workers, kLargest);
  if (draft.shard_degree > 0) mapping.shard_group = draft.shard_degree;
  // Hybrid sharding shares out within a host.
  if (mapping.shard_group < 0) mapping.shard_group = std::max<int64_t>(draft.per_host, 1);
  if (draft.layers_per_part > 0 && mapping.pipeline > 0) {
    mapping.interleave =
        std::max<int64_t>(draft.sizes().layers / mapping.pipeline / draft.layers_per_part, 1);
  }
  const int64_t group = mapping.tensor * mapping.pipeline * mapping.context;
  TY_REQUIRE(group >= 1 && mapping.micro_batch >= 1, "launch: sizes of groups below 1");
  const int64_t data = std::max<int64_t>(mapping.workers / group, 1);
  mapping.batch = draft.global_batch > 0
                      ? draft.global_batch
                      : mapping.micro_batch * data * std::max<int64_t>(draft.accumulation, 1);
}

}  // namespace

Launch read_launch(std::string_view line,
                   const std::function<std::string(const std::string&)>& read) {
  const std::vector<LaunchWord> words = launch_words(line, read);
  Draft draft = draft_for(words);
  for (const LaunchWord& word : words) {
    (apply(draft, word) ? draft.launch.used : draft.launch.ignored).push_back(word.name);
  }
  TY_REQUIRE(!draft.launch.used.empty(),
             "launch: no setting of Megatron-LM, DeepSpeed, torchtitan or the Trainer of Hugging "
             "Face in '{}'",
             line.substr(0, 80));
  if (!draft.grouped) draft.sizes().kv_heads = 0;
  draft.sizes().tied = !draft.untied;
  if (!draft.flavor.empty()) draft.launch.model = draft.family + "-" + draft.flavor;
  finish_workers(draft);
  return std::move(draft.launch);
}

}  // namespace trainyard::transformer

// `trainyard generate RUN`: a language model goes on with a text.
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/stopwatch.h"
#include "data/numbers.h"
#include "data/text/token_set.h"
#include "data/text/token_text.h"
#include "models/network.h"
#include "program/command.h"
#include "program/tokenizer_file.h"
#include "train/execution_view.h"
#include "train/token_sampler.h"

namespace trainyard::cli {
namespace {

constexpr int64_t kMostTokens = 1'000'000;
constexpr int64_t kMostSamples = 1000;
constexpr double kHottest = 100;

struct GenerateFlags {
  std::string model;
  std::string prompt;
  int64_t tokens = 200;
  int64_t samples = 1;
  int64_t seed = 1;
  int64_t threads = 0;
  train::SamplingOptions sampling = {.temperature = 0.8};
  report::Format format = report::Format::kText;
};

// What stands where no prompt does: the token that opens a document, if there is one.
std::vector<int64_t> first_tokens(const onnx_io::Metadata& metadata) {
  const auto found = metadata.find(onnx_io::kEndOfTextKey);
  if (found == metadata.end()) return {0};
  return {data::parse_whole(found->second, 0, INT32_MAX, "the end of texts that the model names")};
}

int generate_command(const GenerateFlags& flags, std::ostream& out) {
  train::TokenSampler sampler(network::load({.model = flags.model, .batch = 1}),
                              resolve_threads(flags.threads));
  const onnx_io::Metadata metadata = network::metadata_of(flags.model);
  const data::TokenText text(tokenizer_of(flags.model, metadata));
  std::vector<int64_t> prompt = text.encode(flags.prompt);
  if (prompt.empty()) prompt = first_tokens(metadata);
  report::Document document;
  document.title = fmt::format("Written by {}", network::label(flags.model));
  Json samples = Json::array();
  const Stopwatch watch;
  for (int64_t i = 0; i < flags.samples; ++i) {
    train::SamplingOptions options = flags.sampling;
    options.seed = static_cast<uint64_t>(flags.seed + i);
    const std::vector<int64_t> written = sampler.follow(prompt, flags.tokens, options);
    const std::string words = printable(text.decode(written));
    document.blocks.emplace_back(
        report::Paragraph{text.knows_text() ? printable(flags.prompt) + words : words});
    Json sample = Json::object({{"tokens", Json::array_of(written)}});
    if (text.knows_text()) sample["text"] = words;
    samples.push_back(std::move(sample));
  }
  const double speed =
      static_cast<double>(flags.samples * flags.tokens) / std::max(watch.seconds(), 1e-9);
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{} tokens at {:.1f} tokens/s, each with the whole row of {} computed again.",
                  flags.samples * flags.tokens, speed, sampler.length())});
  document.data["prompt"] = Json::array_of(prompt);
  document.data["samples"] = std::move(samples);
  document.data["tokens_per_s"] = speed;
  out << report::render(document, flags.format);
  return 0;
}

Runner setup_generate(Args& args) {
  auto flags = std::make_shared<GenerateFlags>();
  args.positional("RUN", flags->model,
                  "the directory of a run, or an .onnx file of a language model");
  args.option("--prompt", flags->prompt,
              "text to continue, or tokens (3,14,15) if the run has no tokenizer");
  args.option("--tokens", flags->tokens, "number of tokens to generate", between(1, kMostTokens));
  args.option("--samples", flags->samples, "number of texts, each with its own random seed",
              between(1, kMostSamples));
  args.option("--temperature", flags->sampling.temperature,
              "sampling temperature; 0: always take the most likely token", between(0, kHottest));
  args.option("--top-k", flags->sampling.top_k,
              "sample from this many most likely tokens; 0: from all", between(0, kMostTokens));
  args.option("--seed", flags->seed, "random seed for sampling", at_least(0));
  args.option("--threads", flags->threads, "threads; 0: all cores");
  args.format(flags->format);
  return [flags](std::ostream& out) { return generate_command(*flags, out); };
}

}  // namespace

extern const Command kGenerate = {
    .name = "generate",
    .group = "Train",
    .summary = "Generate text with a trained language model",
    .examples =
        "  trainyard generate runs/bible --prompt \"In the beginning\" --tokens 300\n"
        "  trainyard generate runs/bible --temperature 0 --json\n"
        "  trainyard generate runs/numbers --prompt 3,14,15 --top-k 40 --samples 3\n",
    .setup = setup_generate,
};

}  // namespace trainyard::cli

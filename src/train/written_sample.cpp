#include "train/written_sample.h"

#include "data/text/token_text.h"
#include "train/token_sampler.h"
#include "train/training_network.h"

namespace trainyard::train {
namespace {

constexpr int64_t kPromptTokens = 16;
constexpr double kMostSeconds = 10;
constexpr double kWarmth = 0.8;

// The same network for one row.
Graph for_one_row(const TrainConfig& config, const data::Dataset& training, const Graph& trained) {
  Graph one = build_training_network(config, training, 1);
  for (const ValueId id : one.initializers()) {
    const ValueId from = trained.find_value(one.value(id).name);
    if (from.valid()) one.mutable_value(id).constant = trained.value(from).constant;
  }
  return one;
}

}  // namespace

std::function<std::string(const Graph& trained)> sample_writer(const TrainConfig& config,
                                                               const data::Dataset& training) {
  return [&config, &training](const Graph& trained) {
    const data::TokenFacts& facts = *training.tokens();
    const auto length = static_cast<size_t>(facts.length);
    std::vector<int64_t> row(length);
    std::vector<int64_t> next(length);
    training.read_tokens(0, row, next);
    row.resize(static_cast<size_t>(std::min<int64_t>(kPromptTokens, (facts.length + 1) / 2)));
    TokenSampler sampler(for_one_row(config, training, trained), static_cast<int>(config.threads));
    const std::vector<int64_t> written = sampler.follow(row, config.sample_tokens,
                                                        {.temperature = kWarmth,
                                                         .seed = static_cast<uint64_t>(config.seed),
                                                         .seconds = kMostSeconds});
    row.insert(row.end(), written.begin(), written.end());
    return data::TokenText(facts).decode(row);
  };
}

}  // namespace trainyard::train

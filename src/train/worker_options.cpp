#include "train/worker_options.h"

#include "base/text.h"
#include "data/class_balance.h"
#include "data/sampler.h"

namespace trainyard::train {

int64_t own_batch(const TrainConfig& config, const WorkerIdentity& place) {
  return data::share_of(config.batch, place.rank, place.workers);
}

int64_t copies_at_once(const TrainConfig& config) {
  return config.copies_at_once > 0 ? config.copies_at_once : config.batch_augment;
}

int64_t passes_of_step(const TrainConfig& config) {
  return config.batch_augment / copies_at_once(config);
}

// What workers must have in common.
std::vector<std::string> common_facts(const TrainConfig& config, const Graph& model,
                                      const data::Dataset& training, std::string_view version) {
  std::vector<std::string> facts = {fmt::format("version: {}", version)};
  TrainConfig copy = config;
  for (const std::string& line : settings_of(copy).lines()) facts.push_back(line);
  facts.push_back(fmt::format("training images: {}", training.size()));
  for (const NodeId id : model.node_ids()) {
    facts.push_back(fmt::format("node {}: {}", model.node(id).name, model.node(id).op));
  }
  for (const ValueId id : model.initializers()) {
    const Value& value = model.value(id);
    facts.push_back(fmt::format("{}: {}", value.name, value.type.to_string()));
  }
  return facts;
}

StepOptions step_options(const TrainConfig& config, const WorkerIdentity& place,
                         Objective objective) {
  StepOptions options;
  options.threads = place.threads;
  options.device = place.device;
  options.precision = kernels::precision_named(config.precision);
  options.seed = static_cast<uint64_t>(config.seed);
  TrainingOptions& training = options.training;
  if (place.workers > 1) {
    options.exchange = place.exchange;
    training.first_image = config.batch * place.rank / place.workers * copies_at_once(config);
    training.share =
        static_cast<double>(own_batch(config, place)) / static_cast<double>(config.batch);
    if (config.sync_bn) training.sync_images = config.batch * copies_at_once(config);
    training.bucket_bytes = static_cast<int64_t>(config.bucket_mb * 1024 * 1024);
  }
  training.on_host = place.device == nullptr;
  training.accumulate = config.accumulate * passes_of_step(config);
  training.objective = std::move(objective);
  if (!config.freeze.empty()) training.frozen = split(config.freeze, ',');
  training.keep_statistics = config.freeze_statistics;
  if (!config.recompute.empty()) training.recompute = split(config.recompute, ',');
  OptimizerOptions& optimizer = training.optimizer;
  optimizer.kind = config.optimizer;
  optimizer.momentum = config.momentum;
  optimizer.nesterov = config.nesterov;
  optimizer.weight_decay = config.weight_decay;
  optimizer.decay_all = config.decay_all;
  optimizer.clip_norm = config.clip_norm;
  optimizer.clip_value = config.clip_value;
  optimizer.report_norm = true;
  training.average = config.ema > 0 || config.swa > 0;
  optimizer.rate_shares = parse_rate_shares(config.rate_shares);
  return options;
}

data::LoaderOptions training_loader(const TrainConfig& config, const WorkerIdentity& place,
                                    const data::Dataset& training) {
  data::LoaderOptions options;
  options.batch = own_batch(config, place);
  options.rank = place.rank;
  options.world = place.workers;
  options.round = config.batch;
  options.freeze_epoch = config.freeze_epoch_seed;
  options.shuffle = true;
  options.seed = static_cast<uint64_t>(config.seed);
  options.workers = config.data_workers;
  options.augmentations = config.augment;
  options.drop_last = true;
  options.mixing = {.mixup = config.mixup, .cutmix = config.cutmix};
  options.copies = config.batch_augment;
  options.copies_at_once = config.copies_at_once;
  options.mask_tokens = config.loss == kMaskedToken;
  options.groups = data::balanced_groups(training, data::parse_balance(config.resample));
  return options;
}

data::LoaderOptions test_loader(const TrainConfig& config, const WorkerIdentity& place,
                                const data::Augmentations& training) {
  data::LoaderOptions options;
  options.batch = own_batch(config, place) * copies_at_once(config);
  options.rank = place.rank;
  options.world = place.workers;
  // Where the batch does not divide evenly, some places stay empty.
  options.round = config.batch / place.workers * place.workers * copies_at_once(config);
  options.workers = config.data_workers;
  options.augmentations = training.evaluation_text();
  options.mask_tokens = config.loss == kMaskedToken;
  return options;
}

}  // namespace trainyard::train

#include "train/train_config.h"

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/within.h"
#include "data/class_balance.h"
#include "data/mixing.h"
#include "dist/all_reduce.h"
#include "train/class_weights.h"
#include "train/objective.h"
#include "train/schedule.h"
#include "train/servers/parameter_server.h"
#include "train/sharding.h"

namespace trainyard::train {
namespace {

constexpr double kMostBucketMb = 16384;
// See docs/limits.md.
constexpr int64_t kMostEpochs = 1'000'000;
constexpr int64_t kMostSteps = int64_t{1} << 40U;
constexpr int64_t kLargestBatch = int64_t{1} << 24U;
constexpr int64_t kMostWorkers = 1024;
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostClasses = 1'000'000;
constexpr int64_t kLargestImage = 8192;
constexpr int64_t kLongestRow = int64_t{1} << 20U;
constexpr int64_t kLargestSize = int64_t{1} << 20U;
constexpr double kMostRateShare = 1000;
constexpr int64_t kMostCopies = 1024;
constexpr double kSteepestTail = 10;
constexpr double kMostFocus = 100;
constexpr double kLargestRate = 1e6;  // of learning, decay and weights of losses
constexpr double kLongestWait = 1e6;  // seconds
constexpr double kSoftest = 1e6;      // of temperature and delta, and 1 / it at least

// The second half of add_deciding.
void add_loss_and_workers(Settings& settings, TrainConfig& c) {
  settings.group("Loss");
  settings.add("loss", &c.loss,
               "the loss: cross-entropy, soft-cross-entropy, focal, kl, bce, mse, huber or "
               "smooth-l1; of texts next-token (unless told otherwise), masked-token or span");
  settings.add("class_weights", &c.class_weights,
               "class weights for cross-entropy, soft-cross-entropy and focal: balanced (by "
               "frequency), or a number for each class, separated by commas");
  settings.add("focus", &c.focus, "gamma of the focal loss; 0 is cross-entropy",
               Range{.least = 1, .most = kMostFocus, .or_else = 0});
  settings.add("delta", &c.delta, "point where huber and smooth-l1 become linear",
               between(1 / kSoftest, kSoftest));
  settings.add("temperature", &c.temperature, "temperature of kl: softens scores and targets",
               between(1 / kSoftest, kSoftest));
  settings.add("label_smoothing", &c.label_smoothing,
               "label smoothing: share of a label spread over all classes", below(0, 1));
  settings.add(
      "auxiliary_weight", &c.auxiliary_weight,
      "of the losses of auxiliary outputs; of the balance of experts 0.01 unless told otherwise",
      between(0, kLargestRate));
  settings.group("Workers and servers");
  settings.add("sync_bn", &c.sync_bn, "synchronize batch normalization over all workers");
  settings.add("servers", &c.servers,
               "parameter servers that hold the weights; 0: all-reduce among workers",
               between(0, kMostWorkers));
  settings.add("sync", &c.sync,
               "with servers: sync (mean over workers), async (each gradient as it arrives), ssp "
               "(async within a bound)");
  settings.add("staleness_bound", &c.staleness_bound,
               "ssp: gradients that a worker may be ahead of the slowest");
  settings.add("staleness_aware", &c.staleness_aware,
               "with servers: divide the learning rate by the staleness of the gradient");
  settings.add(
      "shard", &c.shard,
      "with servers: how parameters are assigned to servers: even, hash or paa (from Optimus)");
  settings.group("Repeatability");
  settings.add("seed", &c.seed, "random seed for weights, order, augmentation and dropout",
               at_least(0));
  settings.add("freeze_epoch_seed", &c.freeze_epoch_seed,
               "repeat the order of the first epoch, to show why a sampler needs the epoch");
}

// A part of add_deciding.
void add_parameters(Settings& settings, TrainConfig& c) {
  settings.group("Parameters");
  settings.add("weights", &c.weights, "start from the parameters in this safetensors file");
  settings.add("priors", &c.priors,
               "shapes a detector starts from: ssd, fitted (to the training boxes) or a list of "
               "them; auto: those of the starting weights, else ssd");
  settings.add("freeze", &c.freeze,
               "freeze parameters whose names begin with these, separated by commas");
  settings.add("freeze_statistics", &c.freeze_statistics,
               "normalization uses its running statistics, not those of the batch");
  settings.add("rate_shares", &c.rate_shares,
               "learning rate factors for parameters whose names begin with NAME: NAME=0.1,...");
  settings.choice("precision", &c.precision, {"f32", "bf16"},
                  "of the products of linear layers; parameters, sums and updates are f32. bf16 "
                  "asks for a processor with AVX512-BF16");
  settings.add("recompute", &c.recompute,
               "recompute these blocks in the backward pass to save memory; node name prefixes");
}

// The part of add_deciding about updates.
void add_optimization(Settings& settings, TrainConfig& c) {
  settings.group("Optimization");
  settings.add("batch", &c.batch, "global batch: images per step over all workers",
               between(1, kLargestBatch));
  settings.add("accumulate", &c.accumulate, "gradient accumulation: steps per update",
               between(1, kLargestBatch));
  settings.add("optimizer", &c.optimizer,
               "sgd, adam, adamw, rmsprop, adagrad, lars, lion, lamb, muon or adafactor");
  settings.add("learning_rate", &c.learning_rate, "initial learning rate of the schedule",
               above(0, kLargestRate));
  settings.add("base_batch", &c.base_batch,
               "batch size that the learning rate is for: the rate scales linearly with the batch; "
               "0: no scaling",
               between(0, kLargestBatch));
  settings.add("schedule", &c.schedule,
               "constant, step:N, multistep:A,B, cosine, polynomial, onecycle, wsd; ;warmup=E");
  settings.add("momentum", &c.momentum, "momentum of sgd, lars and muon", below(0, 1));
  settings.add("nesterov", &c.nesterov, "use Nesterov momentum");
  settings.add(
      "weight_decay", &c.weight_decay,
      "weight decay: each update shrinks the parameters by this share of the learning rate",
      between(0, kLargestRate));
  settings.add("decay_all", &c.decay_all, "biases and normalization parameters decay too");
  settings.add("clip_norm", &c.clip_norm, "clip gradients to this global norm; 0: off",
               at_least(0));
  settings.add("clip_value", &c.clip_value,
               "clip each gradient value to this size, after `clip_norm`; 0: off", at_least(0));
  settings.add("ema", &c.ema,
               "test and export an exponential moving average of the weights with this decay, such "
               "as 0.999; 0: the weights themselves",
               below(0, 1));
  settings.add("swa", &c.swa,
               "test and export the mean of the weights after all updates from this epoch on "
               "(from 1); 0: the weights themselves",
               between(0, kMostEpochs));
}

// Settings that came after the first runs were written, which go on as they began.
constexpr std::string_view kLaterSettings[] = {
    "val_split", "mixup", "cutmix",  "class_weights", "focus",    "clip_value",
    "ema",       "swa",   "length",  "layers",        "hidden",   "kv_heads",
    "heads",     "inner", "experts", "active",        "precision"};

// The fields that config_hash and require_same_course compare. A new setting that changes the
// weights a run ends with belongs here, any other in add_others.
void add_deciding(Settings& settings, TrainConfig& c) {
  settings.group("Network and data");
  settings.add("model", &c.model,
               "a name of 'trainyard models', a path to an .onnx file, or a run directory");
  settings.add("data", &c.data, "the data set; see 'trainyard data --help'");
  settings.add("augment", &c.augment, "steps from picture to input, such as crop:4,flip,normalize");
  settings.add("skip_bad_files", &c.skip_bad_files,
               "leave out files that cannot be read, and list them in skipped.txt");
  settings.add("mixup", &c.mixup,
               "mixup: blend each training image and its class with another, with a share drawn "
               "from Beta(mixup, mixup); 0: off",
               between(0, data::kMostMixing));
  settings.add("cutmix", &c.cutmix,
               "CutMix: paste a part of another training image and blend the classes by its area, "
               "drawn from Beta(cutmix, cutmix); with mixup, one of the two is drawn; 0: off",
               between(0, data::kMostMixing));
  settings.add(
      "batch_augment", &c.batch_augment,
      "augmented copies of each image in a batch, so a step has this many times `batch` images",
      between(1, kMostCopies));
  settings.add("copies_at_once", &c.copies_at_once,
               "copies of `batch_augment` per pass; gradients of the passes are summed; 0: as many "
               "as memory holds");
  settings.add("val_split", &c.val_split,
               "share of each class held out of the training set for testing; 0: the data's own "
               "test split, or 0.1 where there is none",
               Range{.least = 0, .most = 1, .without_most = true, .note = "0.1 is 10 %"});
  settings.add("train_samples", &c.train_samples,
               "train on this many images, with the same share of each class; 0: all",
               between(0, kMostSteps));
  settings.add("test_samples", &c.test_samples, "test on this many images; 0: all",
               between(0, kMostSteps));
  settings.add(
      "long_tail", &c.long_tail,
      "long-tailed classes: keep r^-X of the training images of the r-th class; 0: keep all",
      between(0, kSteepestTail));
  settings.add("label_noise", &c.label_noise,
               "share of training labels replaced by other classes, drawn by their frequency",
               Range{.least = 0, .most = 1, .note = "0.2 is 20 %"});
  settings.add("resample", &c.resample,
               "how often an epoch samples a class: natural (by frequency), sqrt (by its square "
               "root) or uniform");
  settings.add("data_seed", &c.data_seed, "random seed for choosing images and replacing labels",
               at_least(0));
  settings.add("classes", &c.classes, "classes of a built-in network; 0: those of the data",
               between(0, kMostClasses));
  settings.add("image", &c.image,
               "height and width of a built-in network's input; 0: those of the data",
               between(0, kLargestImage));
  settings.add("width", &c.width, "width multiplier for a built-in network");
  settings.add("length", &c.length, "sequence length in tokens; 0: the data set's, or 256",
               between(0, kLongestRow));
  const Range sizes = between(0, kLargestSize);
  settings.add("layers", &c.layers, "layers of a built-in transformer; 0: its own", sizes);
  settings.add("hidden", &c.hidden, "hidden size of a built-in transformer; 0: its own", sizes);
  settings.add("heads", &c.heads, "attention heads of a built-in transformer; 0: its own", sizes);
  settings.add("kv_heads", &c.kv_heads, "key and value heads, shared by query heads; 0: its own",
               sizes);
  settings.add("inner", &c.inner, "feed-forward size of a built-in transformer; 0: its own", sizes);
  settings.add("experts", &c.experts, "... experts of a layer, of llama-moe", sizes);
  settings.add("active", &c.active, "... experts that work for each token", sizes);
  settings.add("dropout", &c.dropout, "dropout probability; -1: the network's own",
               Range{.least = 0,
                     .most = 1,
                     .without_most = true,
                     .or_else = -1,
                     .note = "-1: the network's own"});
  add_parameters(settings, c);
  add_optimization(settings, c);
  add_loss_and_workers(settings, c);
}

// How a run is carried out and when it ends.
void add_others(Settings& settings, TrainConfig& c) {
  settings.group("Running");
  settings.add("epochs", &c.epochs, "passes over the data; a run may be resumed with more",
               between(1, kMostEpochs));
  settings.add("device", &c.device,
               "where steps are computed: cpu (our own engine), or through libtorch torch:cpu, "
               "torch:cuda (a GPU for each worker) or torch:cuda:N; see docs/gpu.md");
  settings.add("threads", &c.threads, "threads per worker; 0: all cores, shared among workers",
               between(0, kMostThreads));
  settings.add("workers", &c.workers, "data parallel worker processes that share each batch",
               between(1, kMostWorkers));
  settings.add("all_reduce", &c.all_reduce, "how gradients are summed; see 'trainyard allreduce'");
  settings.add("bucket_mb", &c.bucket_mb, "bucket size in MiB for gradient exchange",
               above(0, kMostBucketMb));
  settings.add("no_overlap", &c.no_overlap, "sum gradients after the backward pass, not during it");
  settings.add("broadcast_buffers", &c.broadcast_buffers,
               "copy rank 0's running statistics to all workers after each epoch");
  settings.add("test_each_worker", &c.test_each_worker,
               "test the network of every worker, each with its own running statistics");
  settings.add("stall_warning", &c.stall_warning,
               "name a worker that others wait for after this many seconds; 0: never",
               between(0, kLongestWait));
  settings.add("wait_limit", &c.wait_limit, "seconds after which a wait for a worker fails",
               above(0, kLongestWait));
  settings.add("memory", &c.memory,
               "memory limit of a training step, such as 2G: blocks are recomputed in the backward "
               "pass until the step fits; the numbers stay the same (default: no limit)");
  settings.add("data_workers", &c.data_workers, "threads that prepare batches",
               between(0, kMostThreads));
  settings.add("slow", &c.slow, "with servers: slow workers down, as 1:2.5");
  settings.add("max_steps", &c.max_steps, "stop after this many steps; 0: no limit",
               between(0, kMostSteps));
  settings.add("sample_tokens", &c.sample_tokens,
               "tokens that a language model writes as a sample after each epoch; 0: none",
               between(0, kLongestRow));
  settings.add("stop_epoch", &c.stop_epoch,
               "stop after this epoch, with the schedule of the whole run; resume to continue; 0: "
               "after the last",
               between(0, kMostEpochs));
  settings.add("target_accuracy", &c.target_accuracy, "stop at this test accuracy",
               Range{.least = 0, .most = 1, .note = "0.9 is 90 %"});
  settings.add("patience", &c.patience,
               "early stopping: epochs without a better test score; 0: never",
               between(0, kMostEpochs));
  settings.choice(
      "export", &c.export_weights, {"last", "best"},
      "weights exported at the end: of the last epoch, or of the epoch with the best test score");
  settings.add("checkpoint_every", &c.checkpoint_every,
               "steps between checkpoints; 0: after each epoch", between(0, kMostSteps));
  settings.add(
      "histograms", &c.histograms,
      "after each epoch, how parameters and optimizer state are spread, and in its last step "
      "activations and gradients: for `trainyard ui` and TensorBoard");
  settings.add("keep_checkpoints", &c.keep_checkpoints, "number of recent checkpoints to keep",
               between(1, kMostSteps));
}

void check_memory(const TrainConfig& config) {
  if (config.memory.empty()) return;
  parse_bytes(config.memory, "memory");
  TY_REQUIRE(config.recompute.empty(),
             "memory chooses what is recomputed, and recompute names it; set one");
  TY_REQUIRE(config.device == "cpu" && config.servers == 0,
             "memory limits steps on the processors and workers that sum among themselves, not "
             "devices or parameter servers");
}

}  // namespace

Settings settings_of(TrainConfig& config) {
  Settings settings;
  add_deciding(settings, config);
  add_others(settings, config);
  return settings;
}

// Runs before any data is read, so that a typing error costs no time. NaN fails every comparison
// below and is refused.
void check(const TrainConfig& config) {
  // A copy because settings point to fields that may be written.
  TrainConfig copy = config;
  settings_of(copy).check();
  require_within<int64_t>("copies_at_once", config.copies_at_once, 0, config.batch_augment);
  TY_REQUIRE(config.copies_at_once == 0 || config.batch_augment % config.copies_at_once == 0,
             "copies_at_once is {}, expected a number that divides the {} copies",
             config.copies_at_once, config.batch_augment);
  TY_REQUIRE(config.batch_augment == 1 || config.servers == 0,
             "batch_augment is for workers that sum among themselves, not for parameter servers");
  // Parsed for their errors only; each is parsed again where it is used.
  data::parse_balance(config.resample);
  dist::find_all_reduce(config.all_reduce);
  TY_REQUIRE(config.batch >= config.workers, "a batch of {} cannot be shared by {} workers",
             config.batch, config.workers);
  parse_rate_shares(config.rate_shares);
  make_objective(config.loss);
  parse_schedule(config.schedule);
  parse_shard_rule(config.shard);
  if (config.class_weights != "balanced") parse_class_weights(config.class_weights);
  check_memory(config);
  TY_REQUIRE(config.ema == 0 || config.swa == 0, "ema and swa both average weights; set one");
  TY_REQUIRE(config.swa <= config.epochs, "swa begins at epoch {}, but there are {}", config.swa,
             config.epochs);
  if (config.servers != 0) {
    check_servers(config);
  } else {
    TY_REQUIRE(config.sync == "sync" && config.slow.empty() && config.staleness_bound == 0 &&
                   !config.staleness_aware,
               "sync, slow, staleness_bound and staleness_aware need parameter servers (servers)");
  }
}

std::vector<RateShare> parse_rate_shares(const std::string& text) {
  std::vector<RateShare> shares;
  if (text.empty()) return shares;
  for (const std::string& part : split(text, ',')) {
    // The last '=': names of parameters may hold one too.
    const size_t equals = part.rfind('=');
    TY_REQUIRE(equals != std::string::npos && equals > 0,
               "rate_shares: '{}' is not NAME=SHARE, such as features.=0.1", part);
    const auto share = parse_number<double>(std::string_view(part).substr(equals + 1));
    TY_REQUIRE(share && *share > 0 && *share <= kMostRateShare,
               "rate_shares: the share in '{}' is not a number above 0, at most {}", part,
               kMostRateShare);
    shares.push_back({part.substr(0, equals), *share});
  }
  return shares;
}

bool names_shapes(const std::string& priors) {
  return priors != "auto" && priors != "fitted" && priors != "ssd";
}

std::string config_hash(const TrainConfig& config) {
  // A copy because settings point to fields that may be written.
  TrainConfig copy = config;
  TrainConfig defaults;
  Settings settings;
  Settings usual;
  add_deciding(settings, copy);
  add_deciding(usual, defaults);
  return settings.hash(usual, kLaterSettings);
}

void require_same_course(const TrainConfig& run, const TrainConfig& wanted) {
  TrainConfig own = run;
  TrainConfig asked = wanted;
  Settings own_settings;
  Settings asked_settings;
  add_deciding(own_settings, own);
  add_deciding(asked_settings, asked);
  std::string list = own_settings.differences(asked_settings);
  if (wanted.epochs < run.epochs) {
    list += fmt::format("\n  epochs: {}, asked for: {} (only more are possible)", run.epochs,
                        wanted.epochs);
  }
  TY_REQUIRE(list.empty(), "a run is resumed with the settings it began with; these differ:{}",
             list);
}

}  // namespace trainyard::train

// Everything that decides a training run: the same names as flags, in a YAML file and in the run
// directory's config.yaml.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"

namespace trainyard::train {

struct TrainConfig {
  std::string model = "lenet5";
  std::string data = "fashion-mnist";
  std::string augment = "normalize";
  bool skip_bad_files = false;
  int64_t batch_augment = 1;   // copies of each picture in a batch
  double mixup = 0;            // alpha; 0: none
  double cutmix = 0;           // alpha; 0: none
  int64_t copies_at_once = 0;  // of them in one pass; 0: all
  double val_split = 0;        // held out of the training set; 0: the data's own test split
  int64_t train_samples = 0;   // 0: all
  int64_t test_samples = 0;    // 0: all
  double long_tail = 0;        // exponent by which classes get rare
  double label_noise = 0;      // share of training labels that are wrong
  std::string resample = "natural";
  int64_t data_seed = 1;  // of which samples are taken and which labels are wrong
  int64_t classes = 0;    // 0: as many as the data has
  int64_t image = 0;      // 0: the size of the pictures
  double width = 1.0;
  int64_t length = 0;  // of rows of tokens; 0: the data set's own
  int64_t layers = 0;  // of transformers, like the six that follow; 0: the network's own
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t inner = 0;
  int64_t experts = 0;
  int64_t active = 0;
  double dropout = -1;          // below 0: the network's own
  std::string weights;          // safetensors to start from
  std::string priors = "auto";  // or ssd, fitted; a run has what it became: ssd or shapes
  std::string freeze;           // prefixes of parameter names, separated by commas
  bool freeze_statistics = false;
  std::string rate_shares;        // PREFIX=SHARE, separated by commas
  std::string precision = "f32";  // of products; or bf16
  std::string recompute;          // prefixes of node names, separated by commas
  std::string memory;             // of a step, in bytes or as 2G; empty: any

  int64_t epochs = 5;
  int64_t batch = 128;  // of all workers together
  int64_t accumulate = 1;
  std::string optimizer = "sgd";
  double learning_rate = 0.05;
  int64_t base_batch = 0;  // the batch that the rate is for; 0: whatever the batch is
  std::string schedule = "cosine";
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_all = false;
  double clip_norm = 0;
  double clip_value = 0;
  double ema = 0;                      // decay of the average of weights; 0: none
  int64_t swa = 0;                     // first epoch (from 1) whose weights are averaged; 0: none
  std::string loss = "cross-entropy";  // one of objective_list()
  double label_smoothing = 0;
  std::string class_weights;  // balanced, or a number for each class; a run has the numbers
  double focus = 2;
  double delta = 1;
  double temperature = 1;
  bool sync_bn = false;
  double auxiliary_weight = 0.3;

  int64_t seed = 1;
  bool freeze_epoch_seed = false;
  std::string device = "cpu";  // or one of libtorch
  int64_t threads = 0;
  int64_t data_workers = 1;
  int64_t max_steps = 0;   // 0: all epochs
  int64_t stop_epoch = 0;  // 0: all epochs
  double target_accuracy = 0;
  int64_t patience = 0;                 // epochs without a better score; 0: any
  std::string export_weights = "last";  // or best: those that model.onnx has

  int64_t workers = 1;
  int64_t servers = 0;  // 0: workers sum their gradients among themselves
  std::string sync = "sync";
  int64_t staleness_bound = 0;
  bool staleness_aware = false;
  std::string shard = "even";
  std::string slow;
  std::string all_reduce = "auto";
  double bucket_mb = 25;
  bool no_overlap = false;
  bool broadcast_buffers = false;
  bool test_each_worker = false;
  double stall_warning = 10;  // seconds
  double wait_limit = 60;     // seconds

  int64_t checkpoint_every = 0;  // steps; 0: after each epoch only
  int64_t keep_checkpoints = 2;
  bool histograms = false;
  int64_t sample_tokens = 128;  // that a language model writes after each epoch
};

// Names and explains every field; the settings point into `config`, which must outlive them.
Settings settings_of(TrainConfig& config);
// Throws Error for numbers that make no sense, naming the field.
void check(const TrainConfig& config);
struct RateShare {
  std::string prefix;
  double share = 1;
};
// Of rate_shares. Throws Error for what is not NAME=SHARE.
std::vector<RateShare> parse_rate_shares(const std::string& text);
// Whether `priors` is a list of shapes and not a way to find them.
bool names_shapes(const std::string& priors);
// Of the fields that decide the numbers: a run cannot be resumed with other values of these.
std::string config_hash(const TrainConfig& config);
// Throws Error with the fields that decide the numbers and differ.
void require_same_course(const TrainConfig& run, const TrainConfig& wanted);

}  // namespace trainyard::train

#include "train/trainer.h"

#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "onnx_io/export.h"
#include "train/checkpoint.h"
#include "train/events.h"
#include "train/metrics.h"
#include "train/schedule.h"
#include "train/training_step.h"

namespace trainyard::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

StepOptions step_options(const TrainConfig& config) {
  StepOptions options;
  options.threads = static_cast<int>(config.threads);
  options.seed = static_cast<uint64_t>(config.seed);
  TrainingOptions& training = options.training;
  training.accumulate = config.accumulate;
  training.auxiliary_weight = config.auxiliary_weight;
  training.label_smoothing = config.label_smoothing;
  if (!config.freeze.empty()) training.frozen = split(config.freeze, ',');
  if (!config.recompute.empty()) training.recompute = split(config.recompute, ',');
  OptimizerOptions& optimizer = training.optimizer;
  optimizer.kind = config.optimizer;
  optimizer.momentum = config.momentum;
  optimizer.nesterov = config.nesterov;
  optimizer.weight_decay = config.weight_decay;
  optimizer.decay_all = config.decay_all;
  optimizer.clip_norm = config.clip_norm;
  return options;
}

data::LoaderOptions training_loader(const TrainConfig& config) {
  data::LoaderOptions options;
  options.batch = config.batch;
  options.shuffle = true;
  options.seed = static_cast<uint64_t>(config.seed);
  options.workers = config.data_workers;
  options.augmentations = config.augment;
  options.drop_last = true;
  return options;
}

data::LoaderOptions test_loader(const TrainConfig& config, const data::Augmentations& training) {
  data::LoaderOptions options;
  options.batch = config.batch;
  options.workers = config.data_workers;
  options.augmentations = training.evaluation_text();
  return options;
}

// What an epoch has added up so far.
struct EpochSums {
  double loss = 0;  // weighted by images
  int64_t correct = 0;
  int64_t images = 0;

  double mean_loss() const { return loss / static_cast<double>(std::max<int64_t>(1, images)); }
  double accuracy() const {
    return static_cast<double>(correct) / static_cast<double>(std::max<int64_t>(1, images));
  }
};

}  // namespace

struct Trainer::Impl {
  Impl(const TrainConfig& config, const Graph& model, const data::Dataset& training,
       const data::Dataset& test)
      : config_(config),
        schedule_(parse_schedule(config.schedule)),
        model_(model),
        step_(model, step_options(config)),
        loader_(training, training_loader(config)),
        test_loader_(test, test_loader(config, loader_.augmentations())) {
    check_shapes();
  }

  TrainResult run(const RunDirectory& directory, const TrainHooks& hooks) {
    hooks_ = hooks;
    checkpoints_.emplace(directory.checkpoints(), config_.keep_checkpoints);
    restore();
    metrics_.emplace(directory.metrics(), info_.step);
    events_.emplace(directory.path(), info_.step);
    seconds_before_ = info_.values["seconds"];
    begin_ = Clock::now();
    while (info_.epoch < config_.epochs && !result_.interrupted && !target_reached() &&
           !out_of_steps()) {
      run_epoch();
    }
    result_.steps = info_.step;
    result_.best_top1 = info_.values["best_top1"];
    if (!result_.interrupted) write_model(directory.path());
    return std::move(result_);
  }

 private:
  void check_shapes() {
    const data::PictureShape& picture = loader_.augmentations().output();
    const Shape expected{config_.batch, picture.channels, picture.height, picture.width};
    TY_REQUIRE(step_.images().shape() == expected,
               "the network takes {}, but the data gives {}; add augmentation steps such as "
               "resize, pad or channels, or set --image",
               step_.images().shape().to_string(), expected.to_string());
  }

  bool target_reached() const { return result_.seconds_to_target.has_value(); }
  bool out_of_steps() const { return config_.max_steps > 0 && info_.step >= config_.max_steps; }
  double seconds() const { return seconds_before_ + seconds_since(begin_); }

  // --- one epoch

  void run_epoch() {
    const auto begin = Clock::now();
    const int64_t images_before = sums_.images;
    loader_.start_epoch(info_.epoch, info_.epoch_step);
    while (info_.epoch_step < loader_.num_batches()) {
      run_step();
      const bool stop = (hooks_.should_stop && hooks_.should_stop()) || out_of_steps();
      const bool epoch_ends = info_.epoch_step == loader_.num_batches();
      const bool due = config_.checkpoint_every > 0 && info_.step % config_.checkpoint_every == 0;
      if (!epoch_ends && (stop || due)) save(/*best=*/false);
      if (stop && !epoch_ends) {
        result_.interrupted = !out_of_steps();
        return;
      }
    }
    end_epoch(seconds_since(begin), images_before);
  }

  double rate() const {
    const double epoch =
        static_cast<double>(info_.epoch) +
        static_cast<double>(info_.epoch_step) / static_cast<double>(loader_.num_batches());
    return learning_rate(schedule_, config_.learning_rate, epoch,
                         static_cast<double>(config_.epochs));
  }

  void run_step() {
    const auto begin = Clock::now();
    const double waited_before = loader_.wait_seconds();
    const data::Batch* batch = loader_.next();
    TY_CHECK(batch != nullptr, "the epoch ended early");
    copy(batch->images, step_.images());
    copy(batch->labels, step_.labels());
    const double rate_now = rate();
    step_.run(rate_now);
    sums_.loss += step_.loss() * static_cast<double>(batch->valid);
    sums_.correct += step_.correct();
    sums_.images += batch->valid;
    info_.step += 1;
    info_.epoch_step += 1;
    info_.samples += batch->valid;

    const double took = seconds_since(begin);
    const double waited = loader_.wait_seconds() - waited_before;
    metrics_->append(Json::object(
        {{"step", info_.step},
         {"epoch", info_.epoch},
         {"loss", step_.loss()},
         {"accuracy", static_cast<double>(step_.correct()) / static_cast<double>(batch->valid)},
         {"learning_rate", rate_now},
         {"step_ms", took * 1e3},
         {"forward_ms", step_.seconds().forward * 1e3},
         {"backward_ms", step_.seconds().backward * 1e3},
         {"update_ms", step_.seconds().update * 1e3},
         {"data_ms", waited * 1e3}}));
    const Scalar scalars[] = {{"train/loss", step_.loss()}, {"train/learning_rate", rate_now}};
    events_->write(info_.step, scalars);
    if (!hooks_.on_step) return;
    hooks_.on_step({.epoch = info_.epoch + 1,
                    .epochs = config_.epochs,
                    .step = info_.epoch_step,
                    .steps = loader_.num_batches(),
                    .images = batch->valid,
                    .loss = sums_.mean_loss(),
                    .accuracy = sums_.accuracy(),
                    .wait_seconds = waited});
  }

  static void copy(const Tensor& from, Tensor& to) {
    TY_CHECK(from.type() == to.type(), "batch of {}, expected {}", from.type().to_string(),
             to.type().to_string());
    std::memcpy(to.data(), from.data(), static_cast<size_t>(from.num_bytes()));
  }

  void end_epoch(double train_seconds, int64_t images_before) {
    EpochReport report;
    report.epoch = info_.epoch + 1;
    report.step = info_.step;
    report.train_loss = sums_.mean_loss();
    report.train_accuracy = sums_.accuracy();
    report.train_seconds = train_seconds;
    report.wait_seconds = loader_.wait_seconds();
    report.images_per_s = static_cast<double>(sums_.images - images_before) / train_seconds;
    Graph trained = model_;
    step_.copy_weights_to(trained);
    report.test = evaluate(std::move(trained), test_loader_, static_cast<int>(config_.threads));
    report.seconds = seconds();
    report.best = report.test.top1 > info_.values["best_top1"];
    if (report.best) info_.values["best_top1"] = report.test.top1;
    write_epoch(report);
    info_.epoch += 1;
    info_.epoch_step = 0;
    sums_ = {};
    save(report.best);
    if (config_.target_accuracy > 0 && report.test.top1 >= config_.target_accuracy) {
      result_.seconds_to_target = report.seconds;
    }
    if (hooks_.on_epoch) hooks_.on_epoch(report);
    result_.epochs.push_back(std::move(report));
  }

  void write_epoch(const EpochReport& report) {
    metrics_->append(Json::object({{"step", report.step},
                                   {"epoch", report.epoch},
                                   {"train_loss", report.train_loss},
                                   {"train_accuracy", report.train_accuracy},
                                   {"train_s", report.train_seconds},
                                   {"wait_s", report.wait_seconds},
                                   {"images_per_s", report.images_per_s},
                                   {"seconds", report.seconds},
                                   {"test_loss", report.test.loss},
                                   {"test_top1", report.test.top1},
                                   {"test_top5", report.test.top5},
                                   {"confusion", Json::array_of(report.test.confusion)}}));
    const Scalar scalars[] = {{"test/loss", report.test.loss},
                              {"test/top1", report.test.top1},
                              {"test/top5", report.test.top5},
                              {"train/accuracy", report.train_accuracy},
                              {"train/images_per_s", report.images_per_s}};
    events_->write(report.step, scalars);
  }

  // --- checkpoints

  std::vector<NamedType> state_types() const {
    std::vector<NamedType> types;
    for (const runtime::Port& port : step_.states()) types.push_back({port.name, port.type});
    return types;
  }

  void save(bool best) {
    info_.values["epoch_loss"] = sums_.loss;
    info_.values["epoch_correct"] = static_cast<double>(sums_.correct);
    info_.values["epoch_images"] = static_cast<double>(sums_.images);
    info_.values["updates"] = static_cast<double>(step_.updates());
    info_.values["seconds"] = seconds();
    std::vector<StateTensor> state;
    for (size_t i = 0; i < step_.states().size(); ++i) {
      const runtime::Port& port = step_.states()[i];
      state.push_back({port.name, port.type, [this, i] { return step_.state(i); }});
    }
    checkpoints_->save(info_, state, best);
  }

  void restore() {
    info_.model = config_.model;
    info_.config_hash = config_hash(config_);
    info_.seed = static_cast<uint64_t>(config_.seed);
    const auto latest = checkpoints_->latest();
    if (!latest) return;
    const Checkpoint checkpoint(*latest);
    checkpoint.require_fits(config_.model, info_.config_hash, state_types());
    info_ = checkpoint.info();
    for (size_t i = 0; i < step_.states().size(); ++i) {
      step_.set_state(i, checkpoint.tensor(step_.states()[i].name));
    }
    sums_.loss = info_.values["epoch_loss"];
    sums_.correct = static_cast<int64_t>(info_.values["epoch_correct"]);
    sums_.images = static_cast<int64_t>(info_.values["epoch_images"]);
    step_.set_progress(info_.step, static_cast<int64_t>(info_.values["updates"]));
  }

  void write_model(const std::filesystem::path& folder) {
    Graph trained = model_;
    step_.copy_weights_to(trained);
    onnx_io::export_model(trained, folder / "model.onnx", {});
    std::vector<NamedType> types = state_types();
    types.resize(step_.num_model_states());
    SafetensorsWriter writer(folder / "model.safetensors", types, {{"model", config_.model}});
    for (size_t i = 0; i < types.size(); ++i) writer.write(step_.state(i));
    writer.commit();
  }

  const TrainConfig& config_;
  Schedule schedule_;
  const Graph& model_;
  TrainingStep step_;
  data::Loader loader_;
  data::Loader test_loader_;
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<MetricsWriter> metrics_;
  std::optional<EventWriter> events_;
  TrainHooks hooks_;
  CheckpointInfo info_;
  EpochSums sums_;
  double seconds_before_ = 0;
  Clock::time_point begin_ = Clock::now();
  TrainResult result_;
};

Trainer::Trainer(const TrainConfig& config, const Graph& model, const data::Dataset& training,
                 const data::Dataset& test)
    : impl_(std::make_unique<Impl>(config, model, training, test)) {}

Trainer::~Trainer() = default;

TrainResult Trainer::run(const RunDirectory& directory, const TrainHooks& hooks) {
  return impl_->run(directory, hooks);
}

}  // namespace trainyard::train

#include "train/trainer.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "runs/checkpoint.h"
#include "runs/events.h"
#include "runs/metrics.h"
#include "train/replicas.h"
#include "train/run_parts.h"
#include "train/schedule.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ReplicaOptions replica_options(const TrainConfig& config) {
  return {.all_reduce = config.all_reduce,
          .overlap = !config.no_overlap,
          .stall_warning_s = config.stall_warning};
}

// What a worker tells the others after each step.
struct WorkerStep {
  double loss = 0;  // times images
  double correct = 0;
  double images = 0;
  double wants_stop = 0;
  double compute_ms = 0;  // forward, backward and update without waiting for others
  double communication_ms = 0;
  double exposed_ms = 0;  // of the communication, what nothing else was done in
  double data_ms = 0;
};
constexpr size_t kWorkerValues = sizeof(WorkerStep) / sizeof(double);

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
       const data::Dataset& test, dist::Communicator& comm, std::string_view version)
      : config_(config),
        schedule_(parse_schedule(config.schedule)),
        base_rate_(base_rate(config)),
        model_(model),
        replicas_((comm.set_limit_s(config.wait_limit), comm), replica_options(config)),
        place_(find_place(training, version)),
        step_(model, step_options(config, place_)),
        loader_(training, training_loader(config, place_)),
        test_loader_(test, test_loader(config, place_, loader_.augmentations())) {
    require_input_shape(step_.input(0).shape(), own_batch(config_, place_),
                        loader_.augmentations());
    require_same_layouts();
    name_buckets();
  }

  TrainResult run(const runs::RunDirectory* directory, const TrainHooks& hooks) {
    TY_CHECK((directory != nullptr) == replicas_.leads(), "rank {} with or without a directory",
             replicas_.rank());
    hooks_ = hooks;
    replicas_.set_warn(hooks.on_warning);
    if (directory != nullptr)
      checkpoints_.emplace(directory->checkpoints(), config_.keep_checkpoints);
    restore();
    share_start();
    if (directory != nullptr) {
      metrics_.emplace(directory->metrics(), info_.step);
      events_.emplace(directory->path(), info_.step);
    }
    seconds_before_ = info_.values["seconds"];
    begin_ = Clock::now();
    while (info_.epoch < config_.epochs && !result_.interrupted && !target_reached() &&
           !out_of_steps()) {
      run_epoch();
    }
    result_.steps = info_.step;
    result_.best_top1 = info_.values["best_top1"];
    if (!result_.interrupted && directory != nullptr) {
      Graph trained = model_;
      step_.copy_weights_to(trained);
      std::vector<runs::NamedType> types = state_types();
      types.resize(step_.num_model_states());
      write_model(directory->path(), config_.model, trained, types);
    }
    return std::move(result_);
  }

 private:
  // Differences between workers are found before anything is made, and so named by their names.
  Place find_place(const data::Dataset& training, std::string_view version) {
    replicas_.require_same(common_facts(config_, model_, training, version));
    const int threads =
        config_.threads > 0 ? static_cast<int>(config_.threads) : replicas_.fair_threads();
    return {replicas_.rank(), replicas_.workers(), threads, &replicas_};
  }

  // Sums of gradients in different layouts would go on without a word, with wrong numbers.
  void require_same_layouts() {
    std::vector<std::string> facts;
    for (const auto& message : step_.executable().messages()) {
      facts.push_back(fmt::format("gradients of {} bytes as {}", message.bytes, message.layouts));
    }
    replicas_.require_same(facts);
  }

  void name_buckets() {
    std::vector<std::string> names;
    for (const std::vector<std::string>& parameters : step_.buckets()) {
      names.push_back(fmt::format("gradients {} ({} to {})", names.size(), parameters.front(),
                                  parameters.back()));
    }
    replicas_.name_buckets(std::move(names));
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
      const bool wants_stop = run_step();
      const bool stop = wants_stop || out_of_steps();
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
    return learning_rate(schedule_, base_rate_, epoch, static_cast<double>(config_.epochs));
  }

  // Whether somebody wants to stop.
  bool run_step() {
    const auto begin = Clock::now();
    const double waited_before = loader_.wait_seconds();
    const data::Batch* batch = loader_.next();
    TY_CHECK(batch != nullptr, "the epoch ended early");
    copy_batch(*batch, step_);
    const double rate_now = rate();
    replicas_.take_times();
    step_.run(rate_now);
    info_.step += 1;
    info_.epoch_step += 1;
    const std::vector<WorkerStep> workers =
        tell_others(batch->valid, loader_.wait_seconds() - waited_before);
    WorkerStep all;
    for (const WorkerStep& worker : workers) {
      all.loss += worker.loss;
      all.correct += worker.correct;
      all.images += worker.images;
      all.wants_stop += worker.wants_stop;
      exposed_seconds_ += worker.exposed_ms / 1e3 / static_cast<double>(workers.size());
    }
    sums_.loss += all.loss;
    sums_.correct += static_cast<int64_t>(all.correct);
    sums_.images += static_cast<int64_t>(all.images);
    info_.samples += static_cast<int64_t>(all.images);
    if (replicas_.leads()) write_step(workers, all, rate_now, seconds_since(begin));
    if (hooks_.on_step) {
      hooks_.on_step({.epoch = info_.epoch + 1,
                      .epochs = config_.epochs,
                      .step = info_.epoch_step,
                      .steps = loader_.num_batches(),
                      .images = static_cast<int64_t>(all.images),
                      .loss = sums_.mean_loss(),
                      .accuracy = sums_.accuracy(),
                      .wait_seconds = workers.front().data_ms / 1e3});
    }
    return all.wants_stop > 0;
  }

  // What every worker has to say, by rank.
  std::vector<WorkerStep> tell_others(int64_t images, double data_seconds) {
    const ExchangeTimes times = replicas_.take_times();
    const PhaseSeconds& phases = step_.seconds();
    const double busy = phases.forward + phases.backward + phases.update - times.exposed_s;
    std::vector<WorkerStep> workers(static_cast<size_t>(replicas_.workers()));
    workers[static_cast<size_t>(replicas_.rank())] = {
        .loss = step_.loss() * static_cast<double>(images),
        .correct = step_.metric(kCorrectMetric),
        .images = static_cast<double>(images),
        .wants_stop = hooks_.should_stop && hooks_.should_stop() ? 1.0 : 0.0,
        .compute_ms = busy * 1e3,
        .communication_ms = times.communication_s * 1e3,
        .exposed_ms = times.exposed_s * 1e3,
        .data_ms = data_seconds * 1e3};
    replicas_.sum({&workers[0].loss, workers.size() * kWorkerValues});
    return workers;
  }

  void write_step(const std::vector<WorkerStep>& workers, const WorkerStep& all, double rate_now,
                  double took) {
    const double loss = all.loss / all.images;
    Json line = Json::object({{"step", info_.step},
                              {"epoch", info_.epoch},
                              {"loss", loss},
                              {"accuracy", all.correct / all.images},
                              {"learning_rate", rate_now},
                              {"step_ms", took * 1e3},
                              {"forward_ms", step_.seconds().forward * 1e3},
                              {"backward_ms", step_.seconds().backward * 1e3},
                              {"update_ms", step_.seconds().update * 1e3},
                              {"data_ms", workers.front().data_ms}});
    if (workers.size() > 1) {
      Json rows = Json::array();
      for (const WorkerStep& worker : workers) {
        rows.push_back(Json::object({{"compute_ms", worker.compute_ms},
                                     {"communication_ms", worker.communication_ms},
                                     {"exposed_ms", worker.exposed_ms},
                                     {"data_ms", worker.data_ms}}));
      }
      line["workers"] = std::move(rows);
    }
    metrics_->append(line);
    const runs::Scalar scalars[] = {{"train/loss", loss}, {"train/learning_rate", rate_now}};
    events_->write(info_.step, scalars);
  }

  void end_epoch(double train_seconds, int64_t images_before) {
    EpochReport report;
    report.epoch = info_.epoch + 1;
    report.step = info_.step;
    report.train_loss = sums_.mean_loss();
    report.train_accuracy = sums_.accuracy();
    report.train_seconds = train_seconds;
    report.wait_seconds = loader_.wait_seconds();
    report.exposed_seconds = std::exchange(exposed_seconds_, 0.0);
    report.images_per_s = static_cast<double>(sums_.images - images_before) / train_seconds;
    report.test = evaluate(model_for_test(), test_loader_, place_.threads,
                           [&](std::span<double> sums) { replicas_.sum(sums); });
    report.seconds = seconds();
    report.best = report.test.top1 > info_.values["best_top1"];
    if (report.best) info_.values["best_top1"] = report.test.top1;
    if (replicas_.leads()) write_epoch(report, *metrics_, *events_);
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

  // All workers test the same network: rank 0's. Parameters are the same anyway; running statistics
  // are those of each worker's own images.
  Graph model_for_test() {
    Graph trained = model_;
    step_.copy_weights_to(trained);
    if (replicas_.workers() == 1) return trained;
    for (size_t i = step_.num_parameters(); i < step_.num_model_states(); ++i) {
      Tensor value = broadcast_state(i);
      if (config_.broadcast_buffers) step_.set_state(i, value);
      const ValueId id = trained.find_value(step_.states()[i].name);
      trained.mutable_value(id).constant = std::make_shared<const Tensor>(std::move(value));
    }
    return trained;
  }

  Tensor broadcast_state(size_t i) {
    Tensor value = step_.state(i);
    replicas_.broadcast(
        {static_cast<std::byte*>(value.data()), static_cast<size_t>(value.num_bytes())});
    return value;
  }

  // --- checkpoints

  std::vector<runs::NamedType> state_types() const {
    std::vector<runs::NamedType> types;
    for (const runtime::Port& port : step_.states()) types.push_back({port.name, port.type});
    return types;
  }

  void save(bool best) {
    if (!replicas_.leads()) return;
    info_.values["epoch_loss"] = sums_.loss;
    info_.values["epoch_correct"] = static_cast<double>(sums_.correct);
    info_.values["epoch_images"] = static_cast<double>(sums_.images);
    info_.values["updates"] = static_cast<double>(step_.updates());
    info_.values["seconds"] = seconds();
    std::vector<runs::StateTensor> state;
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
    const auto latest = checkpoints_ ? checkpoints_->latest() : std::nullopt;
    if (!latest) return;
    const runs::Checkpoint checkpoint(*latest);
    checkpoint.require_fits(config_.model, info_.config_hash, state_types());
    info_ = checkpoint.info();
    for (size_t i = 0; i < step_.states().size(); ++i) {
      step_.set_state(i, checkpoint.tensor(step_.states()[i].name));
    }
  }

  // Everybody starts where rank 0 stands, with its parameters, statistics and optimizer state.
  void share_start() {
    std::vector<double> numbers = {
        static_cast<double>(info_.epoch), static_cast<double>(info_.epoch_step),
        static_cast<double>(info_.step), static_cast<double>(info_.samples)};
    const auto names = {"best_top1",  "epoch_correct", "epoch_images",
                        "epoch_loss", "seconds",       "updates"};
    for (const char* name : names) numbers.push_back(info_.values[name]);
    replicas_.broadcast(std::as_writable_bytes(std::span(numbers)));
    info_.epoch = static_cast<int64_t>(numbers[0]);
    info_.epoch_step = static_cast<int64_t>(numbers[1]);
    info_.step = static_cast<int64_t>(numbers[2]);
    info_.samples = static_cast<int64_t>(numbers[3]);
    size_t next = 4;
    for (const char* name : names) info_.values[name] = numbers[next++];
    sums_.loss = info_.values["epoch_loss"];
    sums_.correct = static_cast<int64_t>(info_.values["epoch_correct"]);
    sums_.images = static_cast<int64_t>(info_.values["epoch_images"]);
    step_.set_progress(info_.step, static_cast<int64_t>(info_.values["updates"]));
    if (replicas_.workers() == 1) return;
    for (size_t i = 0; i < step_.states().size(); ++i) step_.set_state(i, broadcast_state(i));
  }

  const TrainConfig& config_;
  Schedule schedule_;
  double base_rate_;
  const Graph& model_;
  Replicas replicas_;
  Place place_;
  TrainingStep step_;
  data::Loader loader_;
  data::Loader test_loader_;
  std::optional<runs::CheckpointFolder> checkpoints_;
  std::optional<runs::MetricsWriter> metrics_;
  std::optional<runs::EventWriter> events_;
  TrainHooks hooks_;
  runs::CheckpointInfo info_;
  EpochSums sums_;
  double exposed_seconds_ = 0;  // of this epoch and process
  double seconds_before_ = 0;
  Clock::time_point begin_ = Clock::now();
  TrainResult result_;
};

Trainer::Trainer(const TrainConfig& config, const Graph& model, const data::Dataset& training,
                 const data::Dataset& test, dist::Communicator& comm, std::string_view version)
    : impl_(std::make_unique<Impl>(config, model, training, test, comm, version)) {}

Trainer::~Trainer() = default;

TrainResult Trainer::run(const runs::RunDirectory* directory, const TrainHooks& hooks) {
  return impl_->run(directory, hooks);
}

}  // namespace trainyard::train

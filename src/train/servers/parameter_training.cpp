#include "train/servers/parameter_training.h"

#include <chrono>
#include <optional>
#include <thread>

#include "base/error.h"
#include "engine/device/device_list.h"
#include "engine/kernels/parallel/parallel.h"
#include "train/frozen_weights.h"
#include "train/metric_sums.h"
#include "train/run_log.h"
#include "train/run_parts.h"
#include "train/servers/parameter_worker.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

// The settings of one gradient: a share of the batch, and of the host's cores.
TrainConfig of_one_worker(const TrainConfig& config, const ServerOptions& options,
                          const dist::Communicator& comm) {
  TrainConfig own = config;
  own.batch = config.batch / options.workers;
  own.data_workers = 0;
  if (own.threads == 0) {
    const std::vector<int64_t> here = comm.host_members();
    const auto workers = std::count_if(here.begin(), here.end(),
                                       [&](int64_t rank) { return rank < options.workers; });
    own.threads = std::max<int64_t>(1, kernels::available_cores() / std::max<int64_t>(1, workers));
  }
  return own;
}

// Servers compute on the processors.
std::shared_ptr<device::Device> worker_device(const TrainConfig& config,
                                              const ServerOptions& options,
                                              const dist::Communicator& comm) {
  if (comm.rank() >= options.workers) return nullptr;
  return device::open_network_device(config.device, comm.rank());
}

// Gradients of an epoch, each of `accumulate` batches: whole rounds if workers go in step.
int64_t gradients_per_epoch(const ServerOptions& options, int64_t batches, int64_t accumulate) {
  const int64_t gradients = batches / accumulate;
  TY_REQUIRE(gradients > 0, "the {} batches of an epoch are fewer than the {} of a gradient",
             batches, accumulate);
  if (options.mode != ServerMode::kSync) return gradients;
  const int64_t rounds = gradients / options.workers;
  TY_REQUIRE(rounds > 0, "the {} gradients of an epoch are fewer than the {} workers", gradients,
             options.workers);
  return rounds * options.workers;
}

int64_t gradients_per_update(const ServerOptions& options) {
  return options.mode == ServerMode::kSync ? options.workers : 1;
}

// What rank 0 sends to the other workers before each epoch.
struct Order {
  int64_t go_on = 0;
  int64_t epoch = 0;
  int64_t tickets = 0;
};

class WorkerRun {
 public:
  // `config` is of one worker, `hash` of all.
  WorkerRun(const Task& task, dist::Communicator& comm, const TrainConfig& config, std::string hash,
            const ServerOptions& options, const Graph& model, TrainingStep& step,
            data::Loader& loader, const ShardMap& map)
      : task_(task),
        comm_(comm),
        config_(config),
        hash_(std::move(hash)),
        options_(options),
        model_(model),
        step_(step),
        frozen_(model, step.states()),
        states_(worker_states(step)),
        metrics_(reported_metrics(step.metrics())),
        loader_(loader),
        client_(comm, options, map),
        map_(map) {
    TY_REQUIRE(metrics_.size() <= kMostMetrics,
               "the objective has {} metrics; parameter servers note up to {}", metrics_.size(),
               kMostMetrics);
  }

  // Workers but the first.
  void follow() {
    while (true) {
      const Order order = wait_for_order();
      if (order.go_on == 0) break;
      compute(order, nullptr);
      send_statistics();
    }
    client_.finish();
  }

  // Worker 0.
  ServerTrainResult lead(const data::Dataset& test, const runs::RunDirectory& directory,
                         const TrainHooks& hooks) {
    data::Loader test_loader(
        test, train::test_loader(config_, WorkerIdentity{}, loader_.augmentations()));
    log_.emplace(config_, hash_, &directory, hooks);
    result_.workers.resize(static_cast<size_t>(options_.workers));
    for (const std::vector<ParameterPiece>& pieces : map_.pieces) {
      ServerReport& server = result_.servers.emplace_back();
      server.pieces = static_cast<int64_t>(pieces.size());
      for (const ParameterPiece& piece : pieces) server.elements += piece.elements;
    }
    restore();
    log_->begin();
    while (log_->goes_on()) run_epoch(test_loader);
    const std::map<std::string, std::string> metadata = log_->metadata();
    result_.training = log_->result();
    if (!result_.training.interrupted) write_result(directory, metadata);
    send_order({});
    client_.finish();
    return std::move(result_);
  }

 private:
  // --- every worker

  Order wait_for_order() {
    constexpr int64_t kFirst = 0;
    const double limit = comm_.limit_s() * kBetweenEpochs;
    if (!comm_.find_message({&kFirst, 1}, limit)) {
      throw_failure("rank {} has waited {} s for rank 0 to begin the next epoch", comm_.rank(),
                    limit);
    }
    const auto order = receive_message<Order>(comm_, kFirst);
    std::vector<float> values(static_cast<size_t>(statistics_elements()));
    comm_.receive(kFirst, std::as_writable_bytes(std::span(values)));
    set_statistics(values);
    return order;
  }

  Answer compute(const Order& order, const TrainHooks* hooks) {
    loader_.start_epoch(order.epoch);
    int64_t own = 0;
    data_s_ = 0;
    reported_images_ = 0;
    reported_loss_ = 0;
    while (true) {
      const Stopwatch pull_watch;
      const Answer answer = client_.pull(order.epoch, order.tickets, step_);
      const double waited = pull_watch.seconds();
      if (hooks != nullptr && own > 0) report_step(order, answer, *hooks);
      if (answer.ticket == kNoTicket) break;
      Request request = compute_gradient(order, answer.ticket);
      request.wait_s = waited;
      request.stop = hooks != nullptr && hooks->should_stop && hooks->should_stop() ? 1 : 0;
      client_.push(request, step_);
      ++own;
    }
    return client_.end_epoch(order.epoch);
  }

  // Of the batches that belong to the ticket; what there is to say about them.
  Request compute_gradient(const Order& order, int64_t ticket) {
    const Stopwatch watch;
    Request request;
    for (int64_t i = 0; i < config_.accumulate; ++i) {
      const Stopwatch data_watch;
      const data::Batch& batch = loader_.make(ticket * config_.accumulate + i);
      feed_step(batch, task_.feed, step_);
      data_s_ += data_watch.seconds();
      step_.set_progress((order.epoch * order.tickets + ticket) * config_.accumulate + i, 0);
      step_.run(/*learning_rate=*/0);
      const auto images = static_cast<double>(batch.valid);
      request.loss += step_.loss() * images;
      request.images += batch.valid;
      for (size_t m = 0; m < metrics_.size(); ++m) {
        const double value = step_.metric(metrics_[m].name);
        request.metrics[m] += metrics_[m].kind == MetricKind::kCount ? value : value * images;
      }
    }
    request.loss /= static_cast<double>(request.images);
    slow_down(watch.seconds());
    request.compute_s = watch.seconds();
    return request;
  }

  void slow_down(double seconds) const {
    const auto found = options_.slow.find(comm_.rank());
    if (found == options_.slow.end()) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds * (found->second - 1)));
  }

  void report_step(const Order& order, const Answer& answer, const TrainHooks& hooks) {
    if (!hooks.on_step) return;
    const MetricSums sums = sums_of(answer.loss, answer.images, answer.metrics);
    // What came since the report before, of whichever worker.
    const MetricSums step{.loss = sums.loss - std::exchange(reported_loss_, sums.loss),
                          .images = sums.images - std::exchange(reported_images_, sums.images),
                          .metrics = {}};
    hooks.on_step({.epoch = order.epoch + 1,
                   .epochs = config_.epochs,
                   .step = answer.gradients,
                   .steps = order.tickets,
                   .images = step.images,
                   .loss = sums.mean_loss(),
                   .scores = metric_scores(metrics_, sums),
                   .step_loss = step.mean_loss()});
  }

  MetricSums sums_of(double loss, int64_t images, const MetricValues& metrics) const {
    return {
        .loss = loss,
        .images = images,
        .metrics = {metrics.begin(), metrics.begin() + static_cast<ptrdiff_t>(metrics_.size())}};
  }

  // --- running statistics

  int64_t statistics_elements() const {
    int64_t sum = 0;
    for (size_t i = step_.num_parameters(); i < states_.size(); ++i) {
      sum += states_[i].type.shape.num_elements();
    }
    return sum;
  }

  std::vector<float> statistics() const {
    std::vector<float> values;
    for (size_t i = step_.num_parameters(); i < states_.size(); ++i) {
      pack(step_.state(i), values);
    }
    return values;
  }

  void set_statistics(std::span<const float> values) {
    for (size_t i = step_.num_parameters(); i < states_.size(); ++i) {
      step_.set_state(i, unpack(states_[i].type, values));
    }
  }

  void send_statistics() {
    const std::vector<float> values = statistics();
    comm_.send(0, std::as_bytes(std::span(values)));
  }

  void mean_statistics() {
    std::vector<float> mean = statistics();
    std::vector<float> other(mean.size());
    for (int64_t w = 1; w < options_.workers; ++w) {
      comm_.receive(w, std::as_writable_bytes(std::span(other)));
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += other[i];
    }
    for (float& value : mean) value /= static_cast<float>(options_.workers);
    set_statistics(mean);
  }

  void send_order(const Order& order) {
    const std::vector<float> values = statistics();
    for (int64_t w = 1; w < options_.workers; ++w) {
      send_message(comm_, w, order);
      comm_.send(w, std::as_bytes(std::span(values)));
    }
  }

  // --- worker 0

  void run_epoch(data::Loader& test_loader) {
    runs::CheckpointInfo& info = log_->info();
    const Order order{1, info.epoch, tickets()};
    send_order(order);
    const Stopwatch watch;
    const Answer ended = compute(order, &log_->hooks());
    EpochReport report = sum_up(ended, watch.seconds());
    note_records();
    mean_statistics();
    if (ended.stopped != 0) log_->interrupt();
    if (ended.gradients < order.tickets) {
      TY_CHECK(ended.stopped != 0, "{} gradients of {}", ended.gradients, order.tickets);
      return;
    }
    info.step += ended.gradients / gradients_per_update(options_);
    info.samples += ended.images;
    report.step = info.step;
    read_servers();
    report.test =
        evaluate(trained_model(), test_loader, task_.evaluator, static_cast<int>(config_.threads));
    log_->end_epoch(std::move(report), [this] { return states_to_save(); });
  }

  int64_t tickets() const {
    const int64_t whole = gradients_per_epoch(options_, loader_.num_batches(), config_.accumulate);
    if (config_.max_steps == 0) return whole;
    return std::min(whole,
                    (config_.max_steps - log_->info().step) * gradients_per_update(options_));
  }

  EpochReport sum_up(const Answer& ended, double seconds) const {
    const MetricSums sums = sums_of(ended.loss, ended.images, ended.metrics);
    EpochReport report;
    report.epoch = log_->info().epoch + 1;
    report.train_loss = sums.mean_loss();
    report.train_scores = metric_scores(metrics_, sums);
    report.train_seconds = seconds;
    report.wait_seconds = data_s_;
    report.images_per_s = static_cast<double>(ended.images) / seconds;
    report.tokens = loader_.row_tokens();
    return report;
  }

  void note_records() {
    StalenessCount epoch;
    int64_t step = log_->info().step;
    for (size_t s = 0; s < result_.servers.size(); ++s) {
      for (const PushRecord& r : client_.records(static_cast<int64_t>(s))) {
        result_.servers[s].staleness.add(r.staleness);
        if (s > 0) continue;
        WorkerReport& worker = result_.workers[static_cast<size_t>(r.worker)];
        worker.staleness.add(r.staleness);
        worker.most_ahead = std::max(worker.most_ahead, r.lead);
        worker.compute_s += r.compute_s;
        worker.wait_s += r.wait_s;
        epoch.add(r.staleness);
        step = r.update;
        write_record(r);
      }
    }
    log_->metrics().append(
        Json::object({{"step", step},
                      {"epoch", log_->info().epoch + 1},
                      {"staleness_mean", epoch.mean()},
                      {"staleness_max", epoch.maximum()},
                      {"staleness_histogram", Json::array_of(epoch.histogram())}}));
  }

  void write_record(const PushRecord& r) {
    Json line = Json::object({{"step", r.update},
                              {"epoch", log_->info().epoch},
                              {"worker", r.worker},
                              {"loss", r.loss}});
    for (const Score& score : metric_scores(metrics_, sums_of(r.loss, r.images, r.metrics))) {
      line[score.name] = score.value;
    }
    line["learning_rate"] = r.rate;
    line["staleness"] = r.staleness;
    line["ahead"] = r.lead;
    line["step_ms"] = r.compute_s * 1e3;
    line["pull_ms"] = r.wait_s * 1e3;
    log_->write_line(line);
  }

  std::vector<runs::StateTensor> states_to_save() const {
    std::vector<runs::StateTensor> states;
    for (const auto& [name, tensor] : saved_) {
      states.push_back({name, tensor.type(), [&tensor = tensor] { return tensor.clone(); }});
    }
    frozen_.add_states(states);
    return states;
  }

  // Everything that changes in training, by name.
  void read_servers() {
    saved_.clear();
    client_.get_state(
        [&](const std::string& name, Tensor tensor) { saved_.emplace(name, std::move(tensor)); });
    for (size_t i = step_.num_parameters(); i < states_.size(); ++i) {
      saved_.emplace(states_[i].name, step_.state(i));
    }
  }

  Graph trained_model() const {
    Graph trained = model_;
    for (const runs::NamedType& state : states_) {
      const ValueId id = trained.find_value(state.name);
      trained.mutable_value(id).constant =
          std::make_shared<const Tensor>(saved_.at(state.name).clone());
    }
    return trained;
  }

  void write_result(const runs::RunDirectory& directory,
                    const std::map<std::string, std::string>& metadata) {
    if (saved_.empty()) read_servers();
    std::vector<runs::NamedType> types = states_;
    frozen_.add_types(types);
    Graph trained = trained_model();
    if (const auto best = log_->exported_checkpoint()) take_weights(*best, types, trained);
    write_model(directory.path(), config_.model, trained, types, metadata);
  }

  void restore() {
    std::vector<runs::NamedType> types(
        states_.begin() + static_cast<ptrdiff_t>(step_.num_parameters()), states_.end());
    for (const std::vector<StatePiece>& states : map_.states) {
      for (const StatePiece& state : states) {
        if (state.first == 0) types.push_back(state.whole);
      }
    }
    frozen_.add_types(types);
    const std::optional<runs::Checkpoint> checkpoint = log_->restore(types);
    if (!checkpoint) {
      client_.set_state(0, [&](const StatePiece& state) {
        if (!state.is_parameter) return Tensor::zeros(state.whole.type);
        const ValueId id = model_.find_value(state.whole.name);
        return initializer_data(model_.value(id), log_->info().seed)->clone();
      });
      return;
    }
    frozen_.require_same(*checkpoint);
    for (size_t i = step_.num_parameters(); i < states_.size(); ++i) {
      step_.set_state(i, checkpoint->tensor(states_[i].name));
    }
    client_.set_state(log_->info().step, [&](const StatePiece& state) {
      return checkpoint->tensor(state.whole.name);
    });
  }

  const Task& task_;
  dist::Communicator& comm_;
  const TrainConfig& config_;
  std::string hash_;
  const ServerOptions& options_;
  const Graph& model_;
  TrainingStep& step_;
  FrozenWeights frozen_;
  std::vector<runs::NamedType> states_;             // parameters, then running statistics
  std::vector<TrainingGraph::MetricPort> metrics_;  // those that are reported
  data::Loader& loader_;
  ServerClient client_;
  const ShardMap& map_;
  double data_s_ = 0;
  // Worker 0.
  std::optional<RunLog> log_;
  std::map<std::string, Tensor> saved_;
  int64_t reported_images_ = 0;
  double reported_loss_ = 0;
  ServerTrainResult result_;
};

}  // namespace

ServerTrainResult train_with_servers(dist::Communicator& comm, const TrainConfig& config,
                                     const Graph& model, const data::Dataset& training,
                                     const data::Dataset& test, const runs::RunDirectory* directory,
                                     const TrainHooks& hooks) {
  return train_with_servers(task_for(config, training), comm, config, model, training, test,
                            directory, hooks);
}

ServerTrainResult train_with_servers(const Task& task, dist::Communicator& comm,
                                     const TrainConfig& config, const Graph& model,
                                     const data::Dataset& training, const data::Dataset& test,
                                     const runs::RunDirectory* directory, const TrainHooks& hooks) {
  const ServerOptions options = server_options(config);
  TY_REQUIRE(comm.size() == options.workers + options.servers,
             "{} workers and {} servers need as many ranks; there are {}", options.workers,
             options.servers, comm.size());
  comm.set_limit_s(config.wait_limit);
  const TrainConfig own = of_one_worker(config, options, comm);
  StepOptions step_settings = step_options(
      own,
      {.threads = static_cast<int>(own.threads), .device = worker_device(config, options, comm)},
      task.objective);
  step_settings.update = false;
  const OptimizerOptions& optimizer = step_settings.training.optimizer;
  data::Loader loader(training, training_loader(own, WorkerIdentity{}, training));
  if (comm.rank() >= options.workers) {
    // What to serve follows from the network alone; nothing of it is compiled here.
    const std::vector<runs::NamedType> parameters =
        trained_parameters(model, step_settings.training);
    const ShardMap map = map_shards(model, parameters, optimizer, options.servers, options.shard);
    const auto server = static_cast<size_t>(comm.rank() - options.workers);
    const RatePlan rates{parse_schedule(config.schedule),
                         base_rate(options.mode == ServerMode::kSync ? config : own),
                         static_cast<double>(config.epochs),
                         gradients_per_epoch(options, loader.num_batches(), own.accumulate) /
                             gradients_per_update(options)};
    serve_shard(comm, options, map.parameters[server], optimizer, rates);
    return {};
  }
  const Graph start = with_frozen_numbers(model, config);
  TrainingStep step(start, step_settings);
  require_input(step.input(0).type(), loader);
  const std::vector<runs::NamedType> states = worker_states(step);
  const ShardMap map = map_shards(start, std::span(states).first(step.num_parameters()), optimizer,
                                  options.servers, options.shard);
  WorkerRun run(task, comm, own, config_hash(config), options, start, step, loader, map);
  if (comm.rank() > 0) {
    run.follow();
    return {};
  }
  TY_CHECK(directory != nullptr, "rank 0 needs a run directory");
  return run.lead(test, *directory, hooks);
}

}  // namespace trainyard::train

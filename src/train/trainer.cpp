#include "train/trainer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "engine/device/device_list.h"
#include "engine/host_nodes.h"
#include "runs/events.h"
#include "train/frozen_weights.h"
#include "train/metric_sums.h"
#include "train/replicas.h"
#include "train/run_log.h"
#include "train/run_parts.h"
#include "train/schedule.h"
#include "train/training_step.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

// What workers exchange after a step: a row of numbers for each of them. Every worker fills
// its own row, and the sum over the workers is the table of all.
class StepTable {
 public:
  enum Field : size_t {
    kLoss,  // times images
    kImages,
    kWantsStop,
    kComputeMs,  // forward, backward and update without waiting for others
    kCommunicationMs,
    kExposedMs,  // of the communication, what nothing else was done in
    kDataMs,
    kNumFields
  };

  StepTable(size_t workers, size_t metrics)
      : columns_(kNumFields + metrics), workers_(workers), values_(workers * columns_, 0) {}

  size_t workers() const { return workers_; }
  std::span<double> values() { return values_; }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }
  double& at(size_t worker, Field field) { return values_[worker * columns_ + field]; }
  double& metric(size_t worker, size_t index) {
    return values_[worker * columns_ + kNumFields + index];
  }
  double total(Field field) { return total_of_column(field); }
  double metric_total(size_t index) { return total_of_column(kNumFields + index); }

 private:
  double total_of_column(size_t column) const {
    double sum = 0;
    for (size_t w = 0; w < workers_; ++w) sum += values_[w * columns_ + column];
    return sum;
  }

  size_t columns_;
  size_t workers_;
  std::vector<double> values_;
};

// While it lives, each run of `step` writes a histogram of what every node of the network computes
// (activation/NODE) and of the gradient of every parameter (gradient/PARAMETER), filed under `at`.
// Both arguments outlive it.
class StepHistograms {
 public:
  StepHistograms(TrainingStep& step, runs::EventWriter& events, int64_t at);
  ~StepHistograms() { step_.set_observer(nullptr); }
  StepHistograms(const StepHistograms&) = delete;
  StepHistograms& operator=(const StepHistograms&) = delete;

 private:
  TrainingStep& step_;
};

// Under what a result is written; empty: it is none that people look for.
std::string tag_of(const runtime::StepView& view, const std::string& output,
                   const std::map<std::string, std::string>& gradients) {
  if (const auto own = gradients.find(output); own != gradients.end()) {
    return "gradient/" + own->second;
  }
  const runtime::StepInfo& info = view.info();
  const bool of_network =
      info.phase == static_cast<uint8_t>(Phase::kForward) && !info.node.starts_with("loss.");
  return of_network ? "activation/" + info.node : std::string();
}

void write_output(const runtime::StepView& view, size_t i, const std::string& tag, int64_t at,
                  runs::EventWriter& events) {
  // In any order is good enough, and needs no copy.
  const std::span<const std::byte> bytes = view.elements(i);
  const auto count = static_cast<size_t>(view.output_shape(i).num_elements());
  if (bytes.size() == count * sizeof(float)) {
    events.write_histogram(at, tag, {reinterpret_cast<const float*>(bytes.data()), count});
    return;
  }
  const Tensor values = view.output(i);
  if (!values.empty() && values.dtype() == DType::kF32) {
    events.write_histogram(at, tag, values.values<float>());
  }
}

StepHistograms::StepHistograms(TrainingStep& step, runs::EventWriter& events, int64_t at)
    : step_(step) {
  std::map<std::string, std::string> gradients;
  for (size_t i = 0; i < step.gradient_names().size(); ++i) {
    gradients.emplace(step.gradient_names()[i], step.states()[i].name);
  }
  step.set_observer([&events, at, gradients = std::move(gradients)](const runtime::StepView& view) {
    // Further outputs of a node are its statistics, or what its gradient needs.
    for (size_t i = 0; i < view.num_outputs(); ++i) {
      if (view.output_name(i).empty()) continue;
      const std::string tag = tag_of(view, view.output_name(i), gradients);
      if (tag.empty() || (i > 0 && tag.starts_with("activation/"))) continue;
      write_output(view, i, tag, at, events);
    }
  });
}

ReplicaOptions replica_options(const TrainConfig& config) {
  return {.all_reduce = config.all_reduce,
          .overlap = !config.no_overlap,
          .stall_warning_s = config.stall_warning};
}

}  // namespace

struct Trainer::Impl {
  Impl(Task task, const TrainConfig& config, const Graph& model, const data::Dataset& training,
       const data::Dataset& test, dist::Communicator& comm, std::string_view version)
      : task_(std::move(task)),
        config_(config),
        schedule_(parse_schedule(config.schedule)),
        base_rate_(base_rate(config)),
        model_(with_frozen_numbers(model, config)),
        replicas_((comm.set_limit_s(config.wait_limit), comm), replica_options(config)),
        place_(find_place(training, version)),
        options_(step_options(config, place_, task_.objective)),
        fit_(fit_limit()),
        step_(model_, options_),
        memory_(memory_of(step_.executable(), config.data_workers)),
        frozen_(model_, step_.states()),
        metrics_(reported_metrics(step_.metrics())),
        table_(static_cast<size_t>(place_.workers), metrics_.size()),
        loader_(training, training_loader(config, place_, training)),
        test_loader_(test, test_loader(config, place_, loader_.augmentations())) {
    require_input(step_.input(0).type(), loader_);
    require_same_layouts();
    name_buckets();
  }

  const StepMemory& memory() const { return memory_; }
  const std::optional<MemoryFit>& memory_fit() const { return fit_; }

  TrainResult run(const runs::RunDirectory* directory, const TrainHooks& hooks) {
    TY_CHECK((directory != nullptr) == replicas_.leads(), "rank {} with or without a directory",
             replicas_.rank());
    replicas_.set_warn(hooks.on_warning);
    const std::string left = runtime::host_nodes_text(step_.executable());
    if (!left.empty() && replicas_.leads() && hooks.on_warning) hooks.on_warning(left);
    log_.emplace(config_, config_hash(config_), directory, hooks);
    if (const auto checkpoint = log_->restore(state_types())) {
      frozen_.require_same(*checkpoint);
      for (size_t i = 0; i < step_.states().size(); ++i) {
        step_.set_state(i, checkpoint->tensor(step_.states()[i].name));
      }
    }
    share_start();
    log_->begin();
    if (directory != nullptr) {
      write_file(directory->path() / "memory.json", to_json(memory_, fit_).dump() + "\n");
    }
    while (all_go_on()) run_epoch();
    const std::map<std::string, std::string> metadata = log_->metadata();
    TrainResult result = log_->result();
    if (!result.interrupted && directory != nullptr) {
      Graph trained = model_;
      step_.copy_weights_to(trained, averaged());
      std::vector<runs::NamedType> types = state_types();
      types.resize(step_.num_model_states());
      frozen_.add_types(types);
      if (const auto best = log_->exported_checkpoint()) take_weights(*best, types, trained);
      write_model(directory->path(), config_.model, trained, types, metadata);
    }
    return result;
  }

 private:
  // Differences between workers are found before anything is made, and so named by their names.
  WorkerIdentity find_place(const data::Dataset& training, std::string_view version) {
    replicas_.require_same(common_facts(config_, model_, training, version));
    const int threads =
        config_.threads > 0 ? static_cast<int>(config_.threads) : replicas_.fair_threads();
    return {replicas_.rank(), replicas_.workers(), threads, &replicas_,
            device::open_network_device(config_.device, replicas_.rank())};
  }

  std::optional<MemoryFit> fit_limit() {
    if (config_.memory.empty()) return std::nullopt;
    return fit_memory(model_, parse_bytes(config_.memory, "memory"), config_.data_workers,
                      options_);
  }

  // Sums of gradients in different layouts would be wrong without an error.
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

  // --- one epoch

  // Where patience counts, rank 0 decides: it alone knows the best score of a run that is resumed.
  bool all_go_on() {
    if (config_.patience == 0) return log_->goes_on();
    char goes_on = log_->goes_on() ? 1 : 0;
    replicas_.broadcast(std::as_writable_bytes(std::span(&goes_on, 1)));
    return goes_on != 0;
  }

  void run_epoch() {
    const Stopwatch watch;
    const int64_t images_before = sums_.images;
    runs::CheckpointInfo& info = log_->info();
    loader_.start_epoch(info.epoch, info.epoch_step);
    while (info.epoch_step < loader_.num_batches()) {
      const bool wants_stop = run_step();
      const bool stop = wants_stop || log_->out_of_steps();
      const bool epoch_ends = info.epoch_step == loader_.num_batches();
      const bool due = config_.checkpoint_every > 0 && info.step % config_.checkpoint_every == 0;
      if (!epoch_ends && (stop || due)) save_inside_epoch();
      if (stop && !epoch_ends) {
        if (!log_->out_of_steps()) log_->interrupt();
        return;
      }
    }
    end_epoch(watch.seconds(), images_before);
  }

  double rate() const {
    const runs::CheckpointInfo& info = log_->info();
    const double epoch =
        static_cast<double>(info.epoch) +
        static_cast<double>(info.epoch_step) / static_cast<double>(loader_.num_batches());
    return learning_rate(schedule_, base_rate_, epoch, static_cast<double>(config_.epochs));
  }

  // Whether somebody wants to stop.
  bool run_step() {
    const Stopwatch watch;
    const double waited_before = loader_.wait_seconds();
    const data::Batch* batch = loader_.next();
    TY_CHECK(batch != nullptr, "the epoch ended early");
    const double rate_now = rate();
    replicas_.take_times();
    passed_ = {};
    const auto seen = histograms_of_last_step();
    run_pass(*batch, rate_now);
    for (const data::Batch& more : batch->more) run_pass(more, rate_now);
    runs::CheckpointInfo& info = log_->info();
    info.step += 1;
    info.epoch_step += 1;
    fill_table(loader_.wait_seconds() - waited_before);
    replicas_.sum(table_.values());
    const MetricSums all = step_sums();
    sums_.loss += all.loss;
    sums_.images += all.images;
    sums_.metrics.resize(metrics_.size());
    for (size_t i = 0; i < metrics_.size(); ++i) sums_.metrics[i] += all.metrics[i];
    info.samples += all.images;
    exposed_seconds_ +=
        table_.total(StepTable::kExposedMs) / 1e3 / static_cast<double>(table_.workers());
    if (log_->leads()) write_step(all, rate_now, watch.seconds());
    report_step(all);
    return table_.total(StepTable::kWantsStop) > 0;
  }

  // Of each epoch, where they are asked for: the states follow when it has ended.
  std::unique_ptr<StepHistograms> histograms_of_last_step() {
    const runs::CheckpointInfo& info = log_->info();
    const bool last = info.epoch_step + 1 == loader_.num_batches();
    if (!config_.histograms || !log_->leads() || !last) return nullptr;
    return std::make_unique<StepHistograms>(step_, log_->events(), info.step + 1);
  }

  // Whether averages of weights have begun, which are then tested and exported.
  bool averaged() { return log_->info().values[kAveragedValue] > 0; }

  // The share of the next weights in the averages: all of it at first. The decay of the moving
  // average rises with the updates, so that it forgets the random start.
  double average_share() {
    const double count = log_->info().values[kAveragedValue];
    if (log_->info().epoch + 1 < config_.swa) return 0;
    if (config_.swa > 0 || count == 0) return 1 / (count + 1);
    return 1 - std::min(config_.ema, (1 + count) / (10 + count));
  }

  // What goes through the network at once.
  void run_pass(const data::Batch& batch, double rate_now) {
    feed_step(batch, task_.feed, step_);
    const double share = config_.ema > 0 || config_.swa > 0 ? average_share() : 0;
    const int64_t updates_before = step_.updates();
    step_.set_average_share(share);
    step_.run(rate_now);
    if (share > 0 && step_.updates() > updates_before) log_->info().values[kAveragedValue] += 1;
    const auto weight = static_cast<double>(batch.valid);
    passed_.sums.loss += step_.loss() * weight;
    passed_.sums.images += batch.valid;
    passed_.sums.metrics.resize(metrics_.size());
    for (size_t i = 0; i < metrics_.size(); ++i) {
      const double value = step_.metric(metrics_[i].name);
      passed_.sums.metrics[i] += metrics_[i].kind == MetricKind::kCount ? value : value * weight;
    }
    passed_.seconds.forward += step_.seconds().forward;
    passed_.seconds.backward += step_.seconds().backward;
    passed_.seconds.update += step_.seconds().update;
  }

  // This worker's row.
  void fill_table(double data_seconds) {
    const ExchangeTimes times = replicas_.take_times();
    const PhaseSeconds& phases = passed_.seconds;
    const double busy = phases.forward + phases.backward + phases.update - times.exposed_s;
    const auto own = static_cast<size_t>(replicas_.rank());
    const TrainHooks& hooks = log_->hooks();
    table_.clear();
    table_.at(own, StepTable::kLoss) = passed_.sums.loss;
    table_.at(own, StepTable::kImages) = static_cast<double>(passed_.sums.images);
    table_.at(own, StepTable::kWantsStop) = hooks.should_stop && hooks.should_stop() ? 1 : 0;
    table_.at(own, StepTable::kComputeMs) = busy * 1e3;
    table_.at(own, StepTable::kCommunicationMs) = times.communication_s * 1e3;
    table_.at(own, StepTable::kExposedMs) = times.exposed_s * 1e3;
    table_.at(own, StepTable::kDataMs) = data_seconds * 1e3;
    for (size_t i = 0; i < metrics_.size(); ++i) table_.metric(own, i) = passed_.sums.metrics[i];
  }

  // Of all workers.
  MetricSums step_sums() {
    MetricSums all{.loss = table_.total(StepTable::kLoss),
                   .images = static_cast<int64_t>(table_.total(StepTable::kImages)),
                   .metrics = {}};
    for (size_t i = 0; i < metrics_.size(); ++i) all.metrics.push_back(table_.metric_total(i));
    return all;
  }

  void report_step(const MetricSums& step) {
    if (!log_->hooks().on_step) return;
    log_->hooks().on_step({.epoch = log_->info().epoch + 1,
                           .epochs = config_.epochs,
                           .step = log_->info().epoch_step,
                           .steps = loader_.num_batches(),
                           .images = step.images,
                           .loss = sums_.mean_loss(),
                           .scores = metric_scores(metrics_, sums_),
                           .wait_seconds = table_.at(0, StepTable::kDataMs) / 1e3,
                           .tokens = loader_.row_tokens(),
                           .step_loss = step.mean_loss()});
  }

  void write_step(const MetricSums& all, double rate_now, double took) {
    const runs::CheckpointInfo& info = log_->info();
    Json line =
        Json::object({{"step", info.step}, {"epoch", info.epoch}, {"loss", all.mean_loss()}});
    for (const Score& score : metric_scores(metrics_, all)) line[score.name] = score.value;
    line["learning_rate"] = rate_now;
    if (step_.updates() > 0) line["gradient_norm"] = step_.gradient_norm();
    if (step_.loss_scale()) line[kLossScaleValue] = step_.loss_scale()->factor;
    line["step_ms"] = took * 1e3;
    line["forward_ms"] = passed_.seconds.forward * 1e3;
    line["backward_ms"] = passed_.seconds.backward * 1e3;
    line["update_ms"] = passed_.seconds.update * 1e3;
    line["data_ms"] = table_.at(0, StepTable::kDataMs);
    if (table_.workers() > 1) {
      Json rows = Json::array();
      for (size_t w = 0; w < table_.workers(); ++w) {
        rows.push_back(
            Json::object({{"compute_ms", table_.at(w, StepTable::kComputeMs)},
                          {"communication_ms", table_.at(w, StepTable::kCommunicationMs)},
                          {"exposed_ms", table_.at(w, StepTable::kExposedMs)},
                          {"data_ms", table_.at(w, StepTable::kDataMs)}}));
      }
      line["workers"] = std::move(rows);
    }
    log_->write_line(line);
    std::vector<runs::Scalar> scalars = {{"train/loss", all.mean_loss()},
                                         {"train/learning_rate", rate_now}};
    if (step_.updates() > 0) scalars.push_back({"train/gradient_norm", step_.gradient_norm()});
    log_->events().write(info.step, scalars);
  }

  void end_epoch(double train_seconds, int64_t images_before) {
    EpochReport report;
    report.epoch = log_->info().epoch + 1;
    report.step = log_->info().step;
    report.train_loss = sums_.mean_loss();
    report.train_scores = metric_scores(metrics_, sums_);
    report.train_seconds = train_seconds;
    report.wait_seconds = loader_.wait_seconds();
    report.exposed_seconds = std::exchange(exposed_seconds_, 0.0);
    report.tokens = loader_.row_tokens();
    report.images_per_s = static_cast<double>(sums_.images - images_before) / train_seconds;
    if (config_.broadcast_buffers) share_statistics();
    report.test = test_network_of(0);
    if (config_.test_each_worker) {
      report.worker_scores.push_back(report.test.score(report.test.decides));
      for (int64_t rank = 1; rank < replicas_.workers(); ++rank) {
        report.worker_scores.push_back(test_network_of(rank).score(report.test.decides));
      }
    }
    if (task_.sample && log_->leads()) {
      Graph trained = model_;
      step_.copy_weights_to(trained);
      report.sample = task_.sample(trained);
    }
    sums_ = {};
    note_sums();
    log_->end_epoch(std::move(report), [this] { return states(); });
  }

  // Every worker tests a part of the data.
  Evaluation test_network_of(int64_t rank) {
    return evaluate(network_of(rank), test_loader_, task_.evaluator, place_.threads,
                    {.rank = replicas_.rank(),
                     .workers = replicas_.workers(),
                     .sum = [&](std::span<double> sums) { replicas_.sum(sums); }},
                    place_.device);
  }

  // Parameters are the same on all workers; running statistics are those of each one's own images.
  Graph network_of(int64_t rank) {
    Graph trained = model_;
    step_.copy_weights_to(trained, averaged());
    if (replicas_.workers() == 1) return trained;
    for (size_t i = step_.num_parameters(); i < step_.num_model_states(); ++i) {
      const ValueId id = trained.find_value(step_.states()[i].name);
      const size_t own = averaged() ? step_.average_of(i) : i;
      trained.mutable_value(id).constant =
          std::make_shared<const Tensor>(rank == 0 ? broadcast_state(own) : state_of(rank, own));
    }
    return trained;
  }

  void share_statistics() {
    if (replicas_.workers() == 1) return;
    for (size_t i = step_.num_parameters(); i < step_.num_model_states(); ++i) {
      step_.set_state(i, broadcast_state(i));
    }
  }

  // A sum to which the others add nothing.
  Tensor state_of(int64_t rank, size_t i) {
    Tensor value = step_.state(i);
    const std::span<float> numbers = value.values<float>();
    std::vector<double> sums(numbers.size(), 0);
    if (rank == replicas_.rank()) std::copy(numbers.begin(), numbers.end(), sums.begin());
    replicas_.sum(sums);
    std::transform(sums.begin(), sums.end(), numbers.begin(),
                   [](double sum) { return static_cast<float>(sum); });
    return value;
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
    frozen_.add_types(types);
    return types;
  }

  std::vector<runs::StateTensor> states() const {
    std::vector<runs::StateTensor> states;
    for (size_t i = 0; i < step_.states().size(); ++i) {
      const runtime::Port& port = step_.states()[i];
      states.push_back({port.name, port.type, [this, i] { return step_.state(i); }});
    }
    frozen_.add_states(states);
    return states;
  }

  void save_inside_epoch() {
    note_sums();
    log_->save([this] { return states(); }, /*best=*/false);
  }

  // What a resumed run restores: the sums of the epoch and how often weights were updated.
  void note_sums() {
    std::map<std::string, double>& values = log_->info().values;
    values["epoch_loss"] = sums_.loss;
    values["epoch_images"] = static_cast<double>(sums_.images);
    sums_.metrics.resize(metrics_.size());
    for (size_t i = 0; i < metrics_.size(); ++i) {
      values["epoch_" + metrics_[i].name] = sums_.metrics[i];
    }
    values["updates"] = static_cast<double>(step_.updates());
    if (!step_.loss_scale()) return;
    values[kLossScaleValue] = step_.loss_scale()->factor;
    values[kLossScaleAgeValue] = static_cast<double>(step_.loss_scale()->updates);
  }

  // Everybody starts where rank 0 stands, with its parameters, statistics and optimizer state.
  void share_start() {
    runs::CheckpointInfo& info = log_->info();
    std::vector<std::string> names = {"epoch_images", "epoch_loss", "seconds", "updates",
                                      kAveragedValue};
    if (step_.loss_scale()) names.insert(names.end(), {kLossScaleValue, kLossScaleAgeValue});
    for (const TrainingGraph::MetricPort& metric : metrics_) {
      names.push_back("epoch_" + metric.name);
    }
    std::vector<double> numbers = {
        static_cast<double>(info.epoch), static_cast<double>(info.epoch_step),
        static_cast<double>(info.step), static_cast<double>(info.samples)};
    for (const std::string& name : names) numbers.push_back(info.values[name]);
    replicas_.broadcast(std::as_writable_bytes(std::span(numbers)));
    info.epoch = static_cast<int64_t>(numbers[0]);
    info.epoch_step = static_cast<int64_t>(numbers[1]);
    info.step = static_cast<int64_t>(numbers[2]);
    info.samples = static_cast<int64_t>(numbers[3]);
    size_t next = 4;
    for (const std::string& name : names) info.values[name] = numbers[next++];
    sums_.loss = info.values["epoch_loss"];
    sums_.images = static_cast<int64_t>(info.values["epoch_images"]);
    for (const TrainingGraph::MetricPort& metric : metrics_) {
      sums_.metrics.push_back(info.values["epoch_" + metric.name]);
    }
    step_.set_progress(info.step * passes_of_step(config_),
                       static_cast<int64_t>(info.values["updates"]));
    // A run that computed in another precision so far has none.
    if (step_.loss_scale() && info.values[kLossScaleValue] > 0) {
      step_.set_loss_scale(
          {info.values[kLossScaleValue], static_cast<int64_t>(info.values[kLossScaleAgeValue])});
    }
    if (replicas_.workers() == 1) return;
    for (size_t i = 0; i < step_.states().size(); ++i) step_.set_state(i, broadcast_state(i));
  }

  Task task_;
  const TrainConfig& config_;
  Schedule schedule_;
  double base_rate_;
  Graph model_;  // with the numbers of what is frozen
  Replicas replicas_;
  WorkerIdentity place_;
  StepOptions options_;
  std::optional<MemoryFit> fit_;
  TrainingStep step_;
  StepMemory memory_;
  FrozenWeights frozen_;
  std::vector<TrainingGraph::MetricPort> metrics_;  // those that are reported
  StepTable table_;
  data::Loader loader_;
  data::Loader test_loader_;
  std::optional<RunLog> log_;
  // Of this step's passes.
  struct {
    MetricSums sums;
    PhaseSeconds seconds;
  } passed_;
  MetricSums sums_;
  double exposed_seconds_ = 0;  // of this epoch and process
};

Trainer::Trainer(const TrainConfig& config, const Graph& model, const data::Dataset& training,
                 const data::Dataset& test, dist::Communicator& comm, std::string_view version)
    : Trainer(task_for(config, training), config, model, training, test, comm, version) {}

Trainer::Trainer(Task task, const TrainConfig& config, const Graph& model,
                 const data::Dataset& training, const data::Dataset& test, dist::Communicator& comm,
                 std::string_view version)
    : impl_(std::make_unique<Impl>(std::move(task), config, model, training, test, comm, version)) {
}

Trainer::~Trainer() = default;

const StepMemory& Trainer::memory() const {
  return impl_->memory();
}

const std::optional<MemoryFit>& Trainer::memory_fit() const {
  return impl_->memory_fit();
}

TrainResult Trainer::run(const runs::RunDirectory* directory, const TrainHooks& hooks) {
  return impl_->run(directory, hooks);
}

}  // namespace trainyard::train

#include "train/servers/parameter_server.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "dist/wait.h"
#include "train/servers/parameter_messages.h"
#include "train/training_step.h"
#include "train/update_nodes.h"

namespace trainyard::train {
namespace {

// The parameters of a shard and their update, compiled.
class Shard {
 public:
  Shard(std::span<const runs::NamedType> parameters, const OptimizerOptions& optimizer)
      : num_parameters_(parameters.size()),
        context_(compile_update(parameters, optimizer, states_)) {
    for (const runs::NamedType& p : parameters) elements_ += p.type.shape.num_elements();
    for (const runtime::Port& state : states_) state_elements_ += state.type.shape.num_elements();
  }

  int64_t elements() const { return elements_; }
  int64_t state_elements() const { return state_elements_; }

  void update(std::span<const float> gradients, double rate, int64_t number) {
    for (size_t i = 0; i < num_parameters_; ++i) {
      const std::span<float> input = context_.input(i).values<float>();
      std::copy_n(gradients.begin(), input.size(), input.begin());
      gradients = gradients.subspan(input.size());
    }
    context_.input(num_parameters_).values<float>()[0] = static_cast<float>(rate);
    context_.input(num_parameters_ + 1).values<int64_t>()[0] = number;
    context_.run();
    weights_.clear();
  }

  std::span<const float> weights() {
    if (weights_.empty()) weights_ = flat(num_parameters_);
    return weights_;
  }
  std::vector<float> state() const { return flat(states_.size()); }
  void set_state(std::span<const float> values) {
    for (size_t i = 0; i < states_.size(); ++i) {
      context_.set_state(i, unpack(states_[i].type, values));
    }
    weights_.clear();
  }

 private:
  static runtime::Executable compile_update(std::span<const runs::NamedType> parameters,
                                            const OptimizerOptions& optimizer,
                                            std::vector<runtime::Port>& states) {
    runtime::Executable executable =
        compile_step(make_update_graph(parameters, optimizer), {.threads = 1});
    states = executable.states();
    return executable;
  }

  std::vector<float> flat(size_t count) const {
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i) pack(context_.state(i), values);
    return values;
  }

  size_t num_parameters_;
  std::vector<runtime::Port> states_;
  runtime::ExecutionContext context_;
  int64_t elements_ = 0;
  int64_t state_elements_ = 0;
  std::vector<float> weights_;  // empty: to be read anew
};

class Server {
 public:
  Server(dist::Communicator& comm, const ServerOptions& options,
         std::span<const runs::NamedType> parameters, const OptimizerOptions& optimizer,
         const RatePlan& rates)
      : comm_(comm),
        options_(options),
        rates_(rates),
        shard_(parameters, optimizer),
        workers_(static_cast<size_t>(options.workers)),
        ranks_(workers_.size()) {
    std::iota(ranks_.begin(), ranks_.end(), int64_t{0});
  }

  void serve() {
    while (std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& w) { return w.place != WorkerState::kGone; })) {
      constexpr double kLook = 1;
      const auto from = comm_.find_message(ranks_, std::min(kLook, comm_.limit_s() / 2));
      now_ = awake_.look(watch_.seconds());
      if (from) handle(*from);
      require_signs_of_life();
    }
  }

 private:
  enum class WorkerState : uint8_t {
    kComputing,  // has weights
    kPulling,    // waits for weights
    kDone,       // knows that no batch is left
    kEnded,      // waits for the others to end the epoch
    kBetween,    // between two epochs
    kGone,
  };
  struct Worker {
    WorkerState place = WorkerState::kBetween;
    bool has_begun = false;  // the epoch
    int64_t clock = 0;       // gradients in this epoch
    int64_t read = 0;        // the version of its weights
    int64_t lead = 0;        // when it read them
    double heard = 0;        // when its last message came, or our answer went
    // kSync: its gradient until all are there.
    std::vector<float> gradient;
    std::optional<PushRecord> record;
  };

  bool active(const Worker& w) const {
    return w.place == WorkerState::kComputing || w.place == WorkerState::kPulling;
  }
  bool sync() const { return options_.mode == ServerMode::kSync; }

  void handle(int64_t rank) {
    const auto request = receive_message<Request>(comm_, rank);
    Worker& worker = workers_[static_cast<size_t>(rank)];
    worker.heard = now_;
    switch (request.kind) {
      case RequestKind::kSetState:
        set_state(rank, request);
        break;
      case RequestKind::kGetState:
        send_state(rank);
        break;
      case RequestKind::kPull:
        pull(worker, request);
        break;
      case RequestKind::kPush:
        push(rank, request);
        break;
      case RequestKind::kEnd:
        end(worker, request);
        break;
      case RequestKind::kRecords:
        send_records(rank);
        break;
      case RequestKind::kFinish:
        worker.place = WorkerState::kGone;
        break;
    }
    answer_pulls();
    answer_ends();
  }

  void set_state(int64_t rank, const Request& request) {
    std::vector<float> values(static_cast<size_t>(shard_.state_elements()));
    comm_.receive(rank, std::as_writable_bytes(std::span(values)));
    shard_.set_state(values);
    version_ = request.updates;
  }

  void send_state(int64_t rank) {
    const std::vector<float> values = shard_.state();
    comm_.send(rank, std::as_bytes(std::span(values)));
  }

  void pull(Worker& worker, const Request& request) {
    if (worker.place == WorkerState::kBetween) open_epoch(request);
    worker.place = WorkerState::kPulling;
    worker.has_begun = true;
  }

  // A worker may end an epoch without a batch of it.
  void end(Worker& worker, const Request& request) {
    if (worker.place == WorkerState::kBetween) open_epoch(request);
    worker.place = WorkerState::kEnded;
    worker.has_begun = true;
  }

  // The first request of an epoch opens it for all.

  void open_epoch(const Request& request) {
    epoch_ = request.epoch;
    tickets_ = request.tickets;
    given_ = 0;
    first_version_ = version_;
    stopped_ = false;
    totals_ = {};
    records_.clear();
    for (Worker& worker : workers_) {
      worker.place = WorkerState::kComputing;
      worker.clock = 0;
      worker.has_begun = false;
      worker.heard = now_;
    }
  }

  // --- gradients

  void push(int64_t rank, const Request& request) {
    Worker& worker = workers_[static_cast<size_t>(rank)];
    worker.gradient.resize(static_cast<size_t>(shard_.elements()));
    comm_.receive(rank, std::as_writable_bytes(std::span(worker.gradient)));
    worker.heard = now_;
    worker.clock += 1;
    if (request.stop != 0 && !stopped_) {
      stopped_ = true;
      last_round_ = worker.clock;
    }
    PushRecord record;
    record.worker = rank;
    record.staleness = version_ - worker.read;
    record.lead = worker.lead;
    record.loss = request.loss;
    record.metrics = request.metrics;
    record.images = request.images;
    record.compute_s = request.compute_s;
    record.wait_s = request.wait_s;
    worker.record = record;
    totals_.gradients += 1;
    totals_.images += request.images;
    for (size_t i = 0; i < kMostMetrics; ++i) totals_.metrics[i] += request.metrics[i];
    totals_.loss += request.loss * static_cast<double>(request.images);
    if (!sync()) {
      apply(worker.gradient, {&record, 1});
    } else if (std::all_of(workers_.begin(), workers_.end(),
                           [](const Worker& w) { return w.record.has_value(); })) {
      apply_mean();
    }
  }

  void apply_mean() {
    std::vector<PushRecord> records;
    std::vector<float>& sum = workers_[0].gradient;
    for (size_t w = 0; w < workers_.size(); ++w) {
      records.push_back(*workers_[w].record);
      workers_[w].record.reset();
      if (w == 0) continue;
      const std::vector<float>& more = workers_[w].gradient;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
    }
    const float share = 1.0F / static_cast<float>(workers_.size());
    for (float& value : sum) value *= share;
    apply(sum, records);
  }

  void apply(std::span<const float> gradient, std::span<PushRecord> records) {
    const double progress = static_cast<double>(version_ - first_version_) /
                            static_cast<double>(rates_.updates_per_epoch);
    double rate = learning_rate(rates_.schedule, rates_.base,
                                static_cast<double>(epoch_) + progress, rates_.epochs);
    const int64_t staleness = records[0].staleness;
    if (options_.staleness_aware && staleness > 1) rate /= static_cast<double>(staleness);
    shard_.update(gradient, rate, version_ + 1);
    ++version_;
    for (PushRecord& record : records) {
      record.update = version_;
      record.rate = rate;
      records_.push_back(record);
    }
  }

  // --- answers

  // The fewest gradients among workers that still compute.
  int64_t slowest() const {
    int64_t least = INT64_MAX;
    for (const Worker& w : workers_) {
      if (active(w)) least = std::min(least, w.clock);
    }
    return least;
  }

  // Nobody begins an epoch before all are there.
  bool may_go_on(const Worker& worker) const {
    if (!std::all_of(workers_.begin(), workers_.end(),
                     [](const Worker& w) { return w.has_begun; })) {
      return false;
    }
    if (sync()) return version_ - first_version_ == worker.clock;
    return options_.mode == ServerMode::kAsync ||
           worker.clock - slowest() <= options_.staleness_bound;
  }

  // One that gets no batch may free others that wait for it, so once more then.
  void answer_pulls() {
    for (bool again = true; again;) {
      again = false;
      for (size_t w = 0; w < workers_.size(); ++w) {
        Worker& worker = workers_[w];
        if (worker.place != WorkerState::kPulling || !may_go_on(worker)) continue;
        answer_pull(static_cast<int64_t>(w));
        again = again || worker.place == WorkerState::kDone;
      }
    }
  }

  void answer_pull(int64_t rank) {
    Worker& worker = workers_[static_cast<size_t>(rank)];
    Answer answer = totals_;
    answer.ticket = next_ticket(rank);
    worker.place = answer.ticket == kNoTicket ? WorkerState::kDone : WorkerState::kComputing;
    worker.read = version_;
    worker.lead = worker.clock - slowest();
    worker.heard = now_;
    send_message(comm_, rank, answer);
    if (answer.ticket != kNoTicket) comm_.send(rank, std::as_bytes(shard_.weights()));
  }

  int64_t next_ticket(int64_t rank) {
    if (tickets_ == kOtherTickets) return 0;
    const int64_t clock = workers_[static_cast<size_t>(rank)].clock;
    const int64_t ticket = sync() ? clock * options_.workers + rank : given_;
    // A synchronous round is computed by all or by none; nobody has begun the one after that of
    // the worker that wants to stop.
    if (ticket >= tickets_ || (stopped_ && (!sync() || clock >= last_round_))) return kNoTicket;
    ++given_;
    return ticket;
  }

  void answer_ends() {
    if (!std::all_of(workers_.begin(), workers_.end(),
                     [](const Worker& w) { return w.place == WorkerState::kEnded; })) {
      return;
    }
    Answer answer = totals_;
    answer.stopped = stopped_ ? 1 : 0;
    for (const int64_t rank : ranks_) {
      Worker& worker = workers_[static_cast<size_t>(rank)];
      worker.place = WorkerState::kBetween;
      worker.heard = now_;
      send_message(comm_, rank, answer);
    }
  }

  void send_records(int64_t rank) {
    send_message(comm_, rank, static_cast<int64_t>(records_.size()));
    comm_.send(rank, std::as_bytes(std::span(records_)));
  }

  void require_signs_of_life() const {
    const Worker* silent = nullptr;
    for (const Worker& w : workers_) {
      if (w.place == WorkerState::kPulling || w.place == WorkerState::kEnded ||
          w.place == WorkerState::kGone) {
        continue;
      }
      if (silent == nullptr || w.heard < silent->heard) silent = &w;
    }
    if (silent == nullptr) return;
    const double limit =
        comm_.limit_s() * (silent->place == WorkerState::kBetween ? kBetweenEpochs : 1.0);
    if (now_ - silent->heard <= limit) return;
    throw_failure(
        "rank {}, a parameter server, has waited {} s for worker {} (after {} of its "
        "gradients in epoch {}){}",
        comm_.rank(), limit, silent - workers_.data(), silent->clock, epoch_ + 1,
        comm_.stopped_ranks());
  }

  dist::Communicator& comm_;
  const ServerOptions& options_;
  const RatePlan& rates_;
  const Stopwatch watch_;
  dist::AwakeTime awake_;
  double now_ = 0;  // while awake, since the beginning
  Shard shard_;
  std::vector<Worker> workers_;
  std::vector<int64_t> ranks_;
  int64_t version_ = 0;  // updates done
  // Of the epoch.
  int64_t epoch_ = 0;
  int64_t tickets_ = 0;
  int64_t given_ = 0;
  int64_t first_version_ = 0;
  bool stopped_ = false;
  int64_t last_round_ = 0;  // once stopped
  Answer totals_;
  std::vector<PushRecord> records_;
};

}  // namespace

ServerMode parse_server_mode(std::string_view text) {
  if (text == "sync") return ServerMode::kSync;
  if (text == "async") return ServerMode::kAsync;
  if (text == "ssp") return ServerMode::kStaleSync;
  throw_error("there is no way '{}' to synchronize workers; known: sync, async, ssp", text);
}

std::map<int64_t, double> parse_slow(std::string_view text) {
  std::map<int64_t, double> slow;
  if (text.empty()) return slow;
  for (const std::string& part : split(text, ',')) {
    const size_t colon = part.find(':');
    char* end = nullptr;
    const double factor =
        colon == std::string::npos ? 0 : std::strtod(part.c_str() + colon + 1, &end);
    int64_t worker = 0;
    const char* worker_end = part.data() + std::min(colon, part.size());
    const auto [stop, failure] = std::from_chars(part.data(), worker_end, worker);
    const bool is_whole = failure == std::errc() && stop == worker_end && end != nullptr &&
                          end == part.c_str() + part.size();
    TY_REQUIRE(is_whole && std::isfinite(factor) && factor >= 1,
               "slow: '{}' is not a worker and a factor of at least 1, such as 1:2.5", part);
    slow[worker] = factor;
  }
  return slow;
}

ServerOptions server_options(const TrainConfig& config) {
  return {.workers = config.workers,
          .servers = config.servers,
          .mode = parse_server_mode(config.sync),
          .staleness_bound = config.staleness_bound,
          .staleness_aware = config.staleness_aware,
          .slow = parse_slow(config.slow),
          .shard = parse_shard_rule(config.shard)};
}

void check_servers(const TrainConfig& config) {
  const ServerOptions options = server_options(config);
  TY_REQUIRE(options.workers >= 1, "{} workers, expected 1 or more", options.workers);
  TY_REQUIRE(options.servers >= 1, "{} servers, expected 0 or more", options.servers);
  TY_REQUIRE(options.staleness_bound >= 0, "staleness_bound is {}, expected 0 or more",
             options.staleness_bound);
  for (const auto& [worker, factor] : options.slow) {
    TY_REQUIRE(0 <= worker && worker < options.workers, "slow: there is no worker {} of {}", worker,
               options.workers);
  }
  TY_REQUIRE(config.batch % options.workers == 0,
             "a batch of {} cannot be dealt out evenly to {} workers", config.batch,
             options.workers);
  TY_REQUIRE(!config.sync_bn,
             "sync_bn sums over workers that compute the same layer at the same time, and workers "
             "of parameter servers do not wait for each other; use it without servers");
  TY_REQUIRE(config.optimizer != "muon" && config.optimizer != "adafactor",
             "{} sees parameters as matrices of a network, and servers have pieces of them; use "
             "another optimizer, or no servers",
             config.optimizer);
  TY_REQUIRE(config.ema == 0 && config.swa == 0,
             "ema and swa are for workers that sum among themselves, not for parameter servers");
  TY_REQUIRE(
      config.clip_norm == 0 || options.servers == 1,
      "clip_norm needs the norm of all gradients, but each of {} servers has a part; use one",
      options.servers);
}

void StalenessCount::add(int64_t staleness) {
  const auto index = static_cast<size_t>(staleness);
  if (histogram_.size() <= index) histogram_.resize(index + 1);
  histogram_[index] += 1;
}

int64_t StalenessCount::gradients() const {
  return std::accumulate(histogram_.begin(), histogram_.end(), int64_t{0});
}

double StalenessCount::mean() const {
  double sum = 0;
  for (size_t s = 0; s < histogram_.size(); ++s) {
    sum += static_cast<double>(s) * static_cast<double>(histogram_[s]);
  }
  return sum / static_cast<double>(std::max<int64_t>(1, gradients()));
}

void serve_shard(dist::Communicator& comm, const ServerOptions& options,
                 std::span<const runs::NamedType> parameters, const OptimizerOptions& optimizer,
                 const RatePlan& rates) {
  Server(comm, options, parameters, optimizer, rates).serve();
}

}  // namespace trainyard::train

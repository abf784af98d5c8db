#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "dist/threads.h"
#include "rl/agents/run_files.h"
#include "rl/agents/saved_run.h"
#include "rl/distributed/actor_messages.h"
#include "rl/distributed/actor_process.h"
#include "rl/distributed/remote_actor.h"
#include "rl/distributed/train_agent.h"
#include "train/servers/parameter_messages.h"

namespace trainyard::rl {
namespace {

class ApexLearner {
 public:
  ApexLearner(dist::Communicator& comm, const RlConfig& config, const runs::RunDirectory* directory,
              const RunHooks& hooks)
      : comm_(comm),
        config_(config),
        directory_(directory),
        hooks_(hooks),
        spec_(make_environment(config.env, 1)->spec()),
        memory_(spec_, replay_options(config, spec_)),
        learner_(config, spec_),
        sampling_(static_cast<uint64_t>(config.seed), hash_text("replay")),
        rates_(static_cast<size_t>(comm.size() - 1), 0),
        actor_steps_(rates_.size(), 0),
        judged_at_(static_cast<size_t>(memory_.capacity()), 0) {
    if (directory != nullptr) saved_.emplace(directory->checkpoints(), config);
    steps_ = saved_ ? saved_->last_step() : 0;
    progress_.emplace(config, directory, hooks, steps_);
    for (int64_t rank = 1; rank < comm.size(); ++rank) active_.push_back(rank);
  }

  RunResult run() {
    if (steps_ > 0) saved_->restore(state());
    first_transition_ = memory_.end();
    first_update_ = learner_.updates();
    // Actors pull at once, before anything was learned.
    pack_parameters();
    while (!active_.empty()) {
      const bool learns = may_learn();
      const Stopwatch wait;
      const auto from = comm_.find_message(active_, learns ? 0 : kPatience);
      time_.waiting += wait.seconds();
      if (from) handle(*from);
      release_held();
      if (learns) learn();
      notice_progress();
    }
    return finish();
  }

 private:
  static constexpr double kPatience = 0.02;  // seconds without anything to do

  RunState state() { return {learner_, memory_, nullptr, sampling_, *progress_}; }

  double new_transitions() const { return static_cast<double>(memory_.end() - first_transition_); }
  double learned() const {
    return static_cast<double>((learner_.updates() - first_update_) * config_.batch);
  }
  // Transitions that came while nothing was learned do not count.
  double owed() const {
    return config_.replay_ratio * std::max(0.0, new_transitions() - static_cast<double>(warm_up()));
  }
  int64_t warm_up() const { return first_update_ > 0 ? 0 : config_.start; }

  bool may_learn() const {
    // owed() counts the transitions that came, since the memory may be smaller than the warm-up.
    return !stopping_ && memory_.size() >= config_.batch && learned() < owed();
  }
  // A parcel of each actor may lie ahead.
  // Both sides wait for each other so that samples per transition stay what was asked for: the
  // learner by may_learn(), actors because their parcels are answered late.
  bool actors_ahead() const {
    const auto slack =
        static_cast<double>(config_.send_every * static_cast<int64_t>(active_.size()));
    return !stopping_ && owed() - learned() > config_.replay_ratio * slack + learner_batch();
  }
  double learner_batch() const { return static_cast<double>(config_.batch); }

  void learn() {
    const Stopwatch clock;
    const UpdateReport report = learner_.update(memory_, config_.learning_rate_at(steps_),
                                                config_.beta_at(steps_), sampling_);
    progress_->add_update(report);
    for (const int64_t slot : learner_.batch().slots) {
      int64_t& judged = judged_at_[static_cast<size_t>(slot)];
      // How many updates ago the priority was computed by which this transition was drawn.
      staleness_.add(static_cast<double>(learner_.updates() - 1 - judged));
      judged = learner_.updates();
    }
    // Packed again when somebody pulls: there are far more updates than pulls.
    packed_ = false;
    time_.updates += clock.seconds();
  }

  void handle(int64_t rank) {
    const Stopwatch clock;
    const auto header = train::receive_message<ActorHeader>(comm_, rank);
    if (header.bytes < 0) throw_failure("actor {} sent {} bytes", rank, header.bytes);
    std::vector<std::byte> body(static_cast<size_t>(header.bytes));
    if (!body.empty()) comm_.receive(rank, body);
    switch (header.kind) {
      case ActorMessage::kPull:
        answer_pull(rank);
        time_.pulls += clock.seconds();
        return;
      case ActorMessage::kProblem:
        hooks_.note(
            fmt::format("actor {} begins again: {}", rank,
                        std::string_view(reinterpret_cast<const char*>(body.data()), body.size())));
        answer(rank);
        return;
      case ActorMessage::kTransitions:
        take_parcel(rank, header, body);
        held_.push_back(rank);
        time_.parcels += clock.seconds();
        return;
    }
    throw_failure("actor {} sent a message of an unknown kind", rank);
  }

  void take_parcel(int64_t rank, const ActorHeader& header, std::span<const std::byte> body) {
    const ExperienceBatch parcel = ExperienceBatch::from_bytes(body);
    const int64_t first = memory_.end();
    unpack(parcel, memory_);
    for (int64_t number = first; number < memory_.end(); ++number) {
      judged_at_[static_cast<size_t>(number % memory_.capacity())] = header.version;
    }
    for (const Episode& episode : parcel.episodes) progress_->add_episode(episode);
    lag_.add(static_cast<double>(learner_.updates() - header.version));
    steps_ += header.steps;
    const auto actor = static_cast<size_t>(rank - 1);
    actor_steps_[actor] += header.steps;
    rates_[actor] = static_cast<double>(actor_steps_[actor]) / header.seconds;
  }

  void answer(int64_t rank) {
    const bool stop = steps_ >= config_.steps || stopping_;
    train::send_message(comm_, rank, LearnerAnswer{stop ? 1 : 0, learner_.updates()});
    if (stop) std::erase(active_, rank);
  }

  void answer_pull(int64_t rank) {
    if (!packed_) pack_parameters();
    answer(rank);
    comm_.send(rank, std::as_bytes(std::span<const float>(parameters_)));
  }

  void pack_parameters() {
    parameters_.clear();
    for (size_t i = 0; i < learner_.step().num_model_states(); ++i) {
      train::pack(learner_.step().state(i), parameters_);
    }
    packed_ = true;
  }

  void release_held() {
    if (actors_ahead()) return;
    for (const int64_t rank : std::exchange(held_, {})) answer(rank);
  }

  void notice_progress() {
    if (hooks_.should_stop()) stopping_ = true;
    const auto passed = [&](int64_t every) {
      return every > 0 && steps_ / every > noticed_ / every;
    };
    if (passed(config_.log_every)) {
      progress_->step(steps_, learner_.updates(), 0,
                      Json::object({{"policy_lag", last(lag_, lag_total_)},
                                    {"priority_staleness", last(staleness_, staleness_total_)},
                                    {"transitions", memory_.end()}}));
    }
    if (passed(config_.eval_every) && steps_ < config_.steps) evaluate_now();
    if (saved_ && passed(config_.checkpoint_every)) saved_->save(state(), steps_);
    noticed_ = steps_;
  }

  // The mean since the last time, which also becomes part of the total.
  static double last(RunningMean& mean, RunningMean& total) {
    const double value = mean.take();
    if (value == value) total.add(value);
    return value;
  }

  void evaluate_now() {
    progress_->add_evaluation(steps_, [this] { return evaluate_learner(learner_); });
  }

  RunResult finish() {
    last(lag_, lag_total_);
    last(staleness_, staleness_total_);
    if (!stopping_) evaluate_now();
    if (saved_) {
      saved_->save(state(), steps_);
      write_policy(*directory_, learner_);
    }
    RunResult result = progress_->result();
    result.stopped = stopping_;
    result.steps = steps_;
    result.episodes = progress_->episodes();
    result.updates = learner_.updates();
    result.batch = config_.batch;
    result.priorities = priority_histogram(config_, memory_);
    result.seconds = progress_->seconds();
    result.recent_return = progress_->recent_return();
    result.target_changes = config_.target_every > 0 ? result.updates / config_.target_every : 0;
    result.samples_per_transition =
        learned() / std::max(1.0, new_transitions() - static_cast<double>(warm_up()));
    result.policy_lag = lag_total_.take();
    result.priority_staleness = staleness_total_.take();
    result.actor_rates = rates_;
    result.learner_time = time_;
    return result;
  }

  dist::Communicator& comm_;
  const RlConfig& config_;
  const runs::RunDirectory* directory_;
  const RunHooks& hooks_;
  EnvSpec spec_;
  ReplayMemory memory_;
  Learner learner_;
  EventStream sampling_;
  std::optional<SavedRun> saved_;
  std::optional<RunProgress> progress_;
  std::vector<int64_t> active_;
  std::vector<int64_t> held_;  // actors whose parcel is not yet answered
  std::vector<float> parameters_;
  bool packed_ = false;
  bool stopping_ = false;
  int64_t steps_ = 0;
  int64_t noticed_ = 0;
  int64_t first_transition_ = 0;
  int64_t first_update_ = 0;
  std::vector<double> rates_;
  std::vector<int64_t> actor_steps_;
  std::vector<int64_t> judged_at_;  // by slot: updates when its priority was made
  LearnerTime time_;
  RunningMean lag_, staleness_, lag_total_, staleness_total_;
};

}  // namespace

RunResult train_apex(dist::Communicator& comm, const RlConfig& config,
                     const runs::RunDirectory* directory, const RunHooks& hooks, Actors actors) {
  TY_REQUIRE(comm.size() >= 2, "{} rank: a learner and at least one actor are needed", comm.size());
  if (comm.rank() == kLearnerRank) return ApexLearner(comm, config, directory, hooks).run();
  actors == Actors::kProcesses ? supervise_actor(comm, config) : run_actor(comm, config);
  return {};
}

RunResult train_apex_here(const RlConfig& config, const runs::RunDirectory* directory,
                          const RunHooks& hooks, Actors actors) {
  RunResult result;
  dist::run_in_threads({.ranks = config.actors + 1, .limit_s = 120}, [&](dist::Communicator& comm) {
    RunResult own = train_apex(comm, config, directory, hooks, actors);
    if (comm.rank() == kLearnerRank) result = std::move(own);
  });
  return result;
}

}  // namespace trainyard::rl

#include "rl/distributed/gorila.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "dist/threads.h"
#include "rl/agents/actor.h"
#include "rl/agents/progress.h"
#include "rl/agents/run_files.h"
#include "train/servers/parameter_worker.h"
#include "train/sharding.h"

namespace trainyard::rl {
namespace {

// Between these rank 0 evaluates.
constexpr int64_t kStages = 5;

train::ServerOptions server_options(const RlConfig& config) {
  train::ServerOptions options;
  options.workers = config.learners;
  options.servers = config.servers;
  options.mode = train::ServerMode::kAsync;
  return options;
}

// What a bundle tells rank 0 at the end of a stage.
struct BundleReport {
  int64_t steps = 0;
  int64_t episodes = 0;
  int64_t transitions = 0;
  double reward = 0;  // mean of the last episodes
  double lag = 0;     // mean of the servers' updates between weights and gradient
  double seconds = 0;
};

// Of all bundles together: each update has its share of them.
int64_t steps_after(const RlConfig& config, int64_t updates) {
  return config.start + updates * config.train_every / std::max<int64_t>(1, config.updates);
}

class Bundle {
 public:
  Bundle(dist::Communicator& comm, const RlConfig& config, const train::ShardMap& map)
      : comm_(comm),
        config_(config),
        options_(server_options(config)),
        actor_(make_environment(config.env, config.copies), own_options(comm, config)),
        memory_(actor_.spec(), replay_options(config, actor_.spec())),
        learner_(config, actor_.spec(), /*update=*/false),
        acting_(learner_.predictor(config.copies)),
        client_(comm, options_, map),
        sampling_(static_cast<uint64_t>(config.seed) + static_cast<uint64_t>(comm.rank()),
                  hash_text("replay")) {}

  bool leads() const { return comm_.rank() == 0; }
  Learner& learner() { return learner_; }
  train::ServerClient& client() { return client_; }

  // Steps of all bundles before the first update.
  void warm_up() {
    actor_.begin(add_frame_);
    const int64_t share = config_.start / config_.learners;
    while (actor_.steps() < share || memory_.size() < config_.batch) act();
  }

  // Updates of one stage, given out to bundles as they ask.
  void run_stage(int64_t stage, int64_t tickets, const RunHooks& hooks, RunProgress* progress) {
    const int64_t per_round = std::max<int64_t>(1, config_.train_every / config_.copies);
    while (true) {
      const train::Answer answer = client_.pull(stage, tickets, learner_.step());
      if (answer.ticket == train::kNoTicket) break;
      const int64_t server_updates = stage * tickets + answer.gradients;
      follow_target(server_updates);
      acting_->copy_weights_from(learner_.step());
      if (answer.ticket % config_.updates == 0) {
        for (int64_t i = 0; i < per_round; ++i) act();
      }
      const UpdateReport report = learner_.update(memory_, 0, config_.beta, sampling_);
      train::Request request;
      request.loss = report.loss;
      request.images = config_.batch;
      request.stop = hooks.should_stop() ? 1 : 0;
      client_.push(request, learner_.step());
      if (progress == nullptr) continue;
      progress->add_update(report);
      for (const Episode& episode : actor_.take_episodes()) note(episode, progress);
      progress->step(steps_after(config_, server_updates + 1), server_updates + 1, epsilon());
    }
    for (const Episode& episode : actor_.take_episodes()) note(episode, progress);
  }

  BundleReport report() const {
    return {actor_.steps(), episodes_, memory_.end(), recent_, 0, clock_.seconds()};
  }

 private:
  static ActorOptions own_options(const dist::Communicator& comm, const RlConfig& config) {
    ActorOptions options = actor_options(config);
    options.seed = mix_bits(options.seed * 1000003 + static_cast<uint64_t>(comm.rank()));
    return options;
  }

  double epsilon() const {
    return config_.epsilon_schedule().at(actor_.steps() * config_.learners);
  }

  void act() {
    actor_.step(epsilon(), policy_, add_frame_,
                [this](const Transition& transition) { memory_.add(transition); });
  }

  void note(const Episode& episode, RunProgress* progress) {
    ++episodes_;
    recent_ += (episode.reward - recent_) / static_cast<double>(std::min<int64_t>(episodes_, 100));
    if (progress != nullptr) progress->add_episode(episode);
  }

  void follow_target(int64_t server_updates) {
    if (config_.target_every == 0) return;
    const int64_t turn = server_updates / config_.target_every;
    if (turn == target_turn_) return;
    target_turn_ = turn;
    learner_.move_target(/*always=*/true);
  }

  dist::Communicator& comm_;
  const RlConfig& config_;
  train::ServerOptions options_;
  Actor actor_;
  ReplayMemory memory_;
  Learner learner_;
  std::unique_ptr<train::Predictor> acting_;
  train::ServerClient client_;
  Chance sampling_;
  int64_t target_turn_ = -1;
  int64_t episodes_ = 0;
  double recent_ = 0;
  Stopwatch clock_;
  Actor::AddFrame add_frame_ = [this](std::span<const float> frame) {
    return memory_.add_frame(frame);
  };
  Policy policy_ = [this](std::span<const float> seen, std::span<float> values) {
    std::copy(seen.begin(), seen.end(), acting_->input(0).values<float>().begin());
    acting_->run();
    const std::span<const float> out = acting_->output(0).values<float>();
    std::copy(out.begin(), out.end(), values.begin());
  };
};

int64_t updates_per_stage(const RlConfig& config) {
  const int64_t rounds = std::max<int64_t>(0, config.steps - config.start) / config.train_every;
  return std::max<int64_t>(1, rounds * config.updates / kStages);
}

void give_first_weights(Bundle& bundle) {
  bundle.client().set_state(0, [&](const runs::NamedType& wanted) {
    const train::TrainingStep& step = bundle.learner().step();
    for (size_t i = 0; i < step.states().size(); ++i) {
      if (step.states()[i].name == wanted.name) return step.state(i);
    }
    return Tensor::zeros(wanted.type);
  });
}

void take_weights(Bundle& bundle) {
  train::TrainingStep& step = bundle.learner().step();
  bundle.client().get_state([&](const std::string& name, Tensor tensor) {
    for (size_t i = 0; i < step.num_model_states(); ++i) {
      if (step.states()[i].name == name) step.set_state(i, tensor);
    }
  });
}

RunResult lead_bundles(dist::Communicator& comm, const RlConfig& config, Bundle& bundle,
                       const runs::RunDirectory* directory, const RunHooks& hooks) {
  RunProgress progress(config, directory, hooks, 0);
  const int64_t tickets = updates_per_stage(config);
  RunningMean staleness;
  int64_t updates = 0;
  bool stopped = false;
  for (int64_t stage = 0; stage < kStages && !stopped; ++stage) {
    bundle.run_stage(stage, tickets, hooks, &progress);
    const train::Answer ended = bundle.client().end_epoch(stage);
    updates += ended.gradients;
    stopped = ended.stopped != 0;
    for (const train::PushRecord& record : bundle.client().records(0)) {
      staleness.add(static_cast<double>(record.staleness));
    }
    take_weights(bundle);
    if (config.eval_every > 0 || stage + 1 == kStages) {
      progress.add_evaluation(steps_after(config, updates),
                              [&] { return evaluate_learner(bundle.learner()); });
    }
    for (int64_t rank = 1; rank < config.learners; ++rank) {
      train::send_message(comm, rank, int64_t{stopped ? 1 : 0});
    }
  }
  RunResult result = progress.result();
  BundleReport all = bundle.report();
  result.actor_rates.push_back(static_cast<double>(all.steps) / all.seconds);
  for (int64_t rank = 1; rank < config.learners; ++rank) {
    const auto other = train::receive_message<BundleReport>(comm, rank);
    all.steps += other.steps;
    all.episodes += other.episodes;
    all.transitions += other.transitions;
    result.actor_rates.push_back(static_cast<double>(other.steps) / other.seconds);
  }
  if (directory != nullptr) write_policy(*directory, bundle.learner());
  result.stopped = stopped;
  result.steps = all.steps;
  result.episodes = all.episodes;
  result.updates = updates;
  result.batch = config.batch;
  result.seconds = progress.seconds();
  result.recent_return = progress.recent_return();
  result.policy_lag = staleness.take();
  result.target_changes = config.target_every > 0 ? updates / config.target_every : 0;
  result.samples_per_transition = static_cast<double>(updates * config.batch) /
                                  static_cast<double>(std::max<int64_t>(1, all.transitions));
  return result;
}

void follow_bundles(dist::Communicator& comm, const RlConfig& config, Bundle& bundle) {
  const int64_t tickets = updates_per_stage(config);
  for (int64_t stage = 0; stage < kStages; ++stage) {
    bundle.run_stage(stage, tickets, {}, nullptr);
    bundle.client().end_epoch(stage);
    constexpr int64_t kFirst = 0;
    if (!comm.find_message({&kFirst, 1}, comm.limit_s() * train::kBetweenEpochs)) {
      throw_failure("rank {} has waited too long for rank 0 to begin the next stage", comm.rank());
    }
    if (train::receive_message<int64_t>(comm, kFirst) != 0) break;
  }
  train::send_message(comm, 0, bundle.report());
}

}  // namespace

RunResult train_gorila(dist::Communicator& comm, const RlConfig& config,
                       const runs::RunDirectory* directory, const RunHooks& hooks) {
  TY_REQUIRE(comm.size() == config.learners + config.servers,
             "{} learners and {} servers need as many ranks; there are {}", config.learners,
             config.servers, comm.size());
  RlConfig own = config;
  // A norm over all gradients is not known where there are several servers.
  if (config.servers > 1) own.clip_norm = 0;
  const EnvSpec spec = make_environment(own.env, 1)->spec();
  const Graph network = make_q_network(own, spec, own.batch);
  const train::StepOptions step = step_options(own, /*update=*/false);
  const auto parameters = train::trained_parameters(network, step.training);
  const train::ServerOptions options = server_options(own);
  const train::OptimizerOptions& optimizer = step.training.optimizer;
  const train::ShardMap map =
      train::map_shards(parameters, optimizer, own.servers, train::ShardRule::kEven);
  if (comm.rank() >= own.learners) {
    const train::RatePlan rates{.schedule = {},
                                .base = own.learning_rate,
                                .epochs = kStages,
                                .updates_per_epoch = updates_per_stage(own)};
    const auto server = static_cast<size_t>(comm.rank() - own.learners);
    train::serve_shard(comm, options, map.parameters[server], optimizer, rates);
    return {};
  }
  Bundle bundle(comm, own, map);
  if (bundle.leads()) give_first_weights(bundle);
  comm.set_limit_s(std::max(comm.limit_s(), 60.0));
  bundle.warm_up();
  RunResult result;
  if (bundle.leads()) {
    result = lead_bundles(comm, own, bundle, directory, hooks);
  } else {
    follow_bundles(comm, own, bundle);
  }
  bundle.client().finish();
  return result;
}

RunResult train_gorila_in_threads(const RlConfig& config, const runs::RunDirectory* directory,
                                  const RunHooks& hooks) {
  RunResult result;
  dist::run_in_threads({.ranks = config.learners + config.servers, .limit_s = 120},
                       [&](dist::Communicator& comm) {
                         RunResult own = train_gorila(comm, config, directory, hooks);
                         if (comm.rank() == 0) result = std::move(own);
                       });
  return result;
}

}  // namespace trainyard::rl

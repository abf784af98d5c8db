#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "dist/threads.h"
#include "rl/agents/actor.h"
#include "rl/agents/progress.h"
#include "rl/agents/run_files.h"
#include "rl/agents/saved_run.h"
#include "rl/distributed/train_agent.h"
#include "runs/checkpoint.h"
#include "train/servers/parameter_worker.h"
#include "train/sharding.h"

namespace trainyard::rl {
namespace {

// Of a run without --checkpoint-every.
constexpr int64_t kStages = 5;

// What all ranks must know before they begin.
struct StartState {
  std::filesystem::path checkpoints;  // empty: nothing is kept
  int64_t updates = 0;                // that the servers have done
};

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
  double seconds = 0;
};

// Of all bundles together: each update has its share of them.
int64_t steps_after(const RlConfig& config, int64_t updates) {
  return config.start + updates * config.train_every / std::max<int64_t>(1, config.updates);
}

class Bundle {
 public:
  Bundle(dist::Communicator& comm, const RlConfig& config, const train::ShardMap& map,
         const StartState& beginning, const runs::RunDirectory* directory, const RunHooks& hooks)
      : config_(config),
        options_(server_options(config)),
        actor_(make_environment(config.env, config.copies), own_options(comm, config)),
        memory_(actor_.spec(), replay_options(config, actor_.spec())),
        learner_(config, actor_.spec(), /*update=*/false, comm.rank()),
        acting_(learner_.predictor(config.copies)),
        client_(comm, options_, map),
        sampling_(static_cast<uint64_t>(config.seed) + static_cast<uint64_t>(comm.rank()),
                  hash_text("replay")),
        hooks_(hooks),
        progress_(config, directory, hooks, steps_after(config, beginning.updates)) {
    if (beginning.checkpoints.empty()) return;
    saved_.emplace(beginning.checkpoints / fmt::format("learner-{}", comm.rank()), config);
  }

  Learner& learner() { return learner_; }
  train::ServerClient& client() { return client_; }
  RunProgress& progress() { return progress_; }

  // From its last checkpoint, which may be of a later stage than the servers': its replay memory
  // serves as well. Then, unless that has them, its share of the steps before the first update.
  void begin(bool resumes) {
    if (resumes && saved_ && saved_->last_step() > 0) {
      saved_->restore(state());
    } else {
      actor_.begin(add_frame_);
    }
    const int64_t share = config_.start / config_.learners;
    while (actor_.steps() < share || memory_.size() < config_.batch) act();
  }

  void save() {
    if (saved_) saved_->save(state(), actor_.steps());
  }

  // Updates of one stage, given out to bundles as they ask; `before` were done before it.
  void run_stage(int64_t stage, int64_t tickets, int64_t before) {
    const int64_t per_round = std::max<int64_t>(1, config_.train_every / config_.copies);
    while (true) {
      const train::Answer answer = client_.pull(stage, tickets, learner_.step());
      if (answer.ticket == train::kNoTicket) break;
      const int64_t server_updates = before + answer.gradients;
      follow_target(server_updates);
      acting_->copy_weights_from(learner_.step());
      if (answer.ticket % config_.updates == 0) {
        for (int64_t i = 0; i < per_round; ++i) act();
      }
      const UpdateReport report = learner_.update(memory_, 0, config_.beta, sampling_);
      train::Request request;
      request.loss = report.loss;
      request.images = config_.batch;
      request.stop = hooks_.should_stop() ? 1 : 0;
      client_.push(request, learner_.step());
      progress_.add_update(report);
      for (const Episode& episode : actor_.take_episodes()) progress_.add_episode(episode);
      progress_.step(steps_after(config_, server_updates + 1), server_updates + 1, epsilon());
    }
    for (const Episode& episode : actor_.take_episodes()) progress_.add_episode(episode);
  }

  BundleReport report() const {
    return {actor_.steps(), progress_.episodes(), memory_.end(), progress_.seconds()};
  }

 private:
  RunState state() { return {learner_, memory_, &actor_, sampling_, progress_}; }

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

  void follow_target(int64_t server_updates) {
    if (config_.target_every == 0) return;
    const int64_t turn = server_updates / config_.target_every;
    if (turn == target_turn_) return;
    target_turn_ = turn;
    learner_.move_target(/*always=*/true);
  }

  const RlConfig& config_;
  train::ServerOptions options_;
  Actor actor_;
  ReplayMemory memory_;
  Learner learner_;
  std::unique_ptr<train::Predictor> acting_;
  train::ServerClient client_;
  EventStream sampling_;
  const RunHooks& hooks_;
  RunProgress progress_;
  std::optional<SavedRun> saved_;
  int64_t target_turn_ = -1;
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

int64_t updates_after(const RlConfig& config, int64_t steps) {
  return std::max<int64_t>(0, steps) / config.train_every * config.updates;
}

int64_t total_updates(const RlConfig& config) {
  return std::max<int64_t>(1, updates_after(config, config.steps - config.start));
}

// A stage ends at a multiple of so many updates, or with the run. Rank 0 then evaluates, and all
// save.
int64_t updates_of_stage(const RlConfig& config, int64_t before) {
  const int64_t each = config.checkpoint_every > 0 ? updates_after(config, config.checkpoint_every)
                                                   : total_updates(config) / kStages;
  const int64_t whole = std::max<int64_t>(1, each);
  return std::min(total_updates(config), (before / whole + 1) * whole) - before;
}

// What the servers hold: with the bundles' own checkpoints, all of a run. Rank 0 alone uses it.
class ServerCheckpoints {
 public:
  ServerCheckpoints(const runs::RunDirectory& directory, const RlConfig& config,
                    const train::ShardMap& map)
      : config_(config), map_(map), files_(directory.checkpoints(), kKept) {}

  // Of the last one; 0: there is none.
  int64_t updates() const {
    const auto latest = files_.latest();
    return latest ? runs::Checkpoint(*latest).info().step : 0;
  }

  void restore(train::ServerClient& client) const {
    const runs::Checkpoint checkpoint(files_.latest().value());
    checkpoint.require_fits(kModel, course_hash(config_), all_states());
    client.set_state(checkpoint.info().step, [&](const train::StatePiece& wanted) {
      return checkpoint.tensor(wanted.whole.name);
    });
  }

  void save(train::ServerClient& client, int64_t updates) {
    std::vector<runs::StateTensor> tensors;
    std::vector<Tensor> held;
    client.get_state([&](const std::string& name, Tensor tensor) {
      tensors.push_back(
          {name, tensor.type(), [&held, at = held.size()] { return held[at].clone(); }});
      held.push_back(std::move(tensor));
    });
    runs::CheckpointInfo info;
    info.model = kModel;
    info.config_hash = course_hash(config_);
    info.step = updates;
    info.seed = static_cast<uint64_t>(config_.seed);
    files_.save(info, tensors, false);
  }

 private:
  static constexpr const char* kModel = "q-network";
  static constexpr int64_t kKept = 2;

  std::vector<runs::NamedType> all_states() const {
    std::vector<runs::NamedType> all;
    for (const auto& shard : map_.states) {
      for (const train::StatePiece& piece : shard) {
        if (piece.first == 0) all.push_back(piece.whole);
      }
    }
    return all;
  }

  const RlConfig& config_;
  const train::ShardMap& map_;
  runs::CheckpointFolder files_;
};

void give_first_weights(Bundle& bundle) {
  bundle.client().set_state(0, [&](const train::StatePiece& wanted) {
    const train::TrainingStep& step = bundle.learner().step();
    for (size_t i = 0; wanted.is_parameter && i < step.num_parameters(); ++i) {
      if (step.states()[i].name == wanted.whole.name) return step.state(i);
    }
    return Tensor::zeros(wanted.whole.type);
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

// What rank 0 tells the other bundles after a stage.
struct StageEnd {
  int64_t stopped = 0;
  int64_t updates = 0;  // so far
};

RunResult result_of(dist::Communicator& comm, const RlConfig& config, Bundle& bundle,
                    int64_t updates) {
  RunResult result = bundle.progress().result();
  BundleReport all = bundle.report();
  result.actor_rates.push_back(static_cast<double>(all.steps) / all.seconds);
  for (int64_t rank = 1; rank < config.learners; ++rank) {
    const auto other = train::receive_message<BundleReport>(comm, rank);
    all.steps += other.steps;
    all.episodes += other.episodes;
    all.transitions += other.transitions;
    result.actor_rates.push_back(static_cast<double>(other.steps) / other.seconds);
  }
  result.steps = all.steps;
  result.episodes = all.episodes;
  result.updates = updates;
  result.batch = config.batch;
  result.seconds = bundle.progress().seconds();
  result.recent_return = bundle.progress().recent_return();
  result.target_changes = config.target_every > 0 ? updates / config.target_every : 0;
  result.samples_per_transition = static_cast<double>(updates * config.batch) /
                                  static_cast<double>(std::max<int64_t>(1, all.transitions));
  return result;
}

RunResult lead_bundles(dist::Communicator& comm, const RlConfig& config, Bundle& bundle,
                       ServerCheckpoints* checkpoints, int64_t updates) {
  RunningMean staleness;
  bool stopped = false;
  for (int64_t stage = 0; updates < total_updates(config) && !stopped; ++stage) {
    bundle.run_stage(stage, updates_of_stage(config, updates), updates);
    const train::Answer ended = bundle.client().end_epoch(stage);
    updates += ended.gradients;
    stopped = ended.stopped != 0;
    for (const train::PushRecord& record : bundle.client().records(0)) {
      staleness.add(static_cast<double>(record.staleness));
    }
    take_weights(bundle);
    if (!stopped && (config.eval_every > 0 || updates >= total_updates(config))) {
      bundle.progress().add_evaluation(steps_after(config, updates),
                                       [&] { return evaluate_learner(bundle.learner()); });
    }
    bundle.save();
    if (checkpoints != nullptr) checkpoints->save(bundle.client(), updates);
    for (int64_t rank = 1; rank < config.learners; ++rank) {
      train::send_message(comm, rank, StageEnd{stopped ? 1 : 0, updates});
    }
  }
  RunResult result = result_of(comm, config, bundle, updates);
  result.stopped = stopped;
  result.policy_lag = staleness.take();
  return result;
}

void follow_bundles(dist::Communicator& comm, const RlConfig& config, Bundle& bundle,
                    int64_t updates) {
  for (int64_t stage = 0; updates < total_updates(config); ++stage) {
    bundle.run_stage(stage, updates_of_stage(config, updates), updates);
    bundle.client().end_epoch(stage);
    bundle.save();
    constexpr int64_t kFirst = 0;
    if (!comm.find_message({&kFirst, 1}, comm.limit_s() * train::kBetweenEpochs)) {
      throw_failure("rank {} has waited too long for rank 0 to begin the next stage", comm.rank());
    }
    const auto end = train::receive_message<StageEnd>(comm, kFirst);
    updates = end.updates;
    if (end.stopped != 0) break;
  }
  train::send_message(comm, 0, bundle.report());
}

StartState share_beginning(dist::Communicator& comm, const runs::RunDirectory* directory,
                           const std::optional<ServerCheckpoints>& checkpoints) {
  Json own = Json::object({{"folder", ""}, {"updates", 0}});
  if (checkpoints) {
    own["folder"] = std::filesystem::absolute(directory->checkpoints()).string();
    own["updates"] = checkpoints->updates();
  }
  const Json all = Json::parse(comm.share_text(own.dump(-1)), "what rank 0 says");
  return {all.at("folder").as_string(), all.at("updates").as_int()};
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
      train::map_shards(network, parameters, optimizer, own.servers, train::ShardRule::kEven);
  std::optional<ServerCheckpoints> checkpoints;
  if (directory != nullptr && comm.rank() == 0) checkpoints.emplace(*directory, config, map);
  const StartState beginning = share_beginning(comm, directory, checkpoints);
  if (comm.rank() >= own.learners) {
    const train::RatePlan rates{.schedule = {},
                                .base = own.learning_rate,
                                .epochs = 1,
                                .updates_per_epoch = total_updates(own)};
    const auto server = static_cast<size_t>(comm.rank() - own.learners);
    train::serve_shard(comm, options, map.parameters[server], optimizer, rates);
    return {};
  }
  // Of the others nothing is shown or written but their checkpoints.
  const RunHooks silent;
  const bool leads = comm.rank() == 0;
  Bundle bundle(comm, own, map, beginning, leads ? directory : nullptr, leads ? hooks : silent);
  const bool resumes = beginning.updates > 0;
  if (leads && resumes) checkpoints->restore(bundle.client());
  if (leads && !resumes) give_first_weights(bundle);
  comm.set_limit_s(std::max(comm.limit_s(), 60.0));
  bundle.begin(resumes);
  RunResult result;
  if (leads) {
    result =
        lead_bundles(comm, own, bundle, checkpoints ? &*checkpoints : nullptr, beginning.updates);
    if (directory != nullptr) write_policy(*directory, bundle.learner());
  } else {
    follow_bundles(comm, own, bundle, beginning.updates);
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

// Deep Q-learning in one process (Mnih et al. 2015), each of its pieces a setting.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "rl/agents/run.h"
#include "rl/agents/run_files.h"
#include "rl/agents/saved_run.h"

namespace trainyard::rl {
namespace {

class DqnRun {
 public:
  DqnRun(const RlConfig& config, const runs::RunDirectory* directory, const RunHooks& hooks)
      : config_(config),
        directory_(directory),
        hooks_(hooks),
        actor_(make_environment(config.env, config.copies), actor_options(config)),
        memory_(actor_.spec(), replay_options(config, actor_.spec())),
        learner_(config, actor_.spec()),
        acting_(learner_.predictor(config.copies)),
        sampling_(static_cast<uint64_t>(config.seed), hash_text("replay")) {
    if (directory != nullptr) saved_.emplace(directory->checkpoints(), config);
    progress_.emplace(config, directory, hooks, saved_ ? saved_->last_step() : 0);
  }

  RunResult run() {
    const auto add_frame = [this](std::span<const float> frame) {
      return memory_.add_frame(frame);
    };
    if (saved_ && saved_->last_step() > 0) {
      // Into everything that a run consists of, so that it goes on as if it had not stopped.
      saved_->restore(state());
      sync_acting();
    } else {
      actor_.begin(add_frame);
    }
    const Policy policy = [this](std::span<const float> seen, std::span<float> values) {
      ask(seen, values);
    };
    const auto add = [this](const Transition& transition) { memory_.add(transition); };
    while (actor_.steps() < config_.steps) {
      // Between steps, so that what is saved is consistent.
      if (hooks_.should_stop()) {
        progress_->result().stopped = true;
        break;
      }
      const int64_t before = actor_.steps();
      actor_.step(config_.epsilon_schedule().at(before), policy, add_frame, add);
      for (const Episode& episode : actor_.take_episodes()) progress_->add_episode(episode);
      learn(before, actor_.steps());
      progress_->step(actor_.steps(), learner_.updates(), config_.epsilon_schedule().at(before));
      evaluate_and_save(before, actor_.steps());
    }
    return finish();
  }

 private:
  RunState state() { return {learner_, memory_, &actor_, sampling_, *progress_}; }

  void ask(std::span<const float> seen, std::span<float> values) {
    // Weights are copied only when somebody acts after an update, not after every update.
    if (stale_) sync_acting();
    std::copy(seen.begin(), seen.end(), acting_->input(0).values<float>().begin());
    acting_->run();
    const std::span<const float> out = acting_->output(0).values<float>();
    std::copy(out.begin(), out.end(), values.begin());
  }

  void sync_acting() {
    acting_->copy_weights_from(learner_.step());
    stale_ = false;
  }

  // Rounds are counted by steps, so that copies do not change how much is learned.
  void learn(int64_t before, int64_t now) {
    if (now < config_.start || memory_.size() < config_.batch) return;
    // How many multiples of train_every lie in (before, now].
    const int64_t rounds = now / config_.train_every - before / config_.train_every;
    const double rate = config_.learning_rate_at(now);
    const double beta = config_.beta_at(now);
    for (int64_t i = 0; i < rounds * config_.updates; ++i) {
      progress_->add_update(learner_.update(memory_, rate, beta, sampling_));
      stale_ = true;
    }
  }

  void evaluate_now() {
    progress_->add_evaluation(actor_.steps(), [this] { return evaluate_learner(learner_); });
  }

  void evaluate_and_save(int64_t before, int64_t now) {
    const auto passed = [&](int64_t every) { return every > 0 && now / every > before / every; };
    // The last evaluation is that of finish().
    if (passed(config_.eval_every) && now < config_.steps) evaluate_now();
    if (saved_ && passed(config_.checkpoint_every)) saved_->save(state(), now);
  }

  RunResult finish() {
    if (!progress_->result().stopped) evaluate_now();
    // A stopped run saves too, to be resumed.
    if (saved_) {
      saved_->save(state(), actor_.steps());
      write_policy(*directory_, learner_);
    }
    RunResult result = progress_->result();
    result.steps = actor_.steps();
    result.episodes = progress_->episodes();
    result.updates = learner_.updates();
    result.batch = config_.batch;
    result.priorities = priority_histogram(config_, memory_);
    result.seconds = progress_->seconds();
    result.recent_return = progress_->recent_return();
    result.target_changes = config_.target_every > 0 ? result.updates / config_.target_every : 0;
    result.samples_per_transition = static_cast<double>(result.updates * config_.batch) /
                                    static_cast<double>(std::max<int64_t>(1, memory_.end()));
    return result;
  }

  RlConfig config_;
  const runs::RunDirectory* directory_;
  const RunHooks& hooks_;
  Actor actor_;
  ReplayMemory memory_;
  Learner learner_;
  std::unique_ptr<train::Predictor> acting_;
  bool stale_ = false;  // the acting network is behind the learner's
  EventStream sampling_;
  std::optional<SavedRun> saved_;
  std::optional<RunProgress> progress_;
};

}  // namespace

RunResult train_dqn(const RlConfig& config, const runs::RunDirectory* directory,
                    const RunHooks& hooks) {
  return DqnRun(config, directory, hooks).run();
}

}  // namespace trainyard::rl

#include "rl/distributed/remote_actor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "rl/agents/actor.h"
#include "rl/agents/learner.h"
#include "rl/agents/q_objective.h"
#include "rl/agents/run_files.h"
#include "rl/distributed/actor_messages.h"
#include "train/servers/parameter_messages.h"

namespace trainyard::rl {
namespace {

class RemoteActor {
 public:
  RemoteActor(dist::Communicator& comm, const RlConfig& config, const EnvSpec& spec)
      : comm_(comm),
        config_(config),
        spec_(spec),
        network_(make_q_network(config, spec, config.send_every)),
        step_(network_, step_options(config, /*update=*/false)),
        judging_(network_, step_, 1),
        acting_(make_q_network(config, spec, config.copies), step_, 1),
        // All that open steps and an unsent parcel refer to, twice over.
        frames_(spec, 4 * (config.send_every + (config.n_step + 2) * config.copies) + 64),
        epsilon_(actor_epsilon(comm.rank() - 1, comm.size() - 1)) {
    parameters_.resize(static_cast<size_t>(count_parameters()));
  }

  // One life of the environment; true once the learner has said stop.
  bool live(uint64_t seed) {
    ActorOptions options = actor_options(config_);
    options.seed = seed;
    Actor actor(make_environment(config_.env, config_.copies), options);
    waiting_.clear();
    const Actor::AddFrame add_frame = [this](std::span<const float> seen) {
      return frames_.add(seen);
    };
    const auto add = [this](const Transition& transition) { waiting_.push_back(transition); };
    const Policy policy = [this](std::span<const float> seen, std::span<float> values) {
      std::copy(seen.begin(), seen.end(), acting_.input(0).values<float>().begin());
      acting_.run();
      const std::span<const float> out = acting_.output(0).values<float>();
      std::copy(out.begin(), out.end(), values.begin());
    };
    actor.begin(add_frame);
    if (pull()) return true;
    int64_t pulled_at = 0;
    int64_t told = 0;
    while (true) {
      actor.step(epsilon_, policy, add_frame, add);
      if (static_cast<int64_t>(waiting_.size()) >= config_.send_every) {
        const bool stop = send(actor, actor.steps() - std::exchange(told, actor.steps()));
        problems_ = 0;
        if (stop) return true;
      }
      if (actor.steps() - pulled_at < config_.pull_every) continue;
      pulled_at = actor.steps();
      if (pull()) return true;
    }
  }

  // Whether the learner wants no more.
  bool tell_problem(const std::string& why) {
    ++problems_;
    ActorHeader header{.kind = ActorMessage::kProblem,
                       .bytes = static_cast<int64_t>(why.size()),
                       .seconds = clock_.seconds()};
    train::send_message(comm_, kLearnerRank, header);
    comm_.send(kLearnerRank, std::as_bytes(std::span(why)));
    return train::receive_message<LearnerAnswer>(comm_, kLearnerRank).stop != 0;
  }
  int64_t problems() const { return problems_; }

 private:
  int64_t count_parameters() const {
    int64_t count = 0;
    for (size_t i = 0; i < step_.num_model_states(); ++i) {
      count += step_.states()[i].type.shape.num_elements();
    }
    return count;
  }

  // The parameters come even if the answer is to stop, so that both sides stay in step.
  bool pull() {
    train::send_message(
        comm_, kLearnerRank,
        ActorHeader{.kind = ActorMessage::kPull,
                    .version = version_,
                    .answer_bytes = static_cast<int64_t>(parameters_.size() * sizeof(float))});
    const auto answer = train::receive_message<LearnerAnswer>(comm_, kLearnerRank);
    comm_.receive(kLearnerRank, std::as_writable_bytes(std::span(parameters_)));
    version_ = answer.version;
    std::span<const float> rest = parameters_;
    for (size_t i = 0; i < step_.num_model_states(); ++i) {
      const Tensor value = train::unpack(step_.states()[i].type, rest);
      acting_.set_state(i, value);
      judging_.set_state(i, value);
    }
    return answer.stop != 0;
  }

  // The first priorities: |td| by the actor's own copy of the network.
  // See Ape-X (Horgan et al. 2018): actors compute initial priorities, so that new transitions need
  // not all enter at the highest one.
  std::vector<double> judge(std::span<const Transition> transitions) {
    const auto width = static_cast<size_t>(spec_.observation_size());
    const auto actions = static_cast<size_t>(spec_.actions);
    const std::span<float> input = judging_.input(0).values<float>();
    const auto values_of = [&](auto frame_of) {
      for (size_t i = 0; i < transitions.size(); ++i) {
        frames_.read(frame_of(transitions[i]), input.subspan(i * width, width));
      }
      judging_.run();
      const std::span<const float> out = judging_.output(0).values<float>();
      return std::vector<float>(out.begin(), out.end());
    };
    const std::vector<float> now = values_of([](const Transition& t) { return t.frame; });
    const std::vector<float> next = values_of([](const Transition& t) { return t.next_frame; });
    std::vector<double> errors;
    for (size_t i = 0; i < transitions.size(); ++i) {
      const Transition& it = transitions[i];
      const std::span<const float> row = std::span(next).subspan(i * actions, actions);
      const float ahead =
          it.discount == 0 ? 0.0F : it.discount * row[static_cast<size_t>(best_action(row))];
      errors.push_back(std::abs(static_cast<double>(
          it.reward + ahead - now[i * actions + static_cast<size_t>(it.action)])));
    }
    return errors;
  }

  // Frames are sent once each, although neighboring transitions share them; their numbers become
  // places in the parcel.
  bool send(Actor& actor, int64_t steps) {
    ExperienceBatch parcel;
    parcel.transitions.assign(waiting_.begin(), waiting_.begin() + config_.send_every);
    waiting_.erase(waiting_.begin(), waiting_.begin() + config_.send_every);
    parcel.errors = judge(parcel.transitions);
    for (const double error : parcel.errors) {
      if (std::isfinite(error)) continue;
      throw_diverged(fmt::format("step {}: the error of a transition", actor.steps()), error);
    }
    parcel.episodes = actor.take_episodes();
    std::map<int64_t, int64_t> places;
    for (const Transition& it : parcel.transitions) {
      places[it.frame] = 0;
      places[it.next_frame] = 0;
    }
    int64_t place = 0;
    for (auto& [number, at] : places) {
      const std::span<const std::byte> frame = frames_.encoded(number);
      parcel.frames.insert(parcel.frames.end(), frame.begin(), frame.end());
      at = place++;
    }
    for (Transition& it : parcel.transitions) {
      it.frame = places[it.frame];
      it.next_frame = places[it.next_frame];
    }
    const std::vector<std::byte> bytes = parcel.bytes();
    train::send_message(comm_, kLearnerRank,
                        ActorHeader{.kind = ActorMessage::kTransitions,
                                    .bytes = static_cast<int64_t>(bytes.size()),
                                    .steps = steps,
                                    .version = version_,
                                    .seconds = clock_.seconds()});
    comm_.send(kLearnerRank, bytes);
    // The answer is waited for, which holds actors back when the learner cannot keep up.
    return train::receive_message<LearnerAnswer>(comm_, kLearnerRank).stop != 0;
  }

  dist::Communicator& comm_;
  const RlConfig& config_;
  EnvSpec spec_;
  Graph network_;
  train::TrainingStep step_;  // names and types of the parameters
  train::Predictor judging_;
  train::Predictor acting_;
  FrameStore frames_;
  double epsilon_;
  std::vector<float> parameters_;
  std::vector<Transition> waiting_;
  int64_t version_ = 0;
  int64_t problems_ = 0;
  Stopwatch clock_;
};

}  // namespace

void run_actor(dist::Communicator& comm, const RlConfig& config, uint64_t first_life) {
  const EnvSpec spec = make_environment(config.env, 1)->spec();
  RemoteActor actor(comm, config, spec);
  for (uint64_t life = first_life;; ++life) {
    // Another seed for every life and rank.
    const uint64_t seed = mix_bits(static_cast<uint64_t>(config.seed) * 1000003 +
                                   static_cast<uint64_t>(comm.rank()) * 1009 + life);
    try {
      if (actor.live(seed)) return;
    } catch (const EnvironmentFailure& failure) {
      const bool stop = actor.tell_problem(failure.what());
      // After telling: the learner then knows why the rank is gone. Only problems in a row count.
      if (actor.problems() >= kMostProblems) throw;
      if (stop) return;
    }
  }
}

}  // namespace trainyard::rl

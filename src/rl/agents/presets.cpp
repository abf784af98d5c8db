// Settings that suit an environment, and the changes that each preset makes to them.
#include "base/error.h"
#include "base/text.h"
#include "rl/agents/config.h"

namespace trainyard::rl {
namespace {

// The small networks of classic control learn from many updates on few steps.
void suit_cartpole(RlConfig& c) {
  c.steps = 50000;
  c.hidden = "128,128";
  c.double_q = true;
  c.learning_rate = 1e-3;
  c.final_rate = 0;
  c.batch = 64;
  c.start = 1000;
  c.train_every = 4;
  c.updates = 2;
  c.target_every = 100;
  c.exploration_steps = 8000;
  c.final_epsilon = 0.04;
}

void suit_mountain_car(RlConfig& c) {
  c.steps = 120000;
  c.hidden = "64,64";
  c.double_q = true;
  c.learning_rate = 2e-3;
  c.final_rate = 0;
  c.batch = 64;
  c.start = 1000;
  c.n_step = 4;
  c.train_every = 2;
  c.target_every = 200;
  c.exploration_steps = 20000;
  c.final_epsilon = 0.07;
}

void suit_acrobot(RlConfig& c) {
  c.steps = 100000;
  c.hidden = "64,64";
  c.double_q = true;
  c.learning_rate = 6e-4;
  c.final_rate = 0;
  c.batch = 64;
  c.n_step = 3;
  c.train_every = 4;
  c.target_every = 250;
  c.exploration_steps = 15000;
  c.final_epsilon = 0.05;
}

// Young and Tian's settings but for the optimizer and the pace of updates.
void suit_minatar(RlConfig& c) {
  c.steps = 5000000;
  c.hidden = "128";
  c.optimizer = "rmsprop";
  c.learning_rate = 2.5e-4;
  c.batch = 32;
  c.clip_norm = 0;
  c.start = 5000;
  c.train_every = 1;
  c.target_every = 1000;
  c.exploration_steps = 100000;
  c.final_epsilon = 0.1;
  c.log_every = 10000;
}

// Mnih et al. 2015 but for the optimizer; a step is four frames.
void suit_atari(RlConfig& c) {
  c.steps = 10000000;
  c.hidden = "512";
  c.learning_rate = 1e-4;
  c.batch = 32;
  c.clip_rewards = true;
  c.start = 50000;
  c.train_every = 4;
  c.target_every = 2500;
  c.exploration_steps = 1000000;
  c.final_epsilon = 0.01;
  c.log_every = 10000;
}

void suit_grid(RlConfig& c) {
  c.steps = 30000;
  c.hidden = "64";
  c.learning_rate = 1e-3;
  c.train_every = 1;
  c.target_every = 200;
  c.exploration_steps = 10000;
  c.step_size = 0.5;
  c.gamma = 1;
}

void suit_cliff(RlConfig& c) {
  suit_grid(c);
  c.epsilon = 0.1;
  c.final_epsilon = 0.1;
}

void suit_lake(RlConfig& c) {
  suit_grid(c);
  c.steps = 1000000;
  c.step_size = 1;
  c.step_size_decay = 0.6;
  c.epsilon = 1;
  c.final_epsilon = 0.1;
  c.exploration_steps = 1000000;
}

// Sutton and Barto, example 10.2.
void suit_queue(RlConfig& c) {
  suit_grid(c);
  c.steps = 200000;
  c.gamma = 0.99;
  c.step_size = 0.01;
  c.epsilon = 0.1;
  c.final_epsilon = 0.1;
}

struct TaskDefaults {
  std::string_view environment;  // beginning of its name
  void (*apply)(RlConfig&);
};
constexpr TaskDefaults kTaskDefaults[] = {
    {"CartPole", suit_cartpole},  {"MountainCar", suit_mountain_car}, {"Acrobot", suit_acrobot},
    {"MinAtar/", suit_minatar},   {"CliffWalking", suit_cliff},       {"FrozenLake", suit_lake},
    {"AccessControl", suit_queue}};

// Plain Q-learning with a network, which the others add to.
void plain(RlConfig& c) {
  c.double_q = false;
  c.dueling = false;
  c.n_step = 1;
  c.replay = "uniform";
}

void as_2013(RlConfig& c) {
  plain(c);
  c.target_every = 0;
}

void as_double(RlConfig& c) {
  plain(c);
  c.double_q = true;
}

void as_dueling(RlConfig& c) {
  as_double(c);
  c.dueling = true;
}

void as_per(RlConfig& c) {
  as_double(c);
  c.replay = "proportional";
}

void as_rainbow_lite(RlConfig& c) {
  as_per(c);
  c.dueling = true;
  c.n_step = 3;
}

void as_apex(RlConfig& c) {
  as_rainbow_lite(c);
  c.anneal_beta = false;
  c.actors = 2;
  // As much as one process would learn from each.
  c.replay_ratio = static_cast<double>(c.batch * c.updates) / static_cast<double>(c.train_every);
}

void as_gorila(RlConfig& c) {
  plain(c);
  c.learners = 2;
  c.optimizer = "adagrad";
  c.learning_rate = 0.01;
}

struct Preset {
  std::string_view name;
  std::string_view summary;
  void (*apply)(RlConfig&);
};
constexpr Preset kPresets[] = {
    {"dqn", "what suits the environment best", [](RlConfig&) {}},
    {"dqn-2013", "Q-learning with a network and replay, no target network (Mnih et al. 2013)",
     as_2013},
    {"dqn-2015", "and a target network (Mnih et al. 2015)", plain},
    {"double", "the online network chooses a target's action (van Hasselt et al. 2016)", as_double},
    {"dueling", "double, with separate value and advantages (Wang et al. 2016)", as_dueling},
    {"per", "double, replay by priority (Schaul et al. 2016)", as_per},
    {"rainbow-lite", "double, dueling, by priority, 3 steps", as_rainbow_lite},
    {"gorila", "learners with their own replay and parameter servers (Nair et al. 2015)",
     as_gorila},
    {"apex", "many actors, one learner, one replay by priority (Horgan et al. 2018)", as_apex},
    {"q-learning", "a table, off-policy (Watkins 1989)", [](RlConfig&) {}},
    {"sarsa", "a table, on-policy (Rummery and Niranjan 1994)", [](RlConfig&) {}},
    {"differential", "a table, by rewards beyond their average (Wan et al. 2021)",
     [](RlConfig&) {}},
};

}  // namespace

const std::vector<std::string>& agent_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Preset& preset : kPresets) names.emplace_back(preset.name);
    return names;
  }();
  return kNames;
}

std::string_view agent_summary(std::string_view agent) {
  for (const Preset& preset : kPresets) {
    if (preset.name == agent) return preset.summary;
  }
  throw_error("there is no agent '{}'.{} There are {}", agent, did_you_mean(agent, agent_names()),
              join(agent_names(), ", "));
}

RlConfig preset_config(const std::string& env, const std::string& agent) {
  agent_summary(agent);
  RlConfig config;
  if (env.starts_with("ale:")) {
    suit_atari(config);
  } else if (!command_of(env)) {
    const std::string_view name = find_environment(parse_environment(env).game).name;
    for (const TaskDefaults& suit : kTaskDefaults) {
      if (name.starts_with(suit.environment)) suit.apply(config);
    }
  }
  for (const Preset& preset : kPresets) {
    if (preset.name == agent) preset.apply(config);
  }
  config.env = env;
  config.agent = agent;
  return config;
}

}  // namespace trainyard::rl

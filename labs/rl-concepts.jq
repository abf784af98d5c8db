# Functions of lab rl-concepts. Rows are its runs: {seed, …variables, result: {runs: [run]}}.

def run_of: .result.runs[0];
def last_reward: run_of.evaluations[-1].reward_per_step;
def greedy: run_of.evaluations[-1].mean;
def of_word(key; word): map(select(key == word));

# The queue: a line for each agent.
def queue_lines: in_order(.learns) | map({name: .[0].learns, origin: "measured", points: seed_band(run_of.evaluations[] | [.step, .reward_per_step])});

# What the greedy policy of the first seed does with each customer. A table has a row for each number of free servers and customer, of two actions.
def acceptance_rows:
  (of_word(.agent; "differential")[0] | run_of.table) as $q
  | [[1, 2, 4, 8], [0, 1, 2, 3]] | transpose | map(. as [$pays, $kind]
    | {pays: $pays} + ([range(1; 11) as $free | ($free * 4 + $kind) as $cell | {key: "free\($free)", value: (if $q[2 * $cell + 1] > $q[2 * $cell] then "accept" else "-" end)}] | from_entries));

def task_rows: map({name, task: (if .continuing then "continuing" else "episodic" end), summary} + (if .time_limit > 0 then {limit: .time_limit} else {} end));

def tasks_answer(cliff):
  (cliff | map(run_of | .episodes) | mean) as $episodes | (cliff | map(run_of | .steps) | mean) as $steps
  | (cliff | map(greedy) | mean | fixed(1)) as $return
  | (of_word(.agent; "differential") | map(last_reward)) as $average
  | (of_word(.gamma; 0) | map(last_reward)) as $hand
  | (of_word(.gamma; 0.99) | map(last_reward)) as $discounted
  | "CliffWalking is episodic: \($steps | si) steps were \($episodes | fixed(0)) episodes in the mean, each from the start to the goal, and the greedy policy has a return of \($return). "
    + "The queue of AccessControl is continuing: of \(map(run_of.steps) | max | si) steps none ended an episode (\(map(run_of.episodes) | add) ended), so policies are compared by their reward of a step: "
    + "\($average | mean_and_error(3)) if rewards beyond the average are learned, \($discounted | mean_and_error(3)) with a discount of 0.99, and \($hand | mean_and_error(3)) if only the payment at hand counts (mean and standard error over \($average | length) seeds). "
    + "Compared with the payment at hand alone, \(seeds_words($average; $hand; "learning the average reward")); compared with the discount it \(seeds_words($average; $discounted; "") | ltrimstr(" ")).";

# Rows by epsilon, of the runs of the lake; `pole` are those of the network.
def epsilon_rows(pole):
  in_order(.epsilon) | map(.[0].epsilon as $epsilon | (pole | of_word(.epsilon; $epsilon)) as $pole
    | {epsilon: $epsilon, lake_greedy: (map(100 * greedy) | mean_and_error(1) + " %"), lake_learning: (map(100 * run_of.recent_return) | mean_and_error(1) + " %"),
       pole_greedy: ($pole | map(greedy) | mean_and_error(0)), pole_learning: ($pole | map(run_of.recent_return) | mean_and_error(0))});

# Of the constant ones: what the greedy policy reaches, and what acting with this epsilon reached.
def epsilon_lines:
  map(select(.kind == "constant")) as $runs
  | [{name: "greedy policy afterwards", points: ($runs | seed_band([.to, 100 * greedy]))},
     {name: "while learning", points: ($runs | seed_band([.to, 100 * run_of.recent_return]))}] | map(. + {origin: "measured"});

# The epsilon of the best mean, and those that are no worse by the standard error over seeds.
def best_epsilons(value):
  in_order(.epsilon) | map({epsilon: .[0].epsilon, values: map(value)}) | max_by(.values | mean) as $best
  | length as $all | [$best.epsilon] + [.[] | select(.epsilon != $best.epsilon and seeds_verdict($best.values; .values) != "better").epsilon]
  | if length == $all and $all > 1 then "any of them" else listed end;

def epsilon_answer(pole):
  def all(runs; word; value): runs | of_word(.epsilon; word) | map(value) | mean;
  . as $lake | "1 (only explores)" as $random | "0 (only exploits)" as $exploits
  | "On FrozenLake an agent that only exploits reaches the goal in \(all($lake; $exploits; greedy) | percent(1)) of the episodes, one that only explores in \(all($lake; $random; run_of.recent_return) | percent(1)) while it learns, and in \(all($lake; $random; greedy) | percent(1)) with the greedy policy that it learned. "
    + "The best greedy policies were learned with epsilon \($lake | best_epsilons(greedy)); the most was earned while learning with epsilon \($lake | best_epsilons(run_of.recent_return)). "
    + "The network has its best greedy policies with epsilon \(pole | best_epsilons(greedy)), and earns most while learning with \(pole | best_epsilons(run_of.recent_return)). (Several are named where the standard error over \($lake | of_word(.epsilon; $random) | length) seeds decides nothing between them.)";

def dqn_differences:
  "Deep Q-learning has the same target, r + gamma max Q, and the same epsilon-greedy acting as Q-learning. Four things differ. (1) A network with weights takes the place of the table, so states that were never seen have values too, and one update changes the values of all states. (2) An update is a step of gradient descent on the squared distance from the target, of a batch, in place of moving one entry. (3) The batch is drawn at random from a replay memory, in place of the step just made. (4) The state is made from raw pictures: the last four, gray and small, in place of the number of a cell. What is lost is the proof that values converge, which holds for tables alone.";

def mnih_steps:
  [["Make a replay memory D for N transitions.", "none: a step is learned from once, at once", "ReplayMemory, --capacity"],
   ["Give the network Q random weights.", "all entries 0, or any other start", "make_q_network, --seed"],
   ["For each episode: begin it, and make the first state of the first image (preprocessing: gray, smaller, the last four together), so that motion can be seen.", "the number of the cell", "Actor::begin, src/rl/env/atari.cpp"],
   ["With probability epsilon act at random, else take the action of the largest Q: explore and exploit.", "the same", "Actor::choose, --exploration"],
   ["Do it; observe the reward and the next image, and make the next state of it.", "the same, without preprocessing", "Actor::step"],
   ["Keep (state, action, reward, next state) in D; the oldest makes room.", "none", "ReplayMemory::add"],
   ["Draw a batch of transitions from D at random: they are nearly independent, and each is used several times.", "none", "uniform_sampler.cpp, --batch"],
   ["Targets: the reward alone where the episode ended, else the reward plus gamma times the largest Q of the next state.", "the same target, of the step just made", "q_targets, --gamma"],
   ["A step of gradient descent on the squared distance of Q(state, action) from its target, which counts as a constant.", "the entry moves by alpha times the distance", "QLearningObjective, Learner::update, --learning-rate"],
   ["Go on with the next step until the episode ends, and with the next episode.", "the same", "train_dqn in src/rl/agents/dqn.cpp"]]
  | to_entries | map({step: (.key + 1), does: .value[0], table: .value[1], code: .value[2]});

# Rows of `report` of the runs with and without target network.
def metric_of(key): .result.runs[0].metrics[] | select(.[key] != null and .[key] > 0) | [.step, .[key]];
def bound: 1 / (1 - (.result.runs[0].config.gamma | number));
def value_lines:
  map(select(.capacity > 64)) as $runs | ($runs[0] | bound) as $bound
  | ($runs | in_order(.with) | map({name: .[0].with, origin: "measured", points: seed_band(metric_of("q_value"))}))
    + [{name: "the most there can be, 1 / (1 - gamma)", origin: "ideal", points: ([$runs[] | .result.runs[0].metrics[].step] | [[min, $bound], [max, $bound]])}];
def return_lines: in_order(.with) | map({name: .[0].with, origin: "measured", points: seed_band(run_of.evaluations[] | [.step, .mean])});
def all_evaluations: map(run_of.evaluations | map(.mean) | mean);

def target_answer(runs):
  def largest(word): of_word(.with; word) | map([metric_of("q_value")[1]] | max) | max;
  (.[0] | bound) as $bound | (runs | of_word(.with; "target network and replay") | all_evaluations) as $with | (runs | of_word(.with; "no target network") | all_evaluations) as $without
  | "A reward of 1 a step cannot add up to more than \($bound | fixed(0)). With a target network the mean Q of what is learned from reaches \(largest("target network and replay") | three_digits) at most, without one \(largest("no target network") | three_digits)\(if largest("no target network") > $bound then ", more than there can be: errors feed themselves" else "" end). "
    + "The mean return of all tests is \($with | mean_and_error(0)) with and \($without | mean_and_error(0)) without a target network: \(seeds_words($with; $without; "the target network")).";

def replay_answer:
  (of_word(.with; "target network and replay") | all_evaluations) as $with | (of_word(.with; "a memory of one batch") | all_evaluations) as $without
  | "The mean return of all tests is \($with | mean_and_error(0)) with a memory of \(of_word(.with; "target network and replay")[0].capacity | commas) transitions and \($without | mean_and_error(0)) with one of \(of_word(.with; "a memory of one batch")[0].capacity), the steps just made: \(seeds_words($with; $without; "the large memory")). Each transition was used \(of_word(.with; "target network and replay") | map(run_of.samples_per_transition) | mean | fixed(1)) times in the mean.";

def priorities_answer(alpha):
  max_by(.probability) as $most | min_by(.probability) as $least
  | "Transition \($most.transition) is replayed \($most.probability / $least.probability | fixed(1)) times as often as transition \($least.transition), \(if alpha < 1 then "though" else "as" end) its error is \(($most.error | fabs) / ($least.error | fabs) | fixed(0)) times as large\(if alpha < 1 then " (an alpha of \(alpha) evens that out)" else "" end), and \(ratio($most.rank_probability; $least.rank_probability) | fixed(1)) times as often by rank. Its gradient counts \($most.weight | fixed(2)) times as much in return.";

def architectures:
  [["alike", "acting and learning", "actors act with a copy of the network, learners train it", "the same: actors and a learner are processes apart"],
   ["alike", "replay", "learners draw from a memory of past steps, off-policy", "the same"],
   ["alike", "many actors", "they explore at the same time, each in its own way, and fetch new weights now and then", "the same; each has an epsilon of its own"],
   ["different", "learners and what travels", "any number of learners; gradients travel to parameter servers, which hold the weights in shards", "one learner that holds the weights; transitions travel to it"],
   ["different", "the replay memory", "local to each actor or one for all; in the bundled form, which the paper measures, every machine has an actor, a memory and a learner of its own", "one memory for all, central"],
   ["different", "which transitions", "uniformly", "by priority, and actors compute the first priorities, so that new steps do not wait for the learner"]]
  | map({kind: .[0], what: .[1], gorila: .[2], apex: .[3]});

def parallel_rows(gorila):
  (map({agent: "Ape-X", seed} + (run_of | {lag: .policy_lag, priorities: .priority_staleness, r: .}))) + (gorila | map({agent: "GORILA", seed} + (run_of | {gradients: .policy_lag, r: .})))
  | map(. + (.r | {steps: .steps_per_s, samples: (.updates_per_s * .samples_per_update), return: .evaluations[-1].mean}) | del(.r));

def lag_answer(gorila):
  (map(run_of.policy_lag) | mean) as $lag | (map(run_of.priority_staleness) | mean) as $age | (gorila | map(run_of.policy_lag) | mean) as $stale
  | "Three ages are told apart. The lag of a policy is the number of updates that the learner made since an actor fetched its weights: \($lag | fixed(1)) in the mean for Ape-X here; it changes which steps are seen, and off-policy learning allows that. The staleness of a gradient is the number of updates between the weights it was computed with and those it is applied to: \($stale | fixed(1)) for GORILA here, none for Ape-X, whose only learner computes and applies; it makes the step itself wrong. The staleness of a priority is the number of updates since it was computed: \($age | fixed(1)) for Ape-X here, none for GORILA, which has no priorities; it changes how often a transition is seen.";

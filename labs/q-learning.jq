# Functions of lab q-learning. Rows are its runs: {agent, seed, result: {runs: [run]}}; `walks` adds those of the network to those of tables.

def walks(deep): . + (deep | map(. + {agent: "deep Q-network"}));
def greedy_return: .result.runs[0].evaluations[-1].mean;
def greedy_returns(name): map(select(.agent == name) | greedy_return);

# Whether the greedy walk ends at the goal: one that does not goes on until the limit of steps, each of which costs 1 at least.
def arrives(settings): greedy_return > -settings.limit;

# "-17.0 with 4 of 5 seeds; with 1 it does not reach the goal within 200 steps", of the runs of one agent.
def walk_words(settings):
  map(select(arrives(settings)) | greedy_return) as $returns | (length - ($returns | length)) as $lost
  | "it does not reach the goal within \(settings.limit) steps" as $circle
  | if ($returns | length) == 0 then "\($circle), with \(if length == 1 then "the one seed" else "any of \(length) seeds" end)"
    else
      "it has a return of \(if ($returns | min) == ($returns | max) then $returns[0] | fixed(1) else "\($returns | min | fixed(1)) to \($returns | max | fixed(1))" end) with "
        + (if $lost == 0 then (if length == 1 then "the one seed" elif length == 2 then "both seeds" else "all \(length) seeds" end) else "\($returns | length) of \(length) seeds; with \(if $lost == 1 then "the other" else "\($lost) others" end) \($circle)" end) end;

# What the greedy walks are worth after learning.
def greedy_answer(settings):
  . as $all
  | def of(name): $all | map(select(.agent == name));
    "The greedy walk after \(settings.steps | commas) steps of Q-learning in a table: \(of("q-learning") | walk_words(settings)) (the shortest way is 13 steps, -13). After as many of sarsa: \(of("sarsa") | walk_words(settings)). After \(settings.deep_steps | commas) steps of a deep Q-network: \(of("deep Q-network") | walk_words(settings))."
      + (if any(of("deep Q-network")[]; arrives(settings) | not) then " `--set deep_steps=` trains the network for longer." else "" end);

# What exploring costs meanwhile.
def exploring_answer:
  def of(name): map(select(.agent == name) | .result.runs[0].recent_return);
  of("q-learning") as $q | of("sarsa") as $sarsa
  | "While they still explore, the last 100 episodes of Q-learning have \($q | mean | fixed(1)), those of sarsa \($sarsa | mean | fixed(1)): "
    + (if ($q | length) < 2 then "one seed decides nothing between them."
       else compare_within($sarsa | mean; $sarsa | standard_error; $q | mean; $q | standard_error)
         | if . > 0 then "sarsa pays less for exploring." elif . < 0 then "Q-learning pays less for exploring here." else "no difference beyond the standard error." end end);

def walk_rows(settings):
  map({agent, seed, greedy: greedy_return, arrives: (if arrives(settings) then "yes" else "no" end), exploring: .result.runs[0].recent_return, seconds: .result.runs[0].seconds});
def walk_lines: in_order(.agent) | map({name: .[0].agent, origin: "measured", points: seed_band(.result.runs[0].evaluations[] | [.step, .mean])});

def lake_answer:
  map(greedy_return) as $reached
  | "On FrozenLake the table's greedy policy reaches the goal in \($reached | mean | percent(1)) of 2,000 episodes (mean over \($reached | length | count_of("seed"))); the best possible policy does in about 74 %.";

# Functions of lab dqn-pieces. Rows are its runs: {seed, piece, option, result: {runs: [{evaluations: [{step, mean}]}]}}.

# The agent that all others are compared with.
def whole: "all of Mnih et al. 2015";
def tests_of: .result.runs[0].evaluations | map(.mean);
# The mean of all tests of each seed.
def of_piece(name): map(select(.piece == name) | tests_of | mean);
def epsilon_pieces: ["an epsilon that falls exponentially", "a constant epsilon, its last value", "a constant epsilon of 0.5"];
def later_pieces: ["double Q-learning", "a dueling network", "returns of 3 steps"];
def target_difference: (of_piece("no target network") | mean) - (of_piece(whole) | mean);
def last_of_piece(name): map(select(.piece == name) | tests_of[-1]);

# Whether some agent acts better at the end than one that acts at random; `random` are such runs.
def learned(random):
  (random | map(.result.runs[0].recent_return)) as $random
  | . as $all
  | ($random | length) > 1 and any(in_order(.piece)[][0].piece; . as $piece | seeds_verdict($all | last_of_piece($piece); $random) == "better");

# Why nothing is said, or what acting at random gives, of runs of all pieces with the same seeds.
def first_answer(random; settings):
  (random | map(.result.runs[0].recent_return)) as $random
  | "\(settings.steps | commas) steps on \(settings.env)" as $training
  | if (settings.seeds | length) < 2 then "One seed decides nothing: the same agent with another seed has another return. `--set seeds=1,2,3,4,5` has standard errors."
    elif learned(random) then
      "Acting at random gives a return of \($random | mean_and_error(0)); after \($training) all of Mnih et al. 2015 (target network, replay, an epsilon that falls linearly) has \(of_piece(whole) | mean_and_error(0)), the mean of all tests with its standard error over \(settings.seeds | length) seeds. What follows changes one piece each time."
    else "No agent is better after \($training) than one that acts at random (\($random | mean_and_error(0))): nothing was learned yet, so nothing can be said of the pieces. `--set steps=` trains for longer." end;

# What pieces change: "no target network 10 ± 1 (worse)", …
def pieces_answer(names):
  . as $all
  | "The mean return of all tests is \(of_piece(whole) | mean_and_error(0)) with all of Mnih et al. 2015; "
    + (names | map(. as $piece | $all | "with \($piece) it is \(of_piece($piece) | mean_and_error(0)) (\(seeds_verdict(of_piece($piece); of_piece(whole))))") | listed) + ".";

def piece_rows:
  . as $all
  | [in_order(.piece)[]
     | .[0].piece as $piece | (map(tests_of[-1])) as $last
     | {piece: $piece, option: .[0].option, all: ($all | of_piece($piece) | if length < 2 then mean | fixed(1) else mean_and_error(1) end),
        last: ($last | mean), low: ($last | min), high: ($last | max), seconds: (map(.result.runs[0].seconds) | mean)}
       + (if $piece == whole or length < 2 then {} else {verdict: ($all | seeds_verdict(of_piece($piece); of_piece(whole)))} end)];

# Lines of the pieces that questions ask for.
def piece_lines:
  [whole, "no target network", "a memory of one batch", "priorities, proportional", "priorities by rank"] as $shown
  | [in_order(.piece)[] | select(.[0].piece as $piece | $shown | index([$piece]))
     | {name: .[0].piece, origin: "measured", points: seed_band(.result.runs[0].evaluations[] | [.step, .mean])}];

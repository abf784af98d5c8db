# Functions of lab distributed-rl. Rows are its runs: {n, seed, result: {runs: [run]}}.

def run_of: .result.runs[0];
def learned_per_s: run_of | .updates_per_s * .samples_per_update;
def rates(n): map(select(.n == n) | run_of.steps_per_s);
# "12.3K ± 0.4K": a rate over seeds.
def rate_text: if length < 2 then mean | si else "\(mean | si) ± \(standard_error | si)" end;

# How the steps/s change with more actors or learners, of the runs of one architecture.
def more_words(name; one; busy):
  (map(.n) | unique) as $counts
  | if ($counts | length) < 2 then ""
    else
      rates($counts[0]) as $few | rates($counts[-1]) as $many
      | " \(name) with \($counts[-1] | count_of(one)) makes \($many | rate_text) steps/s, with \($counts[0]) \($few | rate_text)"
        + (if ($few | length) < 2 then ": \(ratio($many | mean; $few | mean) | fixed(2)) times as many, of one run each."
           else compare_within($many | mean; $many | standard_error; $few | mean; $few | standard_error) as $more
             | (ratio($many | mean; $few | mean) | fixed(2)) as $times
             | if $more > 0 then ": \($times) times as many." elif $more < 0 then ": \($times) times as many\(if busy then "" else ", so more of them cost speed here" end)." else ": no difference beyond the standard error." end end) end;

def rates_answer(gorila; cores; busy):
  "Ape-X learns from \(map(learned_per_s) | max | si) samples/s at most here, GORILA from \(gorila | map(learned_per_s) | max | si)."
    + more_words("Ape-X"; "actor"; busy) + (gorila | more_words("GORILA"; "learner"; busy))
    + " This machine has \(cores | count_of("core")): what runs beyond that takes turns\(if busy then ", and other work ran on it at the time" else "" end).";

# A row for each number of actors or learners: means over seeds.
def means_over_seeds: in_order(.n) | map(
    map(run_of) as $runs
    | {n: .[0].n, steps: ($runs | map(.steps_per_s) | rate_text), samples: (map(learned_per_s) | mean), ratio: (map(ratio(learned_per_s; run_of.steps_per_s)) | mean),
       age: ($runs | map(.policy_lag // empty) | mean), stale: ($runs | map(.priority_staleness // empty) | mean),
       return: ($runs | map(.evaluations[-1].mean) | if length < 2 then mean | fixed(1) else mean_and_error(1) end), seconds: ($runs | map(.seconds) | mean)});
# The updates between reading weights and using them make policies old in one architecture and gradients stale in the other.
def rate_rows(alone; gorila):
  (alone | map(. + {n: null}) | means_over_seeds | map({agent: "one process"} + . | del(.n, .age, .stale)))
  + (means_over_seeds | map({agent: "Ape-X", lag: .age} + .)) + (gorila | means_over_seeds | map({agent: "GORILA", gradients: .age} + . | del(.stale)));

# The learner's share of a step, in seconds.
def learner_step: run_of | (.learner_seconds | .updates + .parcels + .pulls) / .steps;

# From how many actors on the learner is the bound; `actor` is the number of steps that one makes in a second.
def bound_answer(actor):
  learner_step as $each
  | "One actor alone makes \(actor | si) steps/s. The learner spends \($each | seconds_text) on each step, \(run_of.learner_seconds | .updates / (.updates + .parcels + .pulls) | percent(1)) of it on updates (it draws \(ratio(learned_per_s; run_of.steps_per_s) | fixed(1)) samples for each transition), the rest on receiving transitions and sending weights. So it keeps up with \(1 / $each | si) steps/s, and with a core for each process it is the bound from \([1, 1 / $each / actor] | max | ceil | count_of("actor")) on.";
def bound_lines(actor):
  learner_step as $each
  | [{name: "as many as actors make", origin: "predicted", points: [8, 16, 32, 64, 128, 256, 360 | [., . * actor]]},
     {name: "as many as the learner takes", origin: "predicted", points: [8, 16, 32, 64, 128, 256, 360 | [., 1 / $each]]},
     {name: "Horgan et al., Atari frames", origin: "published", points: [[360, 50000]]}];

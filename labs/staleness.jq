# Functions of lab staleness. Rows of gradients are those of `trainyard staleness`: {learner, index, read_time, time, staleness}.

# "0, 0, 1 and 0": the staleness of a learner's gradients, in order.
def staleness_of(learner): map(select(.learner == learner).staleness | tostring) | listed;

# Which learner's gradients are staler, and why.
def staler_learner:
  [group_by(.learner)[] | {learner: .[0].learner, mean: (map(.staleness) | mean), written: length}]
  | max_by(.mean) as $stale
  | min_by(.mean) as $fresh
  | if $stale.mean > $fresh.mean then
      "Learner \($stale.learner), which writes \($stale.written | count_of("gradient")) while the other writes \($fresh.written), delivers the staler ones: the other writes while its gradients are computed."
    else "No learner's gradients are staler than the other's." end;

# The gradients in the order in which they are taken, each with those that others wrote since it read: {…, between: "g[1,1], g[1,2]"}.
def with_updates_between:
  sort_by(.time, .learner) as $taken
  | [range($taken | length) as $i
     | $taken[$i] as $own | ([range($i) | select($taken[.].learner == $own.learner)] | last // -1) as $before
     | $own + {between: ($taken[$before + 1:$i] | map("g[\(.learner),\(.index)]") | join(", "))}]
  | sort_by(.learner, .index);

# Which gradients are written at the same time, and what is done then.
def ties_text:
  [group_by(.time)[] | select((map(.learner) | unique | length) > 1) | .[0].time | tostring] as $times
  | if ($times | length) == 0 then "" else " At \($times | listed) s both learners write; the gradient of learner 1 is taken first." end;

# Bars from read to write, stale and fresh ones apart.
def schedule_bars:
  [group_by(.staleness > 0)[]
   | {name: (if .[0].staleness > 0 then "stale" else "fresh" end),
      points: map({y: "learner \(.learner)", low: .read_time, high: .time, label: (.staleness | tostring)})}];

# Of counts by staleness: mean, its standard error and median.
def counted: [to_entries[] | select(.value > 0)];
def counts_mean: (counted | map(.key * .value) | add) / add;
def counts_error: add as $n | counts_mean as $mean | if $n < 2 then null else (counted | map(.value * (.key - $mean) * (.key - $mean)) | add) / ($n - 1) / $n | sqrt end;
def counts_median: (add / 2) as $half | [foreach to_entries[] as $e (0; . + $e.value; if . >= $half then $e.key else empty end)][0];

# Rows of trainings with a parameter server, for the table. Worker 1 is the one that can be slowed down.
def training_rows:
  map(.result as $r | ($r.workers | max_by(.staleness.mean).staleness.histogram) as $stalest
      | {mode, sync, more, mean: $r.servers[0].staleness.mean, error: ($r.servers[0].staleness.histogram | counts_error), max: $r.servers[0].staleness.max,
         slowest: ($stalest | counts_mean), slowest_error: ($stalest | counts_error), slowest_median: ($stalest | counts_median),
         written: ($r.workers | map(.staleness.gradients)), gradients: ($r.workers | map(.staleness.gradients | tostring) | join(" + ")),
         top1: $r.epochs[-1].top1, loss: $r.epochs[-1].train_loss, speed: ($r.epochs | map(.images_per_s) | max)});

# How many gradients had which staleness, 6 and more together.
def staleness_bars:
  map({name: .mode, origin: "measured",
       points: (.result.servers[0].staleness.histogram as $h
                | [(range(0; 6) | [tostring, ($h[.] // 0)]), ["6 or more", ($h[6:] | add // 0)]])});

# A training's sync mode, with or without a slowed worker.
def training(sync; slowed): map(select(.sync == sync and (.more != "") == slowed))[0];
def training(sync): map(select(.sync == sync))[0];

# The largest staleness that a bound on how far ahead a worker may read allows: each other worker goes from `bound` behind to `bound` ahead and
# writes once more.
def largest_within(settings): (settings.workers - 1) * (2 * settings.bound + 1);

def bound_verdict(settings):
  " With the bound of \(settings.bound) the largest staleness is \(.max)"
  + (if .max <= settings.bound then ", no more than the bound."
     else ". The bound limits how many gradients a worker may be ahead of the slowest one, which is not its staleness. While a worker computes one gradient, another can go from \(settings.bound) behind it to \(settings.bound) ahead of it and write one more, \(2 * settings.bound + 1) gradients. So the bound allows a staleness of \(largest_within(settings))"
       + (if .max <= largest_within(settings) then "." else ", and what was seen breaks it." end) end);

# What staleness costs in accuracy, of the rows of training_rows.
def cost_in_accuracy(settings):
  training("sync").top1 as $sync
  | " Top-1 is \($sync | percent(1)) with synchronous training, "
    + ([["\(training("async"; false).top1 | percent(1)) with asynchronous training", training("async"; false).top1], ["\(training("async"; true).top1 | percent(1)) with one worker slowed down", training("async"; true).top1]]
       | map("\(.[0]) (\(accuracy_verdict(.[1]; $sync; settings.tests)))") | join(" and ")) + ".";

# "more than", "about" or "less than": of two means with their standard errors.
def beside(a; error_of_a; b; error_of_b): compare_within(a; error_of_a; b; error_of_b) | if . > 0 then "more than" elif . < 0 then "less than" else "about" end;

# What the rows of training_rows say.
def measured_verdict(settings):
  training("async"; false) as $even | training("async"; true) as $slow | (settings.workers - 1) as $others
  | "Where no worker is slowed down the mean staleness is \($even.mean | fixed(2)) ± \($even.error | fixed(2)), \(beside($even.mean; $even.error; $others; 0)) the number of other workers, \($others)."
    + " Slowed down \(settings.slow) times, worker 1 writes \($slow.written[1] | count_of("gradient")) while \(if $others == 1 then "the other writes" else "the others write" end) \(($slow.written | add) - $slow.written[1]); the stalest worker then has \($slow.slowest | fixed(2)) ± \($slow.slowest_error | fixed(2)) in the mean (half of its gradients \(if $slow.slowest_median == 0 then "have 0" else "\($slow.slowest_median) or less" end)), \(beside($slow.slowest; $slow.slowest_error; $even.mean; $even.error)) the mean before."
    + (training("ssp") | bound_verdict(settings))
    + " Synchronous training has a largest staleness of \(training("sync").max)." + cost_in_accuracy(settings);

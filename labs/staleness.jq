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

# Bars from read to write, stale and fresh ones apart.
def schedule_bars:
  [group_by(.staleness > 0)[]
   | {name: (if .[0].staleness > 0 then "stale" else "fresh" end),
      points: map({y: "learner \(.learner)", low: .read_time, high: .time, label: (.staleness | tostring)})}];

# Rows of trainings with a parameter server, for the table.
def training_rows:
  map(.result as $r
      | {mode, sync, more, mean: $r.servers[0].staleness.mean, max: $r.servers[0].staleness.max,
         slowest: ($r.workers | map(.staleness.mean) | max),
         gradients: ($r.workers | map(.staleness.gradients | tostring) | join(" + ")),
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
     else ". The bound is on how many gradients a worker may be ahead of the slowest when it reads weights, not on staleness: while one worker computes, each other can go from \(settings.bound) behind it to \(settings.bound) ahead and write one more, \(2 * settings.bound + 1) gradients, so a staleness of up to \(largest_within(settings)) keeps the bound"
       + (if .max <= largest_within(settings) then "." else ", and what was seen breaks it." end) end);

# What staleness costs in accuracy, of the rows of training_rows.
def cost_in_accuracy(settings):
  training("sync").top1 as $sync
  | " Top-1 is \($sync | percent(1)) with synchronous training, "
    + ([["\(training("async"; false).top1 | percent(1)) with asynchronous training", training("async"; false).top1], ["\(training("async"; true).top1 | percent(1)) with one worker slowed down", training("async"; true).top1]]
       | map("\(.[0]) (\(accuracy_verdict(.[1]; $sync; settings.tests)))") | join(" and ")) + ".";

# What the rows of training_rows say.
def measured_verdict(settings):
  training("async"; false) as $even | training("async"; true) as $slow
  | "With workers of one speed the mean staleness is \($even.mean | fixed(2)), "
    + verdict($even.mean; settings.workers - 1; 0.25; "more than"; "about"; "less than")
    + " the number of other workers, \(settings.workers - 1). The stalest worker of the run with one slowed down \(settings.slow) times has \($slow.slowest | fixed(2)) in the mean"
    + verdict($slow.slowest; $even.mean; 0.25; ", more than that."; ", about the same."; ", less than that.")
    + (training("ssp") | bound_verdict(settings))
    + " Synchronous training has a largest staleness of \(training("sync").max)." + cost_in_accuracy(settings);

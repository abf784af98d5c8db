# Functions of lab batch-augmentation. Runs are those of `train`: {m, result: {steps, epochs: [{epoch, top1, seconds, …}]}}.

def test_pictures: if .tests > 0 then .tests else 10000 end;
def last_top1: .result.epochs[-1].top1;
def copies_text: if . == 1 then "1 copy" else "\(.) copies" end;
# Of a run, the first epoch at the target; null: none.
def at_target(target): [.result.epochs[] | select(.top1 >= target)][0];
def epoch_seconds: .result.epochs[-1].seconds / (.result.epochs | length);

# What a verdict between two accuracies says of the first: "is better than y", "cannot be told from y".
def told(a; b; tests; words): accuracy_verdict(a; b; tests) | if startswith("no") then "cannot be told from \(words)" else "is \(.) than \(words)" end;

# Cutout beside nothing, and beside as many pixels dropped one by one, all with one copy.
def cutout_answer(settings):
  (settings | test_pictures) as $n | (.plain[0] | last_top1) as $plain | (.trained | min_by(.m) | last_top1) as $cut | (.dropped[0] | last_top1) as $drop
  | "After \(settings.epochs | count_of("epoch")) the error is \(1 - $plain | with_accuracy_error($n)) without either, \(1 - $cut | with_accuracy_error($n)) with cutout and \(1 - $drop | with_accuracy_error($n)) where \(settings.dropped | percent(1)) of the pixels are dropped one by one, as many as the square takes on average. "
    + "On these \($n | commas) test images cutout \(told($cut; $plain; $n; "no cutout")), and \(told($cut; $drop; $n; "dropped pixels"))."
    + (if accuracy_verdict($cut; $plain; $n) == "worse" then " A square makes the images harder, which pays only when training is long enough to overfit." else "" end);

# Which number of copies ends with the least error, and which others cannot be told from it.
def copies_answer(settings):
  (settings | test_pictures) as $n | (.trained | sort_by(.m)) as $t | ($t | max_by(last_top1)) as $best | ($best | last_top1) as $top
  | [$t[] | select(.m != $best.m and (accuracy_verdict($top; last_top1; $n) | startswith("no"))) | .m | tostring] as $ties
  | if ($t | length) < 2 then ""
    else "With cutout the error at the end is least with \($best.m | copies_text), \(1 - $top | with_accuracy_error($n))"
      + (if ($ties | length) == 0 then "." else "; \($ties | listed) cannot be told from it." end) end;

# When each number of copies reaches the target; what it has and took where it does not.
def target_answer(settings):
  (.trained | sort_by(.m)) as $t
  | [$t[] | (.m | copies_text) as $words | at_target(settings.target) as $at
     | if $at == null then "with \($words) it is not reached: \(last_top1 | percent(2)) after all \(.result.epochs | length) epochs, \(.result.epochs[-1].seconds | seconds_text)"
       else "with \($words) after epoch \($at.epoch), \($at.seconds | seconds_text)" end]
  | "\(settings.target | percent(1)) of the test images right: \(join("; ")).";

# The most copies beside the fewest.
def most_answer(settings):
  busy as $busy | (.trained | sort_by(.m)) as $t | $t[0] as $few | $t[-1] as $most | ($few | at_target(settings.target)) as $one | ($most | at_target(settings.target)) as $many
  | if ($t | length) < 2 then ""
    else "An epoch takes \(ratio($most | epoch_seconds; $few | epoch_seconds) | fixed(1)) times as long with \($most.m | copies_text) as with \($few.m)"
      + (if $one == null or $many == null then "; epochs to the target cannot be compared."
         else ", and \($most.m) copies need " + (if $many.epoch < $one.epoch then "fewer epochs than" elif $many.epoch == $one.epoch then "as many epochs as" else "more epochs than" end) + " \($few.m)"
           + (if $busy then "" else ": " + verdict($many.seconds; $one.seconds; 0.03; "more time"; "as much time"; "less time") + " in all" end) + "." end) + busy_note end;

# A row for each training.
def augmentation_rows(settings):
  [(.plain[] | {m: 1, what: "neither", result}), (.dropped[] | {m: 1, what: "dropped pixels", result}), (.trained[] | {m, what: "cutout", result})
   | at_target(settings.target) as $at
   | {what, m, updates: .result.steps, loss: .result.epochs[-1].train_loss, error: (1 - last_top1), best: (1 - (.result.epochs | map(.top1) | max)), epoch: ($at.epoch // null),
      total: .result.epochs[-1].seconds, seconds: ($at.seconds // null), speed: (.result.epochs | map(.images_per_s) | max), wait: ((.result.epochs | map(.wait_s) | add) / (.result.epochs | map(.train_s) | add))}];

# How a step grows from the fewest to the most copies, by device.
def growth_text:
  [group_by(.device)[] | sort_by(.m) | select(length > 1) | .[0] as $one | .[-1] as $most
   | {most: $most.m, one: $one.m, text: "\($most.result.rows[0].step_ms / $one.result.rows[0].step_ms | fixed(1)) times as long on a \($one.device)"}]
  | if length == 0 then "" else "With \(.[0].most | copies_text) a step takes \(map(.text) | listed) as with \(.[0].one)." end;

# Functions of lab large-batch. Rows are its trainings: {batch, remedy, actual, result}.

def top1_of(batch; remedy): map(select(.batch == batch and .remedy == remedy))[0].result.epochs[-1].top1;

def last_epoch_of(batch; remedy): map(select(.batch == batch and .remedy == remedy))[0].result.epochs[-1];

# Loss and accuracy of training in the last epoch, small batch beside large.
def training_answer(settings):
  settings.batches[-1] as $large
  | last_epoch_of(settings.base; "none") as $small | last_epoch_of($large; "none") as $none
  | def words: "a training loss of \(.train_loss | fixed(4)) and \(.train_accuracy | percent(2)) of the training images right";
    "In epoch \(settings.epochs) batch \(settings.base) has \($small | words); batch \($large) with the same rate has \($none | words), and with linear scaling and warm-up \(last_epoch_of($large; "linear scaling and warm-up") | words).";

# Which remedy is better than none, and how much of what was lost it brings back.
def best_remedy(settings; small; none; linear; warm):
  accuracy_verdict(warm; linear; settings.tests) as $warmer
  | (if settings.epochs < 2 or $warmer == "worse" then linear else [linear, warm] | max end) as $remedy
  | if accuracy_verdict(none; small; settings.tests) != "worse" then "The large batch loses nothing beyond the standard error, so there is nothing to bring back."
    elif accuracy_verdict($remedy; none; settings.tests) != "better" then (if settings.epochs < 2 then "Scaling does" else "The remedies do" end) + " not help beyond the standard error here."
    else
      (if settings.epochs < 2 then "Scaling" elif $warmer == "better" then "Scaling with warm-up, better than without," elif $warmer == "worse" then "Scaling without warm-up, better than with it," else "Scaling, with or without warm-up (no difference beyond the standard error)," end)
        + " brings back \(($remedy - none) / (small - none) | percent(0)) of what was lost." end
  | . + (if settings.epochs < 2 then " Warm-up fills the only epoch, so nothing is said of it." else "" end);

# What the large batch loses and which remedy brings it back, of the rows of `trained`.
def remedies_answer(settings):
  settings.batches[-1] as $large
  | top1_of(settings.base; "none") as $small | top1_of($large; "none") as $none
  | top1_of($large; "linear scaling") as $linear | top1_of($large; "linear scaling and warm-up") as $warm
  | def right: with_accuracy_error(settings.tests);
    "Batch \(settings.base) gets \($small | right) of the test images right after \(settings.epochs | count_of("epoch")), batch \($large) with the same rate \($none | right), with linear scaling \($linear | right), and with scaling and warm-up \($warm | right). "
      + best_remedy(settings; $small; $none; $linear; $warm);

# The last epoch of the runs with this many images on each worker.
def last_of(own; what): map(select(.own == own and .what == what))[0].result.epochs[-1];

# Of a last epoch: how far the networks of the workers lie apart.
def apart: (.worker_top1 | max | number) - (.worker_top1 | min | number);

# Two standard errors of the difference of two accuracies on this many images.
def counts_from(tests): accuracy_error(tests) * 2 * (2 | sqrt);

# Whether gradients alone are enough with this many images on each worker: {enough, text}.
def enough_for(own; tests):
  last_of(own; "gradients alone") as $alone | last_of(own; "normalization over all workers").top1 as $all
  | ($alone.top1 | number | counts_from(tests)) as $counts
  | accuracy_verdict($all; $alone.top1; tests) as $verdict
  | (($alone | apart) <= $counts and $verdict != "better") as $enough
  | {enough: $enough,
     text: ("With \(own) images on each worker the 4 networks, whose parameters are the same, get \($alone.worker_top1 | percent_span(2)) of \(tests | commas) test images right, \($alone | apart * 100 | fixed(2)) points apart "
       + (if ($alone | apart) <= $counts then "(differences count from \($counts * 100 | fixed(1)) points on). " else "(more than the \($counts * 100 | fixed(1)) points from which differences count). " end)
       + "Normalization over all workers gives \($all | percent(2)): \($verdict). "
       + (if $enough then "So gradients alone are enough." else "So gradients alone are not enough." end))};

# The answer to whether gradients are enough; `statistics` are the running statistics of the network.
def gradients_answer(settings; statistics):
  if statistics == 0 then "\(settings.shared_network) has no running statistics, so gradients are all there is to exchange."
  else
    enough_for(settings.share; settings.shared_tests) as $share | enough_for(settings.few; settings.shared_tests) as $few
    | "\(if $share.enough then "Yes" else "No" end) with \(settings.share) images on each of 4 workers, \(if $few.enough then "yes" else "no" end) with \(settings.few). \($share.text) \($few.text)" end;

# What is lost where the epoch is not told.
def order_answer(settings):
  last_of(settings.share; "gradients alone").top1 as $told
  | map(select(.own == settings.share and (.what | test("order"))))[0].result.epochs as $epochs
  | "Repeating the order of the first epoch, as a sampler does that is not told the epoch, gives \($epochs[-1].top1 | percent(2)) in place of \($told | percent(2)): \(accuracy_verdict($epochs[-1].top1; $told; settings.shared_tests)). Each of the 4 workers then sees a quarter of the images, always the same; with an order for each epoch it is expected to see \(1 - pow(0.75; $epochs | length) | percent(0)) of them within \($epochs | length | count_of("epoch")).";

# Rows of tables.
def training_row: .result.epochs[-1] as $last | {loss: $last.train_loss, right: $last.train_accuracy, test: $last.test_loss, top1: $last.top1};
def trained_rows: map({batch, remedy, rate: .actual, steps: .result.steps, speed: (.result.epochs | map(.images_per_s) | max)} + training_row);
def exchanged_rows: map({own, what} + training_row + ((.result.epochs[-1].worker_top1 // []) | {least: min, most: max}));
def worker_lines: [.[] | select(.what == "gradients alone") | .own as $own | .result.epochs as $epochs | ["worst", "best"][] as $which
  | {name: "\($own) each, \($which)", group: "\($own) each", origin: "measured", points: [$epochs[] | select(.worker_top1 != null) | [.epoch, 100 * (.worker_top1 | if $which == "best" then max else min end)]]}];
def passed_rows: map({network: .which, params: .result.totals.params, gradient: (4 * .result.totals.params), statistics: (4 * .result.totals.statistics)} | . + {share: (.statistics / .gradient)});

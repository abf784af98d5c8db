# Functions of lab large-batch. Rows are its trainings: {batch, remedy, actual, result}.

def top1_of(batch; remedy): map(select(.batch == batch and .remedy == remedy))[0].result.epochs[-1].top1;

# What the large batch loses and which remedy brings it back, of the rows of `trained`.
def remedies_answer(settings):
  settings.batches[-1] as $large
  | top1_of(settings.base; "none") as $small | top1_of($large; "none") as $none
  | top1_of($large; "linear scaling") as $linear | top1_of($large; "linear scaling and warm-up") as $warm
  | (if settings.epochs < 2 then $linear else [$linear, $warm] | max end) as $remedy
  | "Batch \(settings.base) gets \($small | percent(1)) of the test pictures right after \(settings.epochs | count_of("epoch")), batch \($large) with the same rate \($none | percent(1)), with linear scaling \($linear | percent(1)), and with scaling and warm-up \($warm | percent(1)). "
    + (if $none > $small - 0.005 then "The large batch loses nothing here, so there is nothing to bring back."
       elif $remedy > $none + 0.005 then
         "\(if settings.epochs < 2 then "Scaling" else "The better remedy, \(if $warm > $linear + 0.005 then "scaling with warm-up" elif $linear > $warm + 0.005 then "scaling without warm-up" else "scaling, with or without warm-up" end)," end) brings back \(($remedy - $none) / ($small - $none) | percent(0)) of what was lost."
       else "\(if settings.epochs < 2 then "Scaling does not help" else "Neither remedy helps" end) here." end)
    + (if settings.epochs < 2 then " Warm-up fills the only epoch, so nothing is said of it." else "" end);

# The last epoch of the runs with so many pictures on each worker.
def last_of(own; what): map(select(.own == own and .what == what))[0].result.epochs[-1];

# Of a last epoch: how far the networks of the workers lie apart.
def apart: (.worker_top1 | max | number) - (.worker_top1 | min | number);

# Two standard errors of the difference of two accuracies on so many pictures.
def counts_from(tests): accuracy_error(tests) * 2 * (2 | sqrt);

# Whether gradients alone are enough with so many pictures on each worker: {enough, text}.
def enough_for(own; tests):
  last_of(own; "gradients alone") as $alone | last_of(own; "normalization over all workers").top1 as $all
  | ($alone.top1 | number | counts_from(tests)) as $counts
  | accuracy_verdict($all; $alone.top1; tests) as $verdict
  | (($alone | apart) <= $counts and $verdict != "better") as $enough
  | {enough: $enough,
     text: ("With \(own) pictures on each worker the 4 networks, whose parameters are the same, get \($alone.worker_top1 | percent_span(2)) of \(tests | commas) test pictures right, \($alone | apart * 100 | fixed(2)) points apart "
       + (if ($alone | apart) <= $counts then "(differences count from \($counts * 100 | fixed(1)) points on). " else "(more than the \($counts * 100 | fixed(1)) points from which differences count). " end)
       + "Normalization over all workers gives \($all | percent(2)): \($verdict). "
       + (if $enough then "So gradients alone are enough." else "So gradients alone are not enough." end))};

# The answer to whether gradients are enough; `statistics` are the running statistics of the network.
def gradients_answer(settings; statistics):
  if statistics == 0 then "\(settings.shared_network) has no running statistics, so gradients are all there is to exchange."
  else [enough_for(settings.share; settings.shared_tests), enough_for(settings.few; settings.shared_tests)] | map(.text) | join(" ") end;

# What is lost where the epoch is not told.
def order_answer(settings):
  last_of(settings.share; "gradients alone").top1 as $told
  | map(select(.own == settings.share and (.what | test("order"))))[0].result.epochs as $epochs
  | "Repeating the order of the first epoch, as a sampler does that is not told the epoch, gives \($epochs[-1].top1 | percent(2)) in place of \($told | percent(2)): \(accuracy_verdict($epochs[-1].top1; $told; settings.shared_tests)). Each of the 4 workers then sees a quarter of the pictures, always the same; with an order for each epoch it is expected to see \(1 - pow(0.75; $epochs | length) | percent(0)) of them within \($epochs | length | count_of("epoch")).";

# Rows of tables.
def training_row: .result.epochs[-1] as $last | {loss: $last.train_loss, right: $last.train_accuracy, test: $last.test_loss, top1: $last.top1};
def trained_rows: map({batch, remedy, rate: .actual, steps: .result.steps, speed: (.result.epochs | map(.images_per_s) | max)} + training_row);
def exchanged_rows: map({own, what} + training_row + ((.result.epochs[-1].worker_top1 // []) | {least: min, most: max}));
def worker_lines: [.[] | select(.what == "gradients alone") | .own as $own | .result.epochs as $epochs | ["worst", "best"][] as $which
  | {name: "\($own) each, \($which)", group: "\($own) each", origin: "measured", points: [$epochs[] | select(.worker_top1 != null) | [.epoch, 100 * (.worker_top1 | if $which == "best" then max else min end)]]}];
def passed_rows: map({network: .which, params: .result.totals.params, gradient: (4 * .result.totals.params), statistics: (4 * .result.totals.statistics)} | . + {share: (.statistics / .gradient)});

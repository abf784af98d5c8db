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

# What a difference of top-1 is worth saying.
def top1_change:
  if fabs < 0.005 then "makes no difference beyond half a point (\(. * 100 | fixed(2)) points)"
  elif . < 0 then "costs \(-. * 100 | fixed(2)) points of top-1"
  else "gains \(. * 100 | fixed(2)) points of top-1, in one run of each" end;

# What is lost where only gradients are exchanged or the epoch is not told; `statistics` are the running statistics of the network.
def exchange_answer(settings; statistics):
  map(.result.epochs[-1].top1 | number) as $top
  | (.[2].result.epochs | length) as $epochs
  | (if statistics == 0 then "\(settings.shared_network) has no running statistics, so gradients are all there is to exchange, and the first two rows are one training. "
     else "Keeping each worker's statistics of batch normalization to itself \($top[1] - $top[0] | top1_change). " end)
    + "Repeating the order of the first epoch, as a sampler does that is not told the epoch, \($top[2] - $top[1] | top1_change). Each of the 4 workers then sees a quarter of the pictures, always the same; with an order for each epoch it is expected to see \(1 - pow(0.75; $epochs) | percent(0)) of them within \($epochs | count_of("epoch")).";

# Rows of tables.
def training_row: .result.epochs[-1] as $last | {loss: $last.train_loss, right: $last.train_accuracy, test: $last.test_loss, top1: $last.top1};
def trained_rows: map({batch, remedy, rate: .actual, steps: .result.steps, speed: (.result.epochs | map(.images_per_s) | max)} + training_row);
def exchanged_name: {"gradients and statistics": "gradients and statistics, epoch told", "gradients alone": "gradients alone, epoch told"}[.] // "gradients alone, epoch not told";
def exchanged_lines: map({name: (.what | exchanged_name), origin: "measured", points: [.result.epochs[] | [.epoch, .top1 * 100]]});
def passed_rows: map({network: .which, params: .result.totals.params, gradient: (4 * .result.totals.params), statistics: (4 * .result.totals.statistics)} | . + {share: (.statistics / .gradient)});

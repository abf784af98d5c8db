# Functions of lab paleo-scaling, over all of its data.

# Pictures of an epoch of the first data set, of the rows of a prediction.
def epoch_images: .settings.datasets[0] as $d | [.strong[] | select(.model == "trainyard" and .dataset == $d)][0].result.rows[0] | .epoch_s * .images_per_s;
def predicted_speed(model; workers): .settings.datasets[0] as $d
  | [.strong[] | select(.model == model and .dataset == $d).result.rows[] | select(.workers == workers and .fits != false).images_per_s][0];

# Strong scaling as it was measured: {origin, device, gpus, each, images_per_s}, published or the user's.
def strong_measured:
  .settings as $s
  | [.published[0].result.rows | published_training($s) | map(select(.batch_per_gpu * .gpus == $s.batch)) | group_by(.gpus)[]
     | {origin: "published", device: $s.device, gpus: .[0].gpus, each: .[0].batch_per_gpu, images_per_s: (map(.measured) | mean)}]
    + [.inputs.measured[]? | {origin: "own", device, gpus: .workers, each: (if .batch then .batch / .workers else $s.batch / .workers end), images_per_s, cost}];

# The same with time and cost of an epoch, both predictions and their errors.
def strong_rows:
  . as $all | epoch_images as $images | (.strong | hourly) as $hourly
  | [strong_measured[] | . + {ours: (.gpus as $n | $all | predicted_speed("trainyard"; $n)), paleo: (.gpus as $n | $all | predicted_speed("paleo"; $n)), epoch_s: ($images / .images_per_s)}
     | . + {cost: (.cost // (.epoch_s / 3600 * $hourly * .gpus))}
     | . + (if .ours then {error: (.ours / .images_per_s - 1)} else {} end) + (if .paleo then {paleo_error: (.paleo / .images_per_s - 1)} else {} end)];

# Lines for a chart of strong scaling.
def measured_lines(y): [strong_rows | group_by([.origin, .device])[] | {name: (if .[0].origin == "own" then "own, \(.[0].device)" else "published" end), origin: (if .[0].origin == "own" then "measured" else "published" end),
  points: (sort_by(.gpus) | map([.gpus, y]))}];

# The mean error of each model over what was measured.
def strong_text:
  strong_rows | map(select(.error and .paleo_error))
  | if length == 0 then "No measurement of strong scaling is there (`--set measured=FILE.csv` with device, workers and images/s brings one)."
    else "Over \(length | count_of("point")) of strong scaling the mean error is \(map(.error | fabs) | mean | percent(1)) for trainyard and \(map(.paleo_error | fabs) | mean | percent(1)) for PALEO." end;

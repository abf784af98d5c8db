# Functions of lab paleo-scaling, over all of its data.

# Images of an epoch of the first data set, of the rows of a prediction.
def epoch_images: .settings.datasets[0] as $d | [.strong[] | select(.model == "trainyard" and .dataset == $d)][0].result.rows[0] | .epoch_s * .images_per_s;
def predicted_speed(model; workers): .settings.datasets[0] as $d
  | [.strong[] | select(.model == model and .dataset == $d).result.rows[] | select(.workers == workers and .fits != false).images_per_s][0];

# Published rows of one number of devices: {each, step} by batch of each device, the nearest to `each` first.
def published_steps(each): .[0].gpus as $n
  | group_by(.batch_per_gpu) | map({each: .[0].batch_per_gpu, step: (.[0].batch_per_gpu * $n / (map(.measured) | mean))}) | sort_by((.each - each) | fabs);

# Their speed with the batch `batch` shared. Where that was not published, the time of a step is continued on the straight line through the
# two nearest batches of the same source, to twice or half of the nearer at most.
def published_point(batch): .[0].gpus as $n | (batch / $n) as $each
  | (published_steps($each)[0] | select(.each == $each) | {origin: "published", step})
    // (group_by(.origin // "" | split(":")[0]) | map(published_steps($each) | select(length > 1)) | .[0] // empty
        | . as [$near, $next] | select($each <= 2 * $near.each and 2 * $each >= $near.each)
        | {origin: "extrapolated", step: ($near.step + ($each - $near.each) * ($next.step - $near.step) / ($next.each - $near.each)), from: "\([$near.each, $next.each] | min) and \([$near.each, $next.each] | max)"}
        | select(.step > 0))
  | {origin, gpus: $n, each: $each, images_per_s: (batch / .step)} + (if .from then {from} else {} end);

# Strong scaling as it was measured: {origin, device, gpus, each, images_per_s}, published or the user's.
def strong_measured:
  .settings as $s
  | [.published[0].result.rows | published_training($s) | map(select(.gpus as $n | $s.workers | index([$n]))) | group_by(.gpus)[] | published_point($s.batch) | . + {device: $s.device}]
    + [.inputs.measured[]? | {origin: "own", device, gpus: .workers, each: (if .batch then .batch / .workers else $s.batch / .workers end), images_per_s, cost}];

# The same with time and cost of an epoch, both predictions and their errors.
def strong_rows:
  . as $all | epoch_images as $images | (.strong | hourly) as $hourly
  | [strong_measured[] | . + {ours: (.gpus as $n | $all | predicted_speed("trainyard"; $n)), paleo: (.gpus as $n | $all | predicted_speed("paleo"; $n)), epoch_s: ($images / .images_per_s)}
     | . + {cost: (.cost // (.epoch_s / 3600 * $hourly * .gpus))}
     | . + (if .ours then {error: (.ours / .images_per_s - 1)} else {} end) + (if .paleo then {paleo_error: (.paleo / .images_per_s - 1)} else {} end)];

def extrapolation_text: if any(strong_measured[]; .from)
  then "Extrapolated points were published with other batches on as many devices: the time of a step is continued on the straight line through the two batches that are named." else "" end;

# Lines for a chart of strong scaling.
def line_name: {own: "own, \(.device)", published: "published", extrapolated: "published with other batches, extrapolated"}[.origin];
def measured_lines(y): [strong_rows | group_by([.origin, .device])[] | {name: (.[0] | line_name), origin: (if .[0].origin == "own" then "measured" else .[0].origin end),
  points: (sort_by(.gpus) | map([.gpus, y]))}];

# The mean error of each model over what was measured, and over what is extrapolated.
def strong_text:
  def errors(points; of): if length == 0 then empty
    else "over \(length | count_of(points))\(of) the mean error is \(map(.error | fabs) | mean | percent(1)) for trainyard and \(map(.paleo_error | fabs) | mean | percent(1)) for PALEO" end;
  strong_rows | map(select(.error and .paleo_error))
  | if length == 0 then "No measurement of strong scaling is there (`--set measured=FILE.csv` with device, workers and images/s brings one)."
    else [(map(select(.origin != "extrapolated")) | errors("point"; " of strong scaling")), (map(select(.origin == "extrapolated")) | errors("extrapolated point"; ""))]
      | join("; ") | (.[:1] | ascii_upcase) + .[1:] + "." end;

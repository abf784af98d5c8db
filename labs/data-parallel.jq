# Functions of lab data-parallel. Rows are those of `trainyard scale`: weak and strong with {batch, global_batch, workers, images_per_s, speedup,
# measured}, points with the parts of a step.

# "1.29 with batch 32 each and 0.21 with batch 128 each (slower)", of the rows with the most workers.
def speed_word: .speedup | fixed(2);
def slower_note: if .speedup < 1 then " (slower)" else "" end;
def speedups_by_batch: map("\(speed_word) with batch \(.batch) each\(slower_note)") | listed;
def speedups_by_global_batch: map("\(speed_word) with global batch \(.global_batch), \(.batch) each\(if .measured then "" else " (extrapolated)" end)\(slower_note)") | listed;

# The standard error of a step as a share of it; null of a single step.
def step_error: if .error_s == null then null else .error_s / .step_s end;

# Batches that were measured both ways: {batch, than}, than > 0 where strong scaling has the larger speed-up beyond the standard error.
def both_ways(weak):
  [.[] | . as $strong | weak[] | select(.batch == $strong.global_batch) | . as $weak
   | select(($weak | step_error) != null and ($strong | step_error) != null)
   | {batch, than: compare_within($strong.speedup; $strong.speedup * ($strong | step_error); $weak.speedup; $weak.speedup * ($weak | step_error))}];

# What both_ways says.
def strong_against_weak:
  if length == 0 then "no batch was measured both ways in several steps."
  elif (map(.than) | unique | length) > 1 then
    . as $both
    | [{than: 1, word: "better than"}, {than: 0, word: "no different beyond the standard error from"}, {than: -1, word: "worse than"}]
    | map(.word as $word | .than as $than | [$both[] | select(.than == $than).batch | tostring] | select(length > 0) | "\($word) weak scaling with batch \(listed)")
    | "that is \(listed)."
  elif .[0].than > 0 then "better than weak scaling here."
  elif .[0].than == 0 then "no difference beyond the standard error here."
  else "worse than weak scaling with the same batch on each worker." end;

# The answer to how much faster more workers are, of the result of `scale` on a machine that was busy or not.
def scaling_answer(cores; busy):
  (.weak | map(.workers) | max) as $n
  | (.weak | map(select(.workers == $n))) as $weak
  | (.strong | map(select(.workers == $n))) as $strong
  | (if $n == 1 then "Only one worker was measured. " else "Speed-up of \($n) workers over one, everything included: \($weak | speedups_by_batch). The batch of each worker is fixed, so the work of a step grows with the workers: weak scaling. " end)
    + (if $n == 1 or ($strong | length) == 0 then ""
       else "With the global batch fixed (strong scaling): \($strong | speedups_by_global_batch): "
         + (if busy or ($weak + $strong | disturbed(cores)) then "no verdict." else $strong | both_ways($weak) | strong_against_weak end) end)
    + ($weak + $strong | disturbed_note(cores)) + (if busy then " Other work ran on this machine at the time, so these speeds say little." else "" end);

# How the times of epochs came about.
def epoch_times(steps): if steps == 0 then "Whole epochs were timed." else "Times of epochs are extrapolated from \(steps | count_of("measured step"))." end;

# Rows of one worker by batch, of the result of `scale`. Training takes about three times the operations of a forward pass, two for each of `macs`.
def one_worker(macs):
  .images as $images
  | [.points[] | select(.workers == 1) | (.step_s - .data_s) as $step
     | {batch, epoch_without: ($images / .batch * $step), epoch: ($images / .batch * .step_s), picture: ($step / .batch), computing: (.compute_s / $step),
        gflops: (6 * macs * .batch / .compute_s / 1e9), error: step_error}] | sort_by(.batch);

# How the rates of two batches compare, by the standard errors of their steps: 1 if the second is larger.
def rate_verdict(a; b; error_of_a; error_of_b): compare_within(b; b * error_of_b; a; a * error_of_a);

# Whether a larger batch is faster, and what the cores did meanwhile, of the rows of one_worker. Of a busy machine nothing is concluded.
def batch_answer(busy):
  "Without data I/O an epoch takes \(map("\(.epoch_without | seconds_text) with batch \(.batch)") | listed). "
  + if length < 2 then "Only one batch was measured."
    elif any(.[]; .error == null) then "Single steps say nothing of which is faster."
    else .[0] as $small | .[-1] as $large
      | rate_verdict(1 / $small.picture; 1 / $large.picture; $small.error; $large.error) as $faster
      | rate_verdict($small.gflops; $large.gflops; $small.error; $large.error) as $used
      | "Batch \($large.batch) is "
        + (if $faster > 0 then "\($small.picture / $large.picture | fixed(2)) times as fast as batch \($small.batch). " elif $faster < 0 then "slower: an image takes \($large.picture / $small.picture | fixed(2)) times as long as with batch \($small.batch). " else "no different from batch \($small.batch) beyond the standard error. " end)
        + "While they compute, the cores do \($small.gflops | fixed(1)) GFLOP/s with the small and \($large.gflops | fixed(1)) with the large batch"
        + (if busy then ". Other work ran on this machine at the time, so nothing about batches follows from that." elif $faster > 0 and $used > 0 then ": it is faster because they are used better." elif $faster < 0 and $used < 0 then ": it is slower because they are used worse." elif $used == 0 then ": they are used equally well." else "." end)
    end;

# Rows of table 2, of an epoch.
def epoch_parts:
  .images as $images
  | [.points[] | ($images / .batch / .workers) as $n
     | {batch, workers, steps: $n, epoch: ($n * .step_s), compute: ($n * .compute_s), data: ($n * .data_s), rest: ($n * (.step_s - .compute_s - .exposed_s - .data_s))}
       + (if .workers == 1 then {} else {exposed: ($n * .exposed_s), communication: ($n * .communication_s)} end)];

# Rows of table 2, of a step. What is hidden is the part of the communication that nobody waited for; where waits are timed longer than the sums they are a
# part of, clocks differ and nothing is said of it.
def step_parts:
  map({batch, workers, step: .step_s, compute: .compute_s, data: .data_s, rest: (.step_s - .compute_s - .exposed_s - .data_s)}
      + (if .workers == 1 then {} else
         {exposed: .exposed_s, share: (.exposed_s / .step_s)} + (if .communication_s >= .exposed_s then {hidden: (.communication_s - .exposed_s)} else {} end) end));

# What is said of waiting and hiding, of the points of `scale`.
def communication_answer:
  [.[] | select(.workers > 1 and .communication_s > 0)] as $with
  | [$with[] | select(.communication_s >= .exposed_s) | 1 - .exposed_s / .communication_s] as $hidden
  | if ($with | length) == 0 then "One worker has nothing to exchange."
    else "Workers wait for sums during \($with | map(.exposed_s / .step_s) | percent_span(1)) of a step. "
      + (if ($hidden | length) == 0 then "They wait at least as long as sums are under way, so nothing of the communication is hidden."
         else ($hidden | mean) as $h
           | if $h > 0.5 then "Most of the communication, \($h | percent(0)) in the mean, is hidden behind backward."
             elif $h > 0.05 then "Only \($h | percent(0)) of the communication is hidden behind backward; most is waited for."
             else "Next to nothing of the communication is hidden, \($h | percent(0)) in the mean." end end) end;

# Rows of table 3.
def bandwidth_used: 2 * (.workers - 1) / .workers * .gradient_bytes / .communication_s / 1e9;
def bandwidth_rows: [.[] | select(.workers > 1 and .communication_s > 0) | {batch, workers, bytes: .gradient_bytes, comm: .communication_s, bus: bandwidth_used}];

# How far the runs of the table of losses lie from those of table 1, of the result of `scale`.
def losses_text:
  .weak as $weak
  | [.losses[] | . as $l | $weak[] | select(.batch == $l.batch and .workers == $l.workers) | .efficiency - $l.efficiency | fabs] as $off
  | "These runs were timed apart from those of table 1: one worker alone, then all of them without and with exchange."
    + (if ($off | length) > 0 and ($off | max) > 0.1 then " Efficiencies of the two tables differ by up to \($off | max * 100 | fixed(0)) points." else "" end)
    + " The parts that are lost and what is left add up to 100 %."
    + (if any(.losses[]; .contention < 0 or .unevenness < 0 or .communication < 0) then " A negative part is within the spread of these times." else "" end);

# What was published of ResNet-50 on K80s, of the rows of `validate`.
def published_text:
  [.[] | select(.device == "k80" and .framework == "tensorflow-1.1" and .model == "resnet50" and .batch_per_gpu == 64 and .measured > 0)]
  | group_by(.gpus) | map({gpus: .[0].gpus, speed: (map(.measured) | mean)})
  | if length < 2 then "" else "Published for comparison (TensorFlow 1.1, 2017): ResNet-50 on K80s with batch 64 each, weak scaling, runs at \(.[0].speed | fixed(1)) images/s on \(.[0].gpus) and \(.[-1].speed | fixed(0)) on \(.[-1].gpus), \(.[-1].speed / .[0].speed | fixed(2)) times as fast." end;

def largest_batch_text:
  if .batch > 0 then
    "The largest batch whose planned memory stays within \(.limit_bytes | bytes_text) is \(.batch) for one worker: \(.predicted_bytes | bytes_text) planned, \(.measured_bytes | bytes_text) measured\(if .measured_bytes > .limit_bytes then ", which is more than planned and does not fit" else "" end). `--set memory=` changes the limit."
  else "Not even a batch of one stays within \(.limit_bytes | bytes_text)." end;

# GPUs: lines and rows of an epoch, of the predictions by device and batch.
def gpu_lines: map({name: "\(.device), batch \(.batch)", group: .device, origin: "predicted", points: [.result.rows | fitting[] | [.workers, .images_per_s]]}) | map(select(.points | length > 0));
def gpu_epoch_rows(images):
  [.[] | .device as $device | .result.rows | fitting[] | (images / .images_per_s) as $epoch
   | {device: $device, batch: .batch_per_worker, workers, epoch: $epoch, speedup, origin: "predicted"}
     + (if .workers > 1 then {waiting: ($epoch * .exposed_comm_ms / .step_ms), compute: ($epoch * (1 - .exposed_comm_ms / .step_ms))}
          + {bandwidth: .bus_bandwidth_gbps}
        else {compute: $epoch} end)];
# The user's rows: speed-up over the row of one worker with the same batch on each.
def own_epoch_rows(images):
  map(. + {each: (if .batch then .batch / .workers else null end)}) as $all
  | [$all[] | . as $row | ($all | map(select(.device == $row.device and .workers == 1 and .each == $row.each))[0].images_per_s) as $one
     | {device, workers, epoch: (images / .images_per_s), origin: "measured"} + (if .each then {batch: .each} else {} end) + (if $one then {speedup: (.images_per_s / $one)} else {} end)];

# Functions of lab language-model.

# Student's t of 95 % for this many degrees of freedom.
def t_value: {"1": 12.706, "2": 4.303, "3": 3.182, "4": 2.776, "5": 2.571, "6": 2.447, "7": 2.365, "8": 2.306}[tostring] // 1.96;

# y = factor * x^exponent through points [x, y], by least squares of the logarithms, with the interval of the exponent.
def power_fit: map(map(log)) as $p | ($p | length) as $n
  | ($p | map(.[0]) | mean) as $mx | ($p | map(.[1]) | mean) as $my
  | ($p | map((.[0] - $mx) * (.[0] - $mx)) | add) as $spread
  | (($p | map((.[0] - $mx) * (.[1] - $my)) | add) / $spread) as $b
  | ($my - $b * $mx) as $a
  | ($p | map(.[1] - $a - $b * .[0] | . * .) | add) as $rest
  | (if $n > 2 then ($rest / ($n - 2) / $spread | sqrt) * ($n - 2 | t_value) else null end) as $half
  | {exponent: $b, factor: ($a | exp), low: (if $half then $b - $half else null end), high: (if $half then $b + $half else null end)};

# What each size cost and reached, epoch by epoch.
def sizes: .settings as $s | .counted as $counted | [.trained[] | .hidden as $h | .result as $r
  | ($counted | map(select(.hidden == $h))[0].result.totals) as $totals
  | ($r.steps / ($r.epochs | length)) as $steps | (3 * $totals.flops * $steps * $s.batch) as $epoch
  | {hidden: $h, params: $totals.params, steps: $steps, epochs: $r.epochs,
     points: [$r.epochs | to_entries[] | [$epoch * (.key + 1), .value.bits_per_byte]]}];

# The epoch in which a size was best.
def best: .epochs as $e | .points | to_entries | min_by(.value[1]) | {operations: .value[0], bits: .value[1], epoch: $e[.key]};

def size_rows: [sizes[] | best as $b | {hidden, params, operations: $b.operations, bits: $b.bits,
  gap: ($b.epoch | (.test_loss - .train_loss) / (2 | log)), tokens_per_s: ([.epochs[].tokens_per_s] | mean)}];
def size_series: [sizes[] | {name: "\(.hidden) channels", origin: "measured", points}];
def law: [size_rows[] | [.operations, .bits]] | power_fit;

# Whether more operations helped, as far as the interval says.
def law_answer: law as $l | (size_rows | min_by(.bits)) as $best
  | "The best of \(.settings.sizes | length) sizes, \($best.hidden) channels, needs \($best.bits | fixed(3)) bits for a byte of text it has not seen. "
  + "Over the sizes the loss goes as C^\($l.exponent | fixed(3)) (95 % interval \($l.low | fixed(3)) to \($l.high | fixed(3)))"
  + (if $l.high < 0 then ": more operations mean less loss." elif $l.low > 0 then ": larger networks did worse." else ", which does not exclude that size makes no difference." end);

def time_rows: .predicted as $predicted | [sizes[] | .hidden as $h
  | (1000 * ([.epochs[].train_s] | mean) / .steps) as $measured
  | ($predicted | map(select(.hidden == $h))[0].result.rows[0].step_ms) as $told
  | {hidden: $h, measured: $measured, predicted: $told, error: ($told / $measured - 1)}];
def time_answer: time_rows | "The prediction is off by \(map(.error | fabs) | mean | percent(1)) in the mean, and by \(map(.error | fabs) | max | percent(1)) at most: "
  + (if all(.[]; .error < 0) then "every size is slower than predicted." elif all(.[]; .error > 0) then "every size is faster than predicted." else "some sizes are faster and some slower than predicted." end);

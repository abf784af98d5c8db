# Functions of lab optimus-loss.

# A row for each stage of each published curve, with the error of fits to its first parts.
def stage_rows: [.[] | .curve as $curve | .result.stages[]
  | {curve: $curve, rate, model, b0: .inverse_beta[0], b1: .inverse_beta[1], b2: .inverse_beta[2], sse: .inverse_sse,
     p10: .prefixes[0].inverse_mape, p20: .prefixes[1].inverse_mape, p40: .prefixes[2].inverse_mape, p70: .prefixes[3].inverse_mape, best: .prefixes[3].mape}];

# By how much a fit to the first 40 % of a stage is off from the rest, by the rate of the stage.
def prefix_errors:
  [.[].result.stages[] | {rate, off: .prefixes[2].inverse_mape} | select(.off != null)]
  | group_by(-.rate) | map({rate: .[0].rate, low: (map(.off) | min | percent(1)), high: (map(.off) | max | percent(1)), off: (map(.off) | mean)})
  | (map("\(if .low == .high then .low else "\(.low) to \(.high)" end) at a rate of \(.rate)") | listed) as $all
  | "A fit of 1/(b0 k + b1) + b2 to the first 40 % of a stage is off from the rest by \($all)."
    + (if length > 1 then max_by(.off) as $worst | min_by(.off) as $best
       | verdict($worst.off; $best.off; 0.1; " It describes the curves at \($best.rate) best and those at \($worst.rate) worst."; " The rate makes little difference."; "")
       else "" end);

# The lines of a regression, with the offsets of devices in one cell.
def regression_rows: [.regression[] | {quantity, a: .intercept.value, s: .slope.value, error: .slope.standard_error, r: .r_squared,
  devices: ([.offsets | to_entries[] | "\(.key): \(.value.value | fixed(3))"] | join(", "))}];

# Series of a chart: the curves that were predicted, and those that were measured.
def predicted_and_real:
  [(.predicted[] | {name: "\(.device), predicted", origin: "predicted", points: .curve}), (.real[] | {name: "\(.name), measured", origin: "measured", points})];

# Where the curves come from that models are fitted to.
def origin_text:
  if .measured == "none" then
    "ResNets of depth \(.trained) on \(.data), \(.epochs) epochs at a rate of \(.rate), \(.runs | count_of("training")) of each. This machine has one kind of processor, so the trainings of a depth differ by their seed where those of the course differ by the GPU. "
    + "Curves of your own take their place: `--set measured=FILE.csv`, a table with the columns device, depth, epoch and loss."
  else "Curves of \(.measured), one for each device and depth; those of depth \(.depth) are not fitted, but compared with what the others predict." end;
# A coefficient that is 0 in every fit has nothing to regress.
def zero_text: [range(0; 3) as $i | select(all(.[]; .beta[$i] < 1e-4)) | "b\($i)"]
  | if length == 0 then "" else "\(listed) \(if length == 1 then "is" else "are" end) 0 in every fit, so \(if length == 1 then "its row says" else "their rows say" end) nothing: these curves were still falling when they ended." end;
# Fits that are far from their own curve.
def poor_text: length as $all | map(select(.mape > 0.5)) | length
  | if . == 0 then "" else " \(.) of \($all) fits are off by more than half: these curves do not have the form of the model, and nothing follows from their coefficients." end;

# Functions of lab quantization. A spread is {min, max, mean, sigma, beyond_3_sigma, bars: {low, high, counts}} of weights, inputs or outputs of a layer.

# Its counts between least and largest value, and lines at three sigma as high as the highest bar.
def spread_lines:
  . as $s | .bars as $b | (($b.high - $b.low) / ($b.counts | length)) as $w
  | [{name: "counts", origin: "measured", points: [range(0; $b.counts | length) as $k | {low: ($b.low + $k * $w), high: ($b.low + ($k + 1) * $w), y: $b.counts[$k]} | select(.high >= $s.min and .low <= $s.max)]},
     {name: "3 sigma", origin: "plain", points: [-3 * $s.sigma, 3 * $s.sigma | {low: (. - $w / 20), high: (. + $w / 20), y: ($b.counts | max)}]}];
def spread_caption: "from \(.min | fixed(3)) to \(.max | fixed(3)); mean \(.mean | fixed(3)), 3 sigma \(3 * .sigma | fixed(3))";

# How many weights lie beyond three sigma, of layers.
def beyond_text:
  map({name, share: (.weights.beyond_3_sigma | number)}) as $all
  | [$all[] | select(.share > 0) | "\(.share | percent(2)) of the weights of \(.name)"] as $some
  | if ($some | length) == 0 then "No weight lies beyond them." else "Beyond them lie \($some | listed)\(if ($some | length) < ($all | length) then ", and none of the other layers" else "" end)." end;

# What clamping at three sigma does to rounded weights: of the step with the largest weight, and that with three sigma, tested on this many images.
def clamp_text(clamped; tests):
  . as $m
  | "With three sigma in place of the largest weight, steps are finer and what lies beyond is clamped: top-1 with rounded weights is \(clamped.top1 | percent(2)) against \($m.top1 | percent(2)) (\(accuracy_verdict(clamped.top1; $m.top1; tests))), and the signal to noise of the scores is \(clamped.output_sqnr_db | fixed(1)) against \($m.output_sqnr_db | fixed(1)) dB. "
    + ((clamped.output_sqnr_db - $m.output_sqnr_db) | if . > 0.5 then "At 8 bits the finer steps take away more noise than clamping adds." elif . < -0.5 then "At 8 bits clamping adds more noise than the finer steps take away." else "At 8 bits the noise is the same within half a dB." end);

# The scale of biases, and what rounding them too changes, of the result of `quantize`.
def bias_text:
  .test_images as $tests | .layers[0] as $l | ([$l.weights.max, -$l.weights.min] | max / 127) as $s
  | (.steps | map({key: .what, value: .}) | from_entries) as $t | $t["weights and activations"] as $without | $t["weights, activations and biases"] as $with
  | "Biases of \($l.name) have the scale of input times that of weights, \($l.input_scale | fixed(5)) * \($s | fixed(6)) = \($l.input_scale * $s * 1e6 | fixed(2)) millionths, in 32 bits. Rounding them too changes top-1 from \($without.top1 | percent(2)) to \($with.top1 | percent(2)) (\(accuracy_verdict($with.top1; $without.top1; $tests))) and the signal to noise of the scores from \($without.output_sqnr_db | fixed(2)) to \($with.output_sqnr_db | fixed(2)) dB.";

# What rounding costs, part after part, and how few bits do, of the result of `quantize`.
def rounding_answer:
  .test_images as $tests | (.steps | map({key: .what, value: .top1}) | from_entries) as $t
  | def after(what): "\($t[what] | percent(2)) (\(($t[what] - $t["float"]) * 100 | fixed(2)) points, \(accuracy_verdict($t[what]; $t["float"]; $tests)))";
    [.bits[] | select(.activation_bits != 32 and accuracy_verdict(.top1; $t["float"]; $tests) != "worse") | .weight_bits] as $enough
    | "With 8 bits top-1 on \($tests | commas) test images goes from \($t["float"] | percent(2)) to \(after("weights")) when the weights are rounded, \(after("weights and activations")) with the activations too, and \(after("weights, activations and biases")) with the biases."
      + (if ($enough | length) == 0 then " All of the bit widths tried for weights and activations lose more than the standard error." else " \($enough | min) bits for weights and activations are the fewest of those tried that lose nothing beyond the standard error." end);

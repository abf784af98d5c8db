# Functions of lab noisy-labels, over all of its data. Runs are those of `train`.

def top: .result.epochs[-1].top1;
def test_count: if .settings.tests > 0 then .settings.tests else 10000 end;
def way_name: {sqrt: "square root"}[.] // .;

def noise_answer:
  .settings as $s | test_count as $tests
  | (.noisy | map({share, top: top}) | sort_by(.share)) as $n | (.transferred | map({share, top: top}) | sort_by(.share)) as $t | (.alone[0] | top) as $alone
  | "With \($n[0].share | percent(0)) wrong labels the network gets \($n[0].top | with_accuracy_error($tests)) of the clean test images right, with \($n[-1].share | percent(0)) it gets \($n[-1].top | with_accuracy_error($tests)). Fine-tuned on \($s.clean) clean images the network of \($t[-1].share | percent(0)) wrong labels has \($t[-1].top | percent(1)) (before: \($n[-1].top | percent(1))); these images alone give \($alone | percent(1)). "
    + (accuracy_verdict($t[-1].top; $alone; $tests)
       | if . == "better" then "So even labels of which \($t[-1].share | percent(0)) are wrong are worth \(($t[-1].top - $alone) * 100 | fixed(2)) points as pretraining."
         elif . == "worse" then "So labels as noisy as that do harm as pretraining here."
         else "So labels as noisy as that make no difference beyond the standard error as pretraining here." end);

# Whether the best way of sampling is better than the natural one.
def resampled(best; natural; tests): accuracy_verdict(best.top; natural; tests)
  | if . == "better" then "\(best.way | way_name) sampling is better than natural sampling" else "resampling makes no difference beyond the standard error" end;

# Of each exponent: what resampling does before and after fine-tuning on clean images.
def tail_answer:
  test_count as $tests | .tail_transferred as $after
  | [.tail | group_by(.exponent)[] | .[0].exponent as $e | (map({way, top: top})) as $before | ($after | map(select(.exponent == $e) | {way, top: top})) as $clean
     | ($before | map(select(.way == "natural"))[0].top) as $natural | ($before | max_by(.top)) as $best | ($clean | map(select(.way == "natural"))[0].top) as $natural_then | ($clean | max_by(.top)) as $best_then
     | "Exponent \($e), pretrained: \($before | map("\(.way | way_name) \(.top | percent(1))") | join(", ")): \(resampled($best; $natural; $tests)). Then clean: \($clean | map("\(.way | way_name) \(.top | percent(1))") | join(", ")): \(resampled($best_then; $natural_then; $tests))."] | join(" ");

def tail_bars:
  [["pretrained", .tail], ["then clean", .tail_transferred]] | map(.[0] as $when | .[1] | group_by(.exponent)[] | {name: "exponent \(.[0].exponent), \($when)", origin: "measured", points: [.[] | [(.way | way_name), 100 * top]]});

# Functions of lab transfer-learning. Runs are those of `transfer`: {mode, rate, best_top1, last_top1, epoch_s, epochs}.

def set_name: if startswith("synthetic:") then "synthetic data" else . end;
def learns: {finetune: "all layers", features: "the new last layer", "partial:1": "the last two layers"}[.] // .;
def class_counts: .samples as $all | [.classes[] | . + {share: (.samples / $all)}];
def set_answer(tests):
  (.classes | map(.samples)) as $counts
  | "The target set (\(.source | split(", ")[0])) has \(.samples | commas) training images in \(.classes | length) classes, \(if ($counts | min) == ($counts | max) then "\($counts[0] | commas) of each" else "\($counts | min | commas) to \($counts | max | commas) of a class" end), and \(tests | commas) test images. "
    + "Images have \(.channels | count_of("channel")) and \(if .height[0] == .height[1] and .width[0] == .width[1] then "\(.height[0])x\(.width[0]) pixels" else "\(.height[0]) to \(.height[1]) x \(.width[0]) to \(.width[1]) pixels" end).";

# Runs that are no worse than the best one, by the standard error of that many test images.
def no_worse(tests): max_by(.best_top1) as $best | map(select(accuracy_verdict($best.best_top1; .best_top1; tests) != "better"));
def best_rates(tests):
  . as $runs | max_by(.best_top1) as $best | no_worse(tests) as $ties
  | "Best top-1 by rate: \(map("\(.best_top1 | percent(2)) at \(.rate)") | join(", ")). "
    + (if ($ties | length) == 1 then "The best rate is \($best.rate)." else "Rates \($ties | map(.rate | tostring) | listed) are a tie: they differ by less than two standard errors of \(tests | commas) test images." end);

def accuracy_lines: map({name: "\(.mode | learns), rate \(.rate)", origin: "measured", points: [.epochs[] | [.epoch, 100 * .top1]]});
def fastest(mode): map(select(.mode == mode).epoch_s) | min;

def winner_answer:
  .tests[0].result.samples as $tests | [.all[0].result.runs[], .head[0].result.runs[]] | no_worse($tests) as $ties | max_by(.best_top1) as $best
  | if ($ties | length) == 1 then "The winner is training \($best.mode | learns) at rate \($best.rate): \($best.best_top1 | with_accuracy_error($tests))."
    else "There is no single winner: \($ties | map("\(.mode | learns) at rate \(.rate) (\(.best_top1 | percent(2)))") | listed) are a tie by the standard error of \($tests | commas) test images." end;

# How near the target is to the source, as measured: what freezing costs, and what starting from the source brings over starting at random.
def distance_answer:
  .tests[0].result.samples as $tests | .seen[0].result.samples as $pictures
  | ([.all[0].result.runs[] | select(.mode == "finetune").best_top1] | max) as $all | ([.head[0].result.runs[].best_top1] | max) as $head
  | ([.scratch[].result.epochs[].top1 | numbers] | max) as $none
  | accuracy_verdict($all; $head; $tests) as $freezing | accuracy_verdict($all; $none; $tests) as $start
  | "How near the target is to the source can be measured. With all layers learning \($all | percent(2)) is reached, with frozen features \($head | percent(2)): "
    + (if $freezing == "better" then "the features of the source are not what the target needs, and changing them pays. " elif $freezing == "worse" then "with \($pictures | commas) images changing all layers does harm; the features of the source are better than what can be learned of so few. " else "the features of the source are enough, so the target is near. " end)
    + "The same network from random weights reaches \($none | percent(2)): "
    + (if $start == "better" then "starting from the source brings \(($all - $none) * 100 | fixed(2)) points." elif $start == "worse" then "starting from the source is worse than from nothing here." else "starting from the source makes no difference beyond the standard error, so these \($pictures | commas) images say enough by themselves." end);

def epoch_answer(heads):
  fastest("finetune") as $all | (heads | fastest("features")) as $head
  | "At best an epoch takes \($all | seconds_text) when all layers learn and \($head | seconds_text) when the last one alone does"
    + verdict($all; $head; 0.1; ", \($all / $head | if . < 100 then fixed(1) else (round | commas) end) times as fast. The features are computed once before that, in \(heads | map(.epoch_s) | max | seconds_text) at most."; ", about the same."; ", which is slower here.");

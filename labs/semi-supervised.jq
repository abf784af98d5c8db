# Functions of lab semi-supervised, over the result of `distill`: {labeled, supervised, teacher, best, cells: [{k, p, top1, right}]}.

# How accuracy follows K, of the cells of one P.
def along_k(tests):
  sort_by(.k) as $along | ($along | max_by(.top1)) as $best | ($along | map(.top1) | index(max)) as $peak
  | if ($along | length) < 3 then ""
    else accuracy_verdict($best.top1; $along[0].top1; tests) as $low | accuracy_verdict($best.top1; $along[-1].top1; tests) as $high
      | (if $low != "better" and $high != "better" then "Along K accuracy does not change by more than the standard error"
         elif $low == "better" and $high == "better" then "Accuracy rises with K up to \($best.k) and falls again"
         elif $low == "better" then "Accuracy rises with K" + (if $best.k == $along[-1].k then "" else "; from \($best.k) on no difference counts" end)
         else "Accuracy falls with K" + (if $best.k == $along[0].k then "" else "; up to \($best.k) no difference counts" end) end)
        + ": K = \($along[0].k) takes \($along[0].right | percent(0)) right labels, K = \($along[-1].k) takes \($along[-1].right | percent(0))." end;

# From which K on the whole pool is chosen, so that a larger one changes nothing but how often.
def pool_text: .unlabeled as $all | [.cells[] | select($all != null and .pictures >= $all).k] | if length == 0 then "" else " From K = \(min) on all \($all | commas) images without labels are used." end;

def chosen_caption: .best as $b | "Rows, from above: " + ([.cells[] | select(.k == $b.k and .p == $b.p)][0].shown // [] | in_order(.class) | map(.[0].class) | if length == 0 then "the classes" else join(", ") end) + ". The images with the highest scores come first.";

# Who teaches whom, by their sizes: results of `analyze` of both.
def size_text(settings):
  (map(.result.totals.params)) as $n
  | if settings.teacher == settings.student then "both are \(settings.student), which the paper finds to help as well (self-training); `--set teacher=` takes another."
    else "\(settings.teacher) (\($n[0] | commas) parameters) teaches \(settings.student) (\($n[1] | commas))\(if $n[0] > $n[1] then ": the teacher is the larger one, as in the paper" else ": the teacher is not the larger one, unlike in the paper" end)." end;

def semi_answer(settings):
  (if settings.tests > 0 then settings.tests else 10000 end) as $tests | . as $r
  | "\(.labeled) labeled images alone give the student \(.supervised.top1 | with_accuracy_error($tests)), the teacher \(.teacher.top1 | with_accuracy_error($tests)). With K = \(.best.k) and P = \(.best.p), the best of \(.cells | length) choices by the same test images, the student gets \(.best.top1 | percent(2)): "
    + (accuracy_verdict(.best.top1; .supervised.top1; $tests)
       | if . == "better" then "the unlabeled images are worth \(($r.best.top1 - $r.supervised.top1) * 100 | fixed(2)) points, a little less for having been chosen. " elif . == "worse" then "the unlabeled images do harm here. " else "the unlabeled images make no difference beyond the standard error here. " end)
    + (.cells | map(select(.p == $r.best.p)) | along_k($tests)) + pool_text;

# Functions of lab detection. Results are those of `evaluate` with boxes: {map, classes: [{name, ap, truths, …}], unknown_classes}.

def known_aps: [.classes[] | select(.ap != null).ap];
def sum_of_aps: known_aps | map(fixed(3)) | join(" + ");
def ap_text: if . == null then "n/a" else fixed(3) end;
def class_rows: [.classes[] | {name, ap, every: .ap_every_point, coco: .ap_coco, truths, found: .true_positives, wrong: .false_positives}];

def tested_answer(settings):
  "The mean average precision on held-out images is \(.map | fixed(3)) (11 points, overlap 0.5), "
    + (if settings.weights == "none" then "after \(settings.epochs | count_of("epoch")) of training here. " else "with the weights of \(settings.weights). " end)
    + "By class: \([.classes[] | "\(.name) \(.ap | ap_text)"] | join(", "))."
    + (if (known_aps | max) > 0.1 then "" else " No class reaches 0.1: this network has only begun to learn, and nothing else follows from it." end);

def priors_text: if length > 0 then .[0].result | "SSD's priors overlap \(.ssd.recall | percent(1)) of the objects by half or more, priors fitted to them \(.fitted.recall | percent(1))." else "" end;

# Each related class before and after.
def before_and_after:
  .before[0].result as $before | [.after[0].result.classes[] | .name as $name
    | {name, after: .ap, truths, before: ($before.classes | map(select(.name == $name))[0].ap), known: (if $before.unknown_classes | index($name) then "no" else "yes" end)}];

def tuning_answer:
  .before[0].result as $b | .after[0].result as $a | ($b.unknown_classes // []) as $unknown
  | (.frozen[0].result.epochs[-1].map | number) as $frozen
  | "Before fine-tuning the mean average precision on the related classes is \($b.map | fixed(3))"
    + (if ($unknown | length) > 0 then ": the detector does not know \($unknown | listed), so all their objects count as missed" else "" end)
    + ". After \(.settings.tuning | count_of("epoch")) it is \($a.map | fixed(3)) (\([$a.classes[] | "\(.name) \(.ap | ap_text)"] | join(", "))), and \($frozen | fixed(3)) if the trunk is frozen."
    + (if $b.classes_matched == "by number" then " The names of the detector's classes are not known (`--set labels=`), so the figure from before compares class numbers and means little." else "" end);

def tuning_lines: [["everything learns", .tuned], ["the trunk is frozen", .frozen]] | map({name: .[0], origin: "measured", points: [.[1][0].result.epochs[] | [.epoch, .map]]});

def checked_answer:
  if .ok | not then "The check of the file found \(.findings | length | count_of("fault"))."
  else "\(if .onnx_checker_asked then "The checker of the ONNX library and our own" else "Our own checker" end) accept\(if .onnx_checker_asked then "" else "s" end) the file: IR version \(.ir_version), opset \(.opset), \(.nodes) nodes, \(.initializers) initializers." end;

# 3.2e-06 -> "1e-5": the power of ten that holds it.
def power_above: if . <= 0 then "0" else "1e\(log10 | ceil)" end;

def agreement_answer:
  (.outputs | map(.largest | number) | max) as $largest
  | "Compared with \({reference: "plain loops (reference)", onnxruntime: "ONNX Runtime"}[.source] // .source), outputs differ by \($largest | three_small) at most: they agree within \($largest | power_above)"
    + (if $largest <= 1e-5 then ", so also within the 1e-5 that is usually asked for." else ", but not within 1e-5." end);

# The best ten of each picture, the best first.
def best_of_pictures: group_by(.picture) | map(sort_by(-.score) | .[:10]) | add // [];
def found_rows: best_of_pictures | map({picture: (.picture | split("/")[-1]), "label": .label, score, left: .box[0], top: .box[1], right: .box[2], bottom: .box[3]});

def found_answer(threshold):
  . as $r | "In \(.pictures | length | count_of("held-out image")), one of each class, the exported file finds \(.detections | length | count_of("object")) with a score of \(threshold) or more: "
    + ([$r.pictures[] | . as $p | "\(split("/")[-1]): " + ([$r.detections[] | select(.picture == $p)] | sort_by(-.score) | length as $all
         | if $all == 0 then "nothing" else (.[:3] | map("\(.label) \(.score | fixed(3))") | join(", ")) + (if $all > 3 then " and \($all - 3) more" else "" end) end)] | join("; ")) + ".";

# Functions of lab time-to-accuracy. Results are those of `tta`, runs those of `train` with what `report` says of them.

def interval_text(low; high): if high == null then "from \(low | percent(1)), with no upper end" else "\(low | percent(1)) to \(high | percent(0))" end;

def variation_answer(settings):
  "\(.reached) of \(.runs | length) runs reach \(settings.target | percent(0))\(if .reached == 0 then "" else ", after \(.mean_s | seconds_text) and \(.mean_epochs | fixed(1)) epochs on average" end). "
    + (if .cv == null then "Too few for a variation." else "The coefficient of variation of the time is \(.cv | percent(1)) (95 % interval \(interval_text(.cv_low; .cv_high))), of the epochs \(.epochs_cv | percent(1))." end)
    + (if .censored > 0 and .reached > 0 then " \(.censored) never reached it: mean and variation leave those out and are too small." else "" end);

def machine_row: {runs: (.runs | length), reached, mean: .mean_s, cv, low: .cv_low, high: .cv_high, epochs_cv, origin: "measured"};
def machine_rows(own): [own | {machine: "this machine"} + machine_row] + map({machine: .file} + (.result.imported[0] | machine_row));

# Of two machines or more: whether their variations can be told apart.
def imported_answer:
  map(.file as $file | .result.imported[0] | {file: $file, cv, low: .cv_low, high: .cv_high}) | map(select(.cv != null))
  | if length == 0 then "None of the logs has two runs that reach the target."
    else "By machine: \(map("\(.file) \(.cv | percent(1)) (\(interval_text(.low; .high)))") | listed)."
      + (if length < 2 then "" elif (map(.low) | max) > (map(.high // 10) | min) then " Their intervals do not overlap: the machines vary differently." else " The intervals overlap, so this says nothing of a difference between the machines." end) end;

# Beside the published figure, which the user brings; it is inside of the interval or not.
def paper_text(paper):
  if paper <= 0 then "Coleman et al. give theirs in table 3(a): `--set paper_cv=` takes the figure of ResNet-50 on 1xTPU and compares (it is not kept here, since it could not be checked against the paper)."
  elif .cv == null then "Coleman et al., table 3(a), ResNet-50 on 1xTPU: \(paper | percent(1)) (as given in the settings)."
  else "Coleman et al., table 3(a), ResNet-50 on 1xTPU: \(paper | percent(1)) (as given in the settings), which is "
    + (if paper < .cv_low then "below" elif .cv_high != null and paper > .cv_high then "above" else "inside of" end) + " the 95 % interval of the runs here, \(interval_text(.cv_low; .cv_high))." end;

def generalization_answer:
  if .generalization == null then "No images from elsewhere were given: `--set pictures=DIR` takes a folder with a folder of images for each class, and says what each network makes of them."
  else .generalization as $g | "The \($g.top1 | length) networks get \($g.mean | percent(1)) of \($g.pictures | length) images from elsewhere right on average\(if $g.std == null then "" else ", with a standard deviation of \($g.std * 100 | fixed(1)) points" end)." end;
def network_rows: .generalization as $g | [.runs, $g.top1] | transpose | map({network: .[0].name, top1: .[1], test: .[0].best_top1});

def busy_answer:
  if . == null then "The run ended before a sample was taken; `--set watched=` makes it longer."
  else "Over \(.samples) s this run keeps \(.process | percent(0)) of the processors busy on average, all programs together \(.machine | percent(0)), and \(.memory | percent(0)) of the memory is taken"
    + (if .gpu then "; the GPU computes \(.gpu | percent(0)) of the time\(if .gpu_memory then ", with \(.gpu_memory | percent(0)) of its memory" else "" end)" else "" end)
    + (if ((.machine // 0) - (.process // 0)) > 0.15 then ". Other programs kept \((.machine - .process) | percent(0)) of the processors busy, so this says little of what limits the run."
       else ". That is \(if .process >= 0.9 then "close to" else "not close to" end) 100 %: limited by \(.limit)." end) end;
def busy_lines: [["process", "processors, this run"], ["machine", "processors, all programs"], ["memory", "memory"], ["gpu", "GPU"], ["gpu_memory", "memory of the GPU"]] as $kinds | .series as $s
  | [$kinds[] | . as [$key, $name] | {name: $name, origin: "measured", points: [$s[] | select(.[$key] != null) | [.at_s, 100 * .[$key]]]} | select(.points | length > 0)];

def tried_rows(busy):
  [., busy] | transpose | map(.[1].result.utilization[0] as $u | {what: .[0].what, speed: (.[0].result.epochs | map(.images_per_s) | max), process: $u.process, machine: $u.machine, wait: $u.waiting, limit: $u.limit});
def tried_answer:
  .[0] as $first | max_by(.speed) as $best | (map((.machine // 0) - (.process // 0)) | max) as $others
  | (if $best.speed <= $first.speed then "Fastest: as in the runs above, \($first.speed | fixed(0)) images/s. " else "Fastest: \($best.what), \($best.speed | fixed(0)) images/s compared with \($first.speed | fixed(0)) with the settings of the runs above. " end)
    + (if $others > 0.15 then "But other programs kept up to \($others | percent(0)) of the processors busy meanwhile, so this says little."
       elif $best.speed < $first.speed * 1.05 then "None of the settings gains more than 5 %." else "" end);

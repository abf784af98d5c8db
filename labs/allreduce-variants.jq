# Functions of lab allreduce-variants.

# What one run can tell: with one worker nothing is summed, so the runs of all algorithms should be alike.
def one_worker_note:
  [.[] | select(.n == 1) | .result.epochs | map(.images_per_s) | max]
  | if length > 1 then
      "Each figure is one short run. With one worker nothing is summed, yet its runs differ by a factor of \((max / min) | fixed(2)): smaller differences say nothing of the algorithms."
    else "Each figure is one short run." end;

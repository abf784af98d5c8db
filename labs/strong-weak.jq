# Functions of lab strong-weak. Rows are those of `trainyard predict`.

# The user's rows with time and cost of the training, at the price of the predictions.
def own_rows: (.predicted | trained_pictures) as $pictures | (.predicted | hourly) as $hourly | .inputs.measured // [] | with_time($pictures; $hourly);
# What tf.distribute calls an algorithm.
def framework_name: {ring: "NcclAllReduce (a ring)", hierarchical: "HierarchicalCopyAllReduce", "reduce-broadcast": "ReductionToOneDevice", auto: "-"}[.];
def algorithm_rows: [.[] | .algorithm as $a | .result.rows[] | {algorithm: $a, framework: ($a | framework_name), workers, images_per_s, comm_ms}] | sort_by(.workers);
def throughput_lines: map({name: .algorithm, origin: "predicted", points: [.result.rows | fitting[] | select(.images_per_s != null) | [.workers, .images_per_s]]});
# Predicted lines of both kinds of scaling, and the user's.
def scaling_lines(y; own): [.predicted[] | {name: .scaling, origin: "predicted", points: [.result.rows | fitting[] | [.workers, y]]}] + (own_rows | own_lines("own"; .workers; own));

# TensorFlow's collectives between machines: {collective, result} of predictions that differ in the software that moves the bytes. Rows of the most learners.
def link_share: [.notes[] | capture("hosts over (?<link>[^()]+) \\((?<share>[0-9]+ %)")?] | if length == 0 then "" else "\(.[0].share) of \(.[0].link)" end;
def collective_rows:
  map((.result | link_share) as $share | {collective, stack: .result.stack, share: $share} + (.result.rows | max_by(.workers) | {workers, images_per_s, comm_ms, step_ms}))
  | . + [max_by(.images_per_s) | .collective = "AUTO, if it takes the faster"];
def collective_answer:
  (map(select(.collective == "NCCL"))[0]) as $nccl | (map(select(.collective == "RING"))[0]) as $ring
  | if $nccl == null or $ring == null then ""
    else "On \($nccl.workers) learners an all-reduce takes \($nccl.comm_ms | fixed(0)) ms with NCCL, which got \($nccl.share) where it was measured, and \($ring.comm_ms | fixed(0)) ms with RING, which goes through gRPC and got \($ring.share): \($nccl.images_per_s | fixed(0)) and \($ring.images_per_s | fixed(0)) images/s. "
      + "AUTO leaves the choice to TensorFlow: it can be as fast as \(if $nccl.images_per_s >= $ring.images_per_s then "NCCL" else "RING" end), and not faster." end;

# Functions of lab strong-weak. Rows are those of `trainyard predict`.

# The user's rows with time and cost of the training, at the price of the predictions.
def own_rows: (.predicted | trained_pictures) as $pictures | (.predicted | hourly) as $hourly | .inputs.measured // [] | with_time($pictures; $hourly);
# What tf.distribute calls an algorithm.
def framework_name: {ring: "NCCL or RING", hierarchical: "HierarchicalCopyAllReduce", "reduce-broadcast": "ReductionToOneDevice", auto: "AUTO"}[.];
def algorithm_rows: [.[] | .algorithm as $a | .result.rows[] | {algorithm: $a, framework: ($a | framework_name), workers, images_per_s, comm_ms}] | sort_by(.workers);
def throughput_lines: map({name: .algorithm, origin: "predicted", points: [.result.rows | fitting[] | select(.images_per_s != null) | [.workers, .images_per_s]]});
# Predicted lines of both kinds of scaling, and the user's.
def scaling_lines(y; own): [.predicted[] | {name: .scaling, origin: "predicted", points: [.result.rows | fitting[] | [.workers, y]]}] + (own_rows | own_lines("own"; .workers; own));

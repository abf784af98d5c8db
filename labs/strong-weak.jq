# Functions of lab strong-weak. Rows are those of `trainyard predict`.

# Dollars of a device and hour that the predictions were priced with.
def hourly: [.[].result.rows[] | select(.cost_usd > 0 and .train_s > 0) | .cost_usd / .workers / (.train_s / 3600)] | if length == 0 then 0 else mean end;

# What tf.distribute calls an algorithm.
def framework_name: {ring: "NCCL or RING", hierarchical: "HierarchicalCopyAllReduce", "reduce-broadcast": "ReductionToOneDevice", auto: "AUTO"}[.];
def algorithm_rows: [.[] | .algorithm as $a | .result.rows[] | {algorithm: $a, framework: ($a | framework_name), workers, images_per_s, comm_ms}] | sort_by(.workers);
def throughput_lines: map({name: .algorithm, origin: "predicted", points: [.result.rows | fitting[] | select(.images_per_s != null) | [.workers, .images_per_s]]});

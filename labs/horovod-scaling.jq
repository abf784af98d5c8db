# Functions of labs/horovod-scaling.yaml; cases in tests/program/lab/functions/horovod-scaling.yaml.

# Predicted images/s of each device against workers, and beside it what the fewest workers that fit would give times the number of workers.
def throughput_and_ideal:
  map(.device as $device | (.result.rows | fitting) as $rows | select($rows | length > 0)
      | {name: $device, group: $device, origin: "predicted", points: [$rows[] | [.workers, .images_per_s]]},
        {name: "\($device), ideal", group: $device, origin: "ideal", points: [$rows[] | [.workers, .workers * $rows[0].images_per_s / $rows[0].workers]]});

# The user's rows with the time of the training.
def own_rows: (.predicted | trained_pictures) as $pictures | .inputs.measured // [] | with_time($pictures; 0);
# Hours of the training against workers.
def time_lines: [.predicted[] | {name: .device, origin: "predicted", points: [.result.rows | fitting[] | [.workers, .train_s / 3600]]}] + (own_rows | own_lines("own"; .workers; .seconds / 3600));

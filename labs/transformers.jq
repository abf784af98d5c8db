# Functions of lab transformers.

# Numbers of devices that fit, of each network, fewest first, with the speed per device against the fewest.
def sizes: [.sized[] | .model as $model | .result as $r | ($r.fleets | sort_by(.workers)) as $fleets | select($fleets | length > 0)
  | ($fleets[0] | .tokens_per_s / .workers) as $each
  | {model: $model, low: $r.speed_low, high: $r.speed_high,
     rows: [$fleets[] | . + {model: $model, efficiency: (.tokens_per_s / .workers / $each), mfu: (.mfu_percent / 100)}]}];
def size_rows: [sizes[].rows[]];
def unfit_rows: [.sized[] | .model as $model | .result.unfit[] | . + {model: $model} | .reason |= (split(". Take")[0])];

def speed_series: [sizes[] | .low as $low | .high as $high | .rows[0] as $first
  | {name: .model, origin: "predicted", group: .model, points: [.rows[] | [.workers, .tokens_per_s, .tokens_per_s * $low, .tokens_per_s * $high]]},
    {name: "\(.model), ideal", origin: "ideal", points: [.rows[] | [.workers, $first.tokens_per_s / $first.workers * .workers]]}];

def sizes_answer: . as $all | sizes | map(.rows[0] as $first | .rows[-1] as $last
  | "\(.model) needs \($first.workers | count_of($all.settings.device)) or more"
    + (if $last.workers > $first.workers then
        ": from \($first.workers | commas) to \($last.workers | commas) it trains \($last.tokens_per_s / $first.tokens_per_s | fixed(1)) times as fast (\($last.efficiency | percent(0)) of ideal), in the end bound by \($last.bound_by)."
      else "." end)) | join(" ");

# Parts of a step that are shown together.
def part_groups: [
  {name: "matrix products", keys: ["matrix_products_s", "head_and_loss_s"]}, {name: "attention", keys: ["attention_s"]},
  {name: "memory and launches", keys: ["memory_bandwidth_s", "launches_s"]},
  {name: "exchanges", keys: ["tensor_exchange_s", "context_exchange_s", "expert_exchange_s", "pipeline_exchange_s", "data_exchange_s"]},
  {name: "pipeline bubble", keys: ["pipeline_bubble_s"]}, {name: "rest", keys: ["optimizer_s", "offloading_s", "fixed_cost_s"]}];
def share_of(keys): . as $row | [keys[] | $row[.] | number] | add / ($row.step_s | number);
def share_series: size_rows as $rows | [part_groups[] | .keys as $keys
  | {name, origin: "predicted", points: [$rows[] | ["\(.model), \(.workers)", 100 * share_of($keys)]]}];
def largest_loss: . as $row | [part_groups[] | select(.name != "matrix products") | .keys as $keys | {name, share: ($row | share_of($keys))}] | max_by(.share);
def share_answer: sizes | map((.rows[0] | share_of(part_groups[0].keys)) as $few | .rows[-1] as $last
  | "In \(.model) matrix products take \($few | percent(0)) of a step on the fewest devices and \($last | share_of(part_groups[0].keys) | percent(0)) on \($last.workers | commas); after them most of the time there goes to \($last | largest_loss | "\(.name) (\(.share | percent(0)))").") | join(" ");

# What is not 1 of a mapping.
def mapping_words: . as $m | ["tensor", "pipeline", "interleave", "context", "expert"] | map(select($m[.] != null and $m[.] > 1) | "\(.) \($m[.])")
  + ["data \($m.data | number)", "ZeRO \($m.zero | number)", "micro batch \($m.micro_batch | number)"]
  + (if $m.recompute == "none" then [] else ["recompute \($m.recompute)"] end) | join(", ");
def mapping_rows: [.planned[] | .model as $model | .result.plans[] | . + {model: $model}];
def mapping_answer: . as $all | [.planned[] | select(.result.plans | length > 1) | .result.plans[0] as $best | .result.plans[1] as $next
  | "The fastest of \(.result.tried | commas) mappings of \(.model) on \($all.settings.chosen | commas) \($all.settings.device) (\(.result.fitting | commas) fit) is \($best | mapping_words), bound by \($best.bound_by). "
    + "The second (\($next | mapping_words)) takes \($next.step_s / $best.step_s - 1 | percent(1)) longer."] | join(" ");

def cost_answer: . as $all | [.sized[] | .model as $model | .result as $r | select(any($r.fleets[]; .usd != null))
  | ($r.fleets | map(select(.usd != null)) | min_by(.usd)) as $cheap | ($r.fleets | map(select(.good and .usd != null)) | if length == 0 then null else min_by(.usd) end) as $timely
  | "\($all.settings.tokens | si) tokens of \($model) cost least on \($cheap.workers | count_of($all.settings.device)): $\($cheap.usd | round | commas) in \($cheap.hours | fixed(0)) hours. "
    + (if $timely == null then "No number up to \($all.settings.most | commas) is done within \($all.settings.deadline) hours."
       else "Within \($all.settings.deadline) hours the cheapest are \($timely.workers | commas), for $\($timely.usd | round | commas)." end)]
  | if length == 0 then "No price of \($all.settings.device) is known." else join(" ") end;

# Rows of the networks of the settings that were published, with the error of the prediction.
def published_rows: .settings.models as $models | [.published[0].result.rows[] | select(.model as $m | $models | index($m)) | select(.published_s != null)
  | . + {error: ((.predicted_s | number) / .published_s - 1)}]
  | sort_by([.model, .device, .devices]);
def published_answer: published_rows | if length == 0 then "No training of these networks was published."
  else "Over \(length | count_of("published row")) of these networks the mean error is \(map(.error | fabs) | mean | percent(1)); \(map(select(.inside)) | length) lie within the 80 % interval. The factors were fitted to these rows among others, so this is no test: docs/predict-transformers.md has the errors of rows that were left out." end;
def published_series: published_rows as $rows | if ($rows | length) == 0 then [] else
  [$rows | group_by(.model)[] | {name: .[0].model, points: [.[] | {x: .published_s, y: .predicted_s, label: "\(.devices) \(.device)"}]}]
  + [{name: "exact", origin: "ideal", points: ($rows | map(.published_s) | [min, max] | map({x: ., y: .}))}] end;

# Functions for the queries of labs, beside jq's own.

# A sentence about a number that is not there is left out of the report (src/program/lab/answers.h).
def number: if type == "number" then . else error("a value is missing (null)") end;

# Numbers are written as the program writes them (src/base/text.cpp); tests/program/lab/prelude_test.cpp holds both against each other.

# 3.14159 | fixed(2) -> "3.14"; the nearest, and of two as near the even one; a zero has no minus sign
def fixed(digits):
  number as $x
  | $x
  | (if digits == 0 then 1 else pow(10; digits) end) as $unit
  | fabs as $size
  | ($size * $unit) as $product
  # What the product lost to rounding: without it, a half may be one that only looks so.
  | fma($size; $unit; -$product) as $lost
  | ($product | floor) as $below
  | ($product - $below) as $part
  | (if $part > 0.5 or ($part == 0.5 and ($lost > 0 or ($lost == 0 and $below % 2 == 1))) then $below + 1 else $below end) as $n
  | (($n / $unit) | floor) as $whole
  | (if $x < 0 and $n > 0 then "-" else "" end) + ($whole | tostring)
    + (if digits == 0 then "" else
        (($n - $whole * $unit) | tostring) as $rest
        | "." + (("0" * (digits - ($rest | length))) // "") + $rest
      end);

# A term of a sum: -13 | in_sum(1) -> "(-13.0)"
def in_sum(digits): fixed(digits) | if startswith("-") then "(\(.))" else . end;

# 0.993 | percent(1) -> "99.3 %"
def percent(digits): (number * 100 | fixed(digits)) + " %";
# [0.16, 0.53] | percent_span(0) -> "16 % to 53 %", or one figure where both look the same
def percent_span(digits): (min | percent(digits)) as $low | (max | percent(digits)) as $high | if $low == $high then $low else "\($low) to \($high)" end;

# 1234567 -> "1,234,567"
def commas:
  (if . < 0 then "-" else "" end)
  + (fabs | tostring | explode | reverse
     | [range(0; length) as $i | (if $i > 0 and $i % 3 == 0 then 44 else empty end), .[$i]]
     | reverse | implode);

# Three significant digits without an exponent: 1.23, 12.3, 123.
def three_digits: if fabs >= 99.95 then fixed(0) elif fabs >= 9.995 then fixed(1) else fixed(2) end;

# In the first of the units in which it has at most three digits before the point; whole numbers of the smallest as they are.
def scaled(base; units; gap):
  {value: number, unit: 0}
  | until(.unit + 1 == (units | length) or (.value | fabs) < base * 0.9995; {value: (.value / base), unit: (.unit + 1)})
  | (.unit == 0 and .value == (.value | floor)) as $plain
  | (.value | if $plain then fixed(0) else three_digits end) + gap + units[.unit];

# 25557032 -> "25.6M"
def si: scaled(1000; ["", "K", "M", "G", "T", "P"]; "");

# 67108864 -> "64.0 MiB"
def bytes_text: scaled(1024; ["B", "KiB", "MiB", "GiB", "TiB"]; " ");

# 0.0123 -> "12.3 ms"
def seconds_text:
  number
  | if . < 1e-3 then (. * 1e6 | three_digits) + " us"
  elif . < 1 then (. * 1e3 | three_digits) + " ms"
  elif . < 120 then three_digits + " s"
  else
    round as $whole
    | if $whole < 7200 then "\($whole / 60 | floor) min \($whole % 60) s"
      else "\($whole / 3600 | floor) h \($whole % 3600 / 60 | floor) min" end
  end;

def mean: if length == 0 then null else add / length end;
def ratio(a; b): if (b | type) == "number" and b != 0 then a / b else null end;
# The mean of |predicted / measured - 1| over pairs [predicted, measured].
def mean_error: map((.[0] / .[1] - 1) | fabs) | mean;
# Names of a list as people write it: "a, b and c".
def listed: if length < 2 then join("") else (.[:-1] | join(", ")) + " and " + .[-1] end;

# Groups like group_by, in the order in which keys first come.
def in_order(key): . as $all | reduce map(key)[] as $k ([]; if index([$k]) then . else . + [$k] end) | map(. as $k | [$all[] | select(key == $k)]);
# Points of runs that differ in their seed, each giving [x, y]: [x, mean, lowest, highest] by x.
def seed_band(points): [.[] | points | select(.[1] != null)] | group_by(.[0]) | map([.[0][0], (map(.[1]) | mean), (map(.[1]) | min), (map(.[1]) | max)]);

# How sure a number is. Of values that were measured several times (seeds): the standard error of their mean; one value has none.
def variance: if length < 2 then null else mean as $m | (map((. - $m) * (. - $m)) | add) / (length - 1) end;
def standard_error: if length < 2 then null else variance / length | sqrt end;
# [1, 2, 3] | mean_and_error(1) -> "2.0 ± 0.6"
def mean_and_error(digits): "\(mean | fixed(digits)) ± \(standard_error | fixed(digits))";
# Of a share of `tests` images (an accuracy): what another test set of this size would change.
def accuracy_error(tests): number as $p | (tests | number) as $n | ([$p * (1 - $p), 0] | max) / $n | sqrt;
# 1 if a is larger than b by more than two standard errors of their difference, -1 if smaller, else 0: then there is no difference that counts.
def compare_within(a; error_of_a; b; error_of_b):
  (a | number) as $a | (b | number) as $b | (error_of_a | number) as $ea | (error_of_b | number) as $eb
  | (2 * (($ea * $ea + $eb * $eb) | sqrt)) as $spread
  | if $a > $b + $spread then 1 elif $a < $b - $spread then -1 else 0 end;
def better_or_worse: if . > 0 then "better" elif . < 0 then "worse" else "no difference beyond the standard error" end;
# Two accuracies on the same number of test images: "better", "worse" or "no difference beyond the standard error".
def accuracy_verdict(a; b; tests): compare_within(a; a | accuracy_error(tests); b; b | accuracy_error(tests)) | better_or_worse;
# Two lists of values, one of each seed, higher is better: the same words.
def seeds_verdict(a; b): compare_within(a | mean; a | standard_error; b | mean; b | standard_error) | better_or_worse;
# The same in words, of what the first list is of: "a large memory is better", "… makes no difference beyond the standard error".
def seeds_words(a; b; what): seeds_verdict(a; b) | "\(what) " + (if startswith("no") then "makes " else "is " end) + .;
# 0.871 | with_accuracy_error(2000) -> "87.1 % ± 0.7"
def with_accuracy_error(tests): "\(percent(1)) ± \(accuracy_error(tests) * 100 | fixed(1))";

# Verdicts come from data: 1 if a is larger than b by more than `margin` (a share of the size of b), -1 if it is smaller, 0 within it.
def compare(a; b; margin):
  (a | number) as $a | (b | number) as $b | (($b | fabs) * margin) as $spread
  | if $a > $b + $spread then 1 elif $a < $b - $spread then -1 else 0 end;
def verdict(a; b; margin; more; same; less): compare(a; b; margin) | if . > 0 then more elif . < 0 then less else same end;
# 3 | count_of("worker") -> "3 workers"
def count_of(word): number | "\(.) \(word)" + (if . == 1 then "" else "s" end);
# [1, 2] | counts_of("worker") -> "1 and 2 workers"; [1] -> "1 worker"
def counts_of(word): (map(tostring) | listed) as $counts | "\($counts) \(word)" + (if $counts == "1" then "" else "s" end);
# "2.10 times as fast as", "slower than (0.70 times the speed of)" or "as fast as", of a ratio of speeds.
def times_as_fast: number | if . > 1.03 then fixed(2) + " times as fast as" elif . < 0.97 then "slower than (" + fixed(2) + " times the speed of)" else "as fast as" end;
# 3211264 | two_digits -> "3.2M", the rounding of lecture notes; 150528 -> "150K"
def two_digits:
  {value: number, unit: 0}
  | until(.unit == 4 or (.value | fabs) < 999.5; {value: (.value / 1000), unit: (.unit + 1)})
  | .unit as $unit
  | (.value | if fabs >= 99.5 then (. / 10 | round) * 10 | fixed(0) elif fabs >= 9.95 or $unit == 0 then fixed(0) else fixed(1) end) + ["", "K", "M", "G", "T"][$unit];
# 0.0000123 | three_small -> "1.23e-5": of numbers far below 1
def three_small: number | if . == 0 then "0" elif fabs >= 0.001 then tostring else (fabs | log10 | floor) as $e | "\(. / pow(10; $e) | fixed(2))e\($e)" end;
# 0.9 | money -> "$0.90"
def money: "$" + fixed(2);
# Notes of predictions about the factors behind them, once each: links with the share of their bandwidth, what the stack was fitted to.
def factors: [.[].result.notes[]? | select(startswith("model:") or startswith("cluster:") or startswith("fitted")) | gsub("^(model|cluster): "; "") | gsub("PALEO \\(head\\)"; "PALEO") | gsub("of the network"; "of the bandwidth of links")
    | gsub("^fitted to 0 rows.*"; "its figures were not fitted to rows of this stack")]
  | reduce .[] as $note ([]; if index($note) then . else . + [$note] end) | if length == 0 then "none" else join("; ") end;
# Predictions of several devices differ by software too where each has the stack that was measured on it.
def stacks_note: [.[] | {device, stack: .result.stack}] | unique | if (map(.stack) | unique | length) < 2 then ""
  else "Each device is predicted with the software that was measured on it (\([.[] | "\(.device): \(.stack)"] | join(", "))), so a newer device can come out slower than an older one." end;
# A field of a job in words: "machine.disk_gib" -> "machine disk in GiB".
def field_words: gsub("_gib$"; " in GiB") | gsub("\\.|_"; " ");
# Of lab ml-clouds: the offers of the services that its settings name.
def offers: (.settings.clouds | split(",")) as $clouds | [.planned[0].result.offers[] | select(.platform as $p | $clouds | index($p))];
# Rows of predictions that fit into the memory of the device.
def fitting: map(select(.fits != false));
# What a table of predictions says of rows that are struck out, if there are any.
def struck_note: if any(.[].result.rows[]?; .fits == false) then " Rows that are struck out need more memory than the device has and are left out of every conclusion." else "" end;
# Whether measured rows of several workers are faster than all of them together can be: no more of them work at a time than there are cores.
def disturbed(cores): any(.[]; .speedup > 1.05 * ([.workers, cores] | min));
def disturbed_note(cores): if disturbed(cores) then " A speed-up above the number of workers or of cores cannot come from them: the run with one worker was disturbed." else "" end;
# Of all data: whether other work ran when the results were measured, as the first lines of the report say (src/program/lab/evidence.cpp).
def busy: (.load_average // 0) > 0.5 * (.machine.threads // 1);
# What follows sentences about times then.
def busy_note: if busy then " Other work ran on this machine at the time, so these times say little, and nothing is concluded from them." else "" end;
# Series of the rows of a table that the user brought (`inputs:`), a line for each device: .inputs.measured | own_lines("own"; .workers; .images_per_s)
def own_lines(name; x; y): map(select(y != null)) | group_by(.device) | map({name: "\(name), \(.[0].device)", origin: "measured", points: (sort_by(x) | map([x, y]))});
# Rows with the time (seconds) and cost of this many images at their speed; a cost of their own stays.
def with_time(pictures; hourly): map(. + {seconds: (pictures / .images_per_s)} | . + {cost: (.cost // (.seconds / 3600 * .workers * hourly))});
# Dollars of a device and hour that predictions were priced with.
def hourly: [.[].result.rows[] | select(.cost_usd > 0 and .train_s > 0) | .cost_usd / .workers / (.train_s / 3600)] | if length == 0 then 0 else mean end;
# Images that the trainings of predictions see in all.
def trained_pictures: [.[].result.rows[] | select(.train_s > 0) | .train_s * .images_per_s] | if length == 0 then error("a value is missing (null)") else mean end;
# Predictions with those that do not fit marked for tables.
def struck: map(. + {struck: (.fits == false)});
# Rows of `validate` for training of the network, device and stack of the settings in single precision.
def published_training(settings): map(select(.device == settings.device and .model == settings.network and .framework == settings.stack
  and .precision == "fp32" and .subject != "inference" and .measured > 0));
# Rows of `validate`, by experiment and number of GPUs: network, device, stack, batch, precision and source. What was published twice for a
# number of GPUs (over two networks, say) is no single experiment and is left out.
def experiments: group_by([.model, .device, .framework, .batch_per_gpu, .precision, (.origin // "" | split(":")[0])]) | map(select((map(.gpus) | unique | length) == length) | sort_by(.gpus));
# The published experiment of the settings with the batch of each GPU that they name; of several, that with the most numbers of GPUs.
def published_experiment(settings): published_training(settings) | map(select(.batch_per_gpu == settings.each_batch)) | experiments | max_by(length) // [];

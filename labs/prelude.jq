# Functions for the queries of labs, beside jq's own.

# 3.14159 | fixed(2) -> "3.14"
def fixed(digits):
  if type != "number" then "-" else
    . as $x
    | (if digits == 0 then 1 else pow(10; digits) end) as $unit
    | ($x * $unit | fabs | round) as $n
    | (($n / $unit) | floor) as $whole
    | (if $x < 0 and $n > 0 then "-" else "" end) + ($whole | tostring)
      + (if digits == 0 then "" else
          (($n - $whole * $unit) | tostring) as $rest
          | "." + (("0" * (digits - ($rest | length))) // "") + $rest
        end)
  end;

# 0.993 | percent(1) -> "99.3 %"
def percent(digits): if type != "number" then "-" else (. * 100 | fixed(digits)) + " %" end;

# 1234567 -> "1,234,567"
def commas:
  tostring | explode | reverse
  | [range(0; length) as $i | (if $i > 0 and $i % 3 == 0 then 44 else empty end), .[$i]]
  | reverse | implode;

# 25557032 -> "25.6M"
def si:
  if fabs >= 1e12 then (. / 1e12 | fixed(1)) + "T"
  elif fabs >= 1e9 then (. / 1e9 | fixed(1)) + "G"
  elif fabs >= 1e6 then (. / 1e6 | fixed(1)) + "M"
  elif fabs >= 1e3 then (. / 1e3 | fixed(1)) + "K"
  else fixed(1) end;

# 0.0123 -> "12.3 ms"
def seconds_text:
  if type != "number" then "-"
  elif . < 1e-3 then (. * 1e6 | fixed(1)) + " us"
  elif . < 1 then (. * 1e3 | fixed(1)) + " ms"
  elif . < 120 then fixed(1) + " s"
  elif . < 7200 then (. / 60 | fixed(1)) + " min"
  else (. / 3600 | fixed(1)) + " h" end;

# 67108864 -> "64 MiB"
def bytes_text:
  if . >= 1073741824 then (. / 1073741824 | fixed(1)) + " GiB"
  elif . >= 1048576 then (. / 1048576 | (if . == floor then fixed(0) else fixed(1) end)) + " MiB"
  elif . >= 1024 then (. / 1024 | fixed(0)) + " KiB"
  else tostring + " B" end;

def mean: if length == 0 then null else add / length end;
def ratio(a; b): if (b | type) == "number" and b != 0 then a / b else null end;
# The mean of |predicted / measured - 1| over pairs [predicted, measured].
def mean_error: map((.[0] / .[1] - 1) | fabs) | mean;
# Names of a list as people write it: "a, b and c".
def listed: if length < 2 then join("") else (.[:-1] | join(", ")) + " and " + .[-1] end;

# Verdicts come from data: 1 if a is larger than b by more than `margin` (a share of b), -1 if it is smaller, 0 within it.
def compare(a; b; margin): if a > b * (1 + margin) then 1 elif a < b * (1 - margin) then -1 else 0 end;
def verdict(a; b; margin; more; same; less): compare(a; b; margin) | if . > 0 then more elif . < 0 then less else same end;
# 3 | count_of("worker") -> "3 workers"
def count_of(word): "\(.) \(word)" + (if . == 1 then "" else "s" end);
# "2.1 times as fast as", "0.70 of the speed of", "as fast as", of a ratio of speeds.
def times_as_fast: if . > 1.03 then fixed(2) + " times as fast as" elif . < 0.97 then "slower than (" + fixed(2) + " times the speed of)" else "as fast as" end;
# Rows of predictions that fit into the memory of the device.
def fitting: map(select(.fits != false));
# Predictions with those that do not fit marked for tables.
def struck: map(. + {struck: (.fits == false)});

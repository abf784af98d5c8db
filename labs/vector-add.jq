# Functions of lab vector-add. Rows are those of `vecadd`: {device, launch, memory, elements, to_device_ms, kernel_ms, from_device_ms, origin}.

# Copies, kernel and copies back: what both sides have to do, without allocation and filling.
def work_ms: (.to_device_ms // 0) + (.kernel_ms // .first_kernel_ms) + (.from_device_ms // 0);
# The processor, and three launches of the device of that name.
def four_lines(rows; memory):
  . as $device
  | [{name: "processor, one thread", rows: [rows[] | select(.device == "cpu" and .launch == "scalar")]}]
    + [["1x1", "one thread"], ["1x256", "one block of 256"], ["Nx256", "many blocks of 256"] | . as [$launch, $words]
       | {name: "\($device), \($words)", rows: ([rows[] | select(.device == $device and .launch == $launch and .memory == memory)] | group_by(.elements) | map(.[0]))}]
  | map(select(.rows | length > 0) | {name, origin: (if .rows[0].origin == "predicted" then "predicted" else "measured" end), points: [.rows[] | {x: .elements, y: work_ms, origin}]});
# The first device of this machine that rows were measured on; no name if there is none.
def own_device: [.[] | select(.device != "cpu" and .memory == "copies" and .origin != "predicted").device][0] // "";
# What unified memory costs compared with copies, of the largest size.
def unified_text(rows):
  . as $device | (rows | map(.elements) | max) as $n
  | def of($memory): [rows[] | select(.device == $device and .launch == "Nx256" and .memory == $memory and .elements == $n)][0];
    of("copies") as $copies | of("unified") as $unified
  | if $copies == null or $unified == null then ""
    else "On a \($device), \($n | si) elements take \($copies | work_ms / 1e3 | seconds_text) with copies and \($unified | work_ms / 1e3 | seconds_text) with unified memory"
      + (if $unified.origin == "predicted" and ($unified | work_ms) > 1.02 * ($copies | work_ms) then ": each page of 64 KiB that moves costs a fault besides its bytes (predicted; a prefetch would spare it)." else "." end) end;

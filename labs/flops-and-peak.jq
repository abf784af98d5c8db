# Functions of lab flops-and-peak.

# Lu et al. (ACM MM 2017), tables 2, 3, 5 and 6: layers timed one by one and summed, and the whole forward pass, in ms.
def lu_times:
  [["AlexNet", "TK1 GPU", 73.3, 54.7], ["AlexNet", "TX1 GPU", 52.8, 29.3], ["AlexNet", "TK1 CPU", 619.8, 619.5], ["AlexNet", "TX1 CPU", 894.3, 892.7],
   ["VGG16", "TK1 GPU", 347.6, 326.7], ["VGG16", "TX1 GPU", 184.2, 175.3], ["VGG16", "TK1 CPU", 7697.9, 7697.8], ["VGG16", "TX1 CPU", 2824.6, 2809.1],
   ["GoogLeNet", "TK1 GPU", 269.3, 167.0], ["GoogLeNet", "TX1 GPU", 258.1, 143.9], ["GoogLeNet", "TK1 CPU", 1066.2, 1065.6], ["GoogLeNet", "TX1 CPU", 630.9, 637.9],
   ["ResNet50", "TK1 GPU", 673.0, 149.4], ["ResNet50", "TX1 GPU", 664.7, 104.4], ["ResNet50", "TK1 CPU", 2072.7, 2072.2], ["ResNet50", "TX1 CPU", 567.6, 566.8]]
  | map({network: .[0], processor: .[1], layers: .[2], whole: .[3], times: (.[2] / .[3])});
# By how much sums are larger than the whole, on GPUs and on CPUs.
def lu_answer:
  group_by(.processor[-3:]) | map({kind: .[0].processor[-3:], low: (map(.times) | min), high: (map(.times) | max)})
  | "The sum of the layers is \(map("\(.low | fixed(2)) to \(.high | fixed(2)) times the whole on \(.kind)s") | listed).";

# Of `predict --peak`, one result for each network and device: {network, on, result: {fp32_gflops, rows}}.
def counted_words: if startswith("Lu") then . + ", their MACs doubled" else . end;
# A row for each network, device and way of counting: time and speed at the published peak.
def theory_rows: [.[] | .network as $n | .on as $on | .result.rows | in_order(.counted_by)[] | .[0]
  | {network: $n, on: $on, counted: (.counted_by | counted_words), gflops, single_ms, single_images_per_s, double_ms, double_images_per_s}];
# A row for each practical speed and precision, over the peak that our own count gives.
def practice_rows: [.[] | .network as $n | .on as $on | .result.rows[] | select(.counted_by == "trainyard")
  | {network: $n, on: $on, from: (.practical_source | gsub("^(predicted|published), "; "")), origin: .practical_origin}
    + ({precision: "single", speed: .practical_images_per_s, ratio}, (select(.practical_double_images_per_s > 0) | {precision: "double", speed: .practical_double_images_per_s, ratio: .double_ratio}))
  | . + {ms: (1000 / .speed)}];
# Bars of the ratio, single precision, of each device.
def ratio_bars: practice_rows | map(select(.precision == "single")) | group_by([.origin, .on]) | map({name: "\(.[0].on), \(if .[0].origin == "predicted" then "PALEO" else "fastest published" end)", origin: .[0].origin, points: map([.network, 100 * .ratio])});
# Layers that multiply, with their share of all.
def vgg_rows: (map(.macs) | add) as $all | map(select(.macs > 0) | {name, kind, shape: (.output_shape[1:] | map(tostring) | join("x")), macs, flops: (2 * .macs), share: (.macs / $all)});

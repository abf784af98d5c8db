// The claims of labs that predict, or compare predictions with what was measured.
#include "claims.h"

namespace trainyard::lab::claims {
namespace {

TEST(Claims, PaleoScaling) {
  Json data = parsed(
      R"({"settings": {"network": "inception_v3", "device": "k80", "board": "k80-board", "batch": 128, "each_batch": 64, "workers": [1, 8], "comm": "tree", "stack": "tensorflow-1.1", "price": 0.9, "datasets": ["imagenet"]},
    "strong": [
      {"model": "paleo", "dataset": "imagenet", "result": {"notes": [], "rows": [
        {"workers": 1, "images_per_s": 60, "epoch_s": 100, "cost_usd": 5, "fits": true}, {"workers": 8, "images_per_s": 240, "epoch_s": 25, "cost_usd": 9, "fits": true}]}},
      {"model": "trainyard", "dataset": "imagenet", "result": {"notes": [], "rows": [
        {"workers": 1, "images_per_s": 30, "epoch_s": 200, "cost_usd": 10, "fits": true}, {"workers": 8, "images_per_s": 150, "epoch_s": 40, "cost_usd": 16, "fits": true}]}}],
    "weak": [
      {"model": "paleo", "result": {"rows": [{"workers": 1, "images_per_s": 60, "fits": true}]}},
      {"model": "trainyard", "result": {"rows": [{"workers": 1, "images_per_s": 31, "fits": true}]}}],
    "board": [{"result": {"rows": [{"workers": 1, "images_per_s": 90}]}}],
    "published": [{"result": {"rows": [
      {"device": "k80", "model": "inception_v3", "batch_per_gpu": 64, "framework": "tensorflow-1.1", "precision": "fp32", "subject": "training, one device", "origin": "a.csv:1", "gpus": 1, "measured": 30},
      {"device": "v100", "model": "inception_v3", "batch_per_gpu": 64, "framework": "tensorflow-1.1", "precision": "fp32", "subject": "training, one device", "origin": "a.csv:2", "gpus": 1, "measured": 30}]}}]})");
  check(
      "paleo-scaling", altered(data, kCommon),
      {{".", "8 k80 devices train inception_v3 5.00 times as fast as 1 (PALEO: 4.00 times)", ""},
       {".strong[].result.rows[1].cost_usd = 4", "costs $4.00 instead of $10.00.", "while they"},
       {".strong[1].result.rows[1].images_per_s = 20", "slower than (0.67", "5.00 times"},
       {".strong[0].result.rows[1].fits = false", "PALEO: no such pair fits", "4.00 times"},
       {".strong[1].result.rows[1].fits = false", "Fewer than two", "times as fast"},
       {".", "trainyard is closer.", "had to be"},
       // Inference, or another precision, is no measurement of what is predicted.
       {R"(.published[0].result.rows += [.published[0].result.rows[0] | .subject = "inference" | .measured = 900])",
        "mean error is 3.3 % for trainyard", ""},
       {R"(.published[0].result.rows[0].precision = "fp16")", "so nothing is compared",
        "mean error"},
       {R"(.strong[].result.notes = ["fitted to 12 rows of this stack"])",
        "trainyard is closer, and had to be", "PALEO is closer"},
       {".weak[0].result.rows[0].images_per_s = 30", "PALEO is closer here", "trainyard is"},
       {".weak[].result.rows[0].images_per_s = 40", "Both are equally far off", "is closer"},
       {".", "for PALEO with one GPU", "Strong scaling itself"},
       {".published[0].result.rows[0] |= (.gpus = 8 | .batch_per_gpu = 16)",
        "Strong scaling itself, batch 128 shared", "with one GPU"},
       {".settings.batch = 64", "Strong scaling itself, batch 64 shared", ""},
       {".", "No measurement of strong scaling is there", "Strong scaling itself"},
       // 0.5 s and 1 s for batches of 32 and 64, so 2 s for the 128 of one device.
       {R"(.published[0].result.rows[0] |= (.measured = 64) | .published[0].result.rows += [.published[0].result.rows[0] | .batch_per_gpu = 32])",
        "Over 1 extrapolated point the mean error is 53.1 % for trainyard and 6.2 % for PALEO",
        "No measurement"},
       {R"(.inputs = {measured: [{device: "k80", workers: 8, images_per_s: 120}]})",
        "Over 1 point of strong scaling the mean error is 25.0 % for trainyard and 100.0 % for "
        "PALEO",
        "No measurement of strong"},
       {R"(.settings.device = "v100")", "with one v100 and", "K80"},
       {R"(.settings.device = "a100")", "so nothing is compared", "mean error"}});
}

TEST(Claims, FlopsAndPeak) {
  Json data = parsed(
      R"({"settings": {"networks": ["vgg16"], "devices": ["k80", "k80-board"], "measured": "resnet50", "runs": 5},
    "layers": [{"network": "vgg19", "result": {"totals": {"macs": 100, "flops": 210}, "layers": [{"name": "a", "kind": "convolution", "output_shape": [1, 8], "macs": 90}, {"name": "b", "kind": "linear", "output_shape": [1, 8], "macs": 10}]}}],
    "peak": [
      {"network": "vgg16", "on": "k80", "result": {"fp32_gflops": 2800, "fp64_gflops": 935, "rows": [
        {"counted_by": "trainyard", "gflops": 31, "single_ms": 11, "double_ms": 33, "single_images_per_s": 90, "double_images_per_s": 30, "practical_images_per_s": 45, "ratio": 0.5, "practical_double_images_per_s": 12, "double_ratio": 0.4, "practical_origin": "predicted", "practical_source": "PALEO"},
        {"counted_by": "Lu et al.", "gflops": 31, "single_ms": 11, "double_ms": 33, "single_images_per_s": 90, "double_images_per_s": 30, "practical_images_per_s": 45, "ratio": 0.5, "practical_double_images_per_s": 12, "double_ratio": 0.4, "practical_origin": "predicted", "practical_source": "PALEO"}]}},
      {"network": "vgg16", "on": "k80-board", "result": {"fp32_gflops": 5600, "fp64_gflops": 1870, "rows": []}}],
    "bench": [{"result": {"share_of_peak": 0.5, "gflops": 100, "images_per_s": 12, "median_ms": 80, "profile": [
      {"kind": "convolution", "seconds": 0.07, "gflops": 110, "share_of_peak": 0.55}, {"kind": "addition", "seconds": 0.01, "gflops": 2, "share_of_peak": 0.01}]}}]})");
  check("flops-and-peak", altered(data, kCommon),
        {{".", "PALEO predicts 50 % of the single-precision peak", "50 % to 50 %"},
         {".", "k80 is one GPU of the board", ""},
         {".", "62 % of it are 40 % of the 8740", ""},
         {R"(.settings.devices = ["k80"])", "k80 has a peak", "40 % of the 8740"},
         {".", "1.05 to 6.37 times the whole on GPUs", ""},
         {R"(.settings.devices = ["v100", "a100"] | .peak[0].on = "v100" | .peak[1].on = "a100")",
          "v100 has a peak of 2800 GFLOP/s in single", "of the board"},
         {".", "their figures are doubled here", ""},
         {R"(.peak[].result.rows |= map(select(.counted_by == "trainyard")))", "of this page.",
          "Lu et al. print"},
         {".", "peak for vgg16 at batch 1, and 40 % of the double-precision peak", ""},
         {".peak[0].result.rows[].practical_double_images_per_s = 0", "at batch 1. Peak means",
          "double-precision"},
         {R"(.peak[0].result.rows[].practical_origin = "published")", "There is no prediction",
          "PALEO predicts"},
         {".", "the network would reach 57.1 % of the peak instead of 50.0 %", ""},
         {".load_average = 3", "nothing is concluded from them", "would reach 57.1 %"},
         {".bench[0].result.profile[1].seconds = 0.07",
          "reach 100.0 % of the peak instead of 50.0 %", ""},
         {".bench[0].result.share_of_peak = 1.03", "nothing is missing from the peak",
          "what is missing"},
         {R"(.bench[0].result.profile[0].kind = "linear")", "goes into linear layers.",
          "convolutions reach"},
         {".", "the same within the spread", ""},
         {".bench[0].result.median_ms = 100", "The rest lies between the layers", "the spread"},
         {".bench[0].result.median_ms = 50", "timed in runs of their own", "the spread"}});
}

TEST(Claims, CnnArchitectures) {
  Json data = parsed(
      R"({"settings": {}, "alexnet": [{"result": {"totals": {"params": 100, "macs": 1000}, "layers": [{"name": "i", "kind": "input", "params": 0, "output_shape": [1, 1, 7, 7], "activations": 49},
      {"name": "c", "kind": "convolution", "op": "Conv", "params": 10, "params_without_bias": 9, "macs": 900, "kernel": [3, 3], "strides": [1, 1], "pads": [0, 0], "output_shape": [1, 1, 5, 5], "activations": 25},
      {"name": "f", "kind": "linear", "op": "Gemm", "params": 90, "params_without_bias": 80, "macs": 100, "output_shape": [1, 10], "activations": 10}]}}],
    "stack": [{"kernels": "5 5 5", "result": {"receptive_field": 13}}],
    "inception": [{"result": {"comparison": [{"name": "macs", "a": 100, "b": 30, "saving": 0.7}]}}],
    "naive": [{"result": {"layers": [{"name": "conv1x1", "kind": "convolution", "macs": 5, "output_shape": [1, 672, 32, 32]}]}}],
    "reduced": [{"result": {"layers": [{"name": "conv1x1", "kind": "convolution", "macs": 5, "output_shape": [1, 480, 32, 32]}]}}]})");
  data = altered(data, ".vgg19 = .alexnet | .vgg19[0].result.totals.params_without_bias = 89");
  check("cnn-architectures", altered(data, kCommon),
        {{".", "save 70.0 % of the multiply-adds, because", ""},
         {".inception[0].result.comparison[0].saving = -0.2", "save none of the multiply-adds",
          "because the expensive"},
         {".", "90.0 % of them are in the three", ""},
         {".alexnet[0].result.layers[2].params = 20", "20.0 % of them", "sit at the end"},
         {".stack[0].result.receptive_field = 12", "as one 12x12 filter", "13x13"}});
}

TEST(Claims, PredictVsMeasured) {
  Json data = parsed(
      R"({"settings": {"networks": ["lenet5"], "seconds": 20, "runs": 3}, "calibrated": [{"result": {"threads": 2, "gflops": 100, "gflops_one_thread": 60, "costs": []}}],
    "compared": [{"network": "lenet5", "result": {"rows": [
      {"network": "lenet5", "mode": "inference", "batch": 1, "measured_images_per_s": 100, "predicted_images_per_s": 110},
      {"network": "lenet5", "mode": "training", "batch": 64, "measured_images_per_s": 100, "predicted_images_per_s": 80}]}}]})");
  check("predict-vs-measured", altered(data, kCommon),
        {{".", "2 cases the mean error is 15.0 % (10.0 % in inference and 20.0 % in training)", ""},
         {".", "1 of 2 were predicted faster", "was disturbed"},
         {".compared[0].result.rows[].fastest_images_per_s = 110", "1 of 2 were", "was disturbed"},
         {".compared[0].result.rows[0].fastest_images_per_s = 400",
          "In 1 of 1 the fastest run was more than 1.5 times as fast as the median", ""},
         {".compared[0].result.rows |= .[:1]", "1 case the mean error is 10.0 %", "training)"},
         {".compared[0].result.rows |= reverse", "10.0 % in inference and 20.0 % in training", ""},
         {".compared[0].result.rows[].predicted_images_per_s = 50", "0 of 2 were", "15.0 %"},
         {".", "run with 2 threads", "say little"},
         {".calibrated[0].result.gflops = 50", "were slower than one alone (50 against 60", ""}});
}

TEST(Claims, Tour) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "batch": 64, "epochs": 3}, "models": [{"result": {"models": [{"name": "lenet5", "params": 5, "macs": 6}]}}],
    "layers": [{"result": {"totals": {"params": 5, "macs": 6}, "layers": []}}], "big": [{"result": {"totals": {"params": 5, "macs": 6}}}],
    "predicted": [{"device": "k80", "result": {"rows": [{"workers": 8, "images_per_s": 100, "train_s": 900}]}}, {"device": "a100-80gb", "result": {"rows": [{"workers": 8, "images_per_s": 1000, "train_s": 90}]}}],
    "expected": [{"result": {"rows": [{"images_per_s": 900}]}}], "exported": [{"result": {"nodes": 9}}], "checked": [{"result": {"nodes": 9}}],
    "one": [{"result": {"best_top1": 0.8, "epochs": [{"epoch": 1, "top1": 0.8, "seconds": 5, "images_per_s": 1000}]}}],
    "two": [{"result": {"best_top1": 0.8, "epochs": [{"epoch": 1, "top1": 0.8, "seconds": 5, "images_per_s": 700}]}}]})");
  const PictureFolder folder({"samples.png"});
  data = folder.added(data, "data");
  check("tour", altered(data, kCommon),
        {{".", "8 a100-80gb devices train resnet50 10.00 times as fast as 8 k80 devices", ""},
         {".predicted |= reverse", "8 a100-80gb devices train resnet50 10.00 times as fast as",
          "slower than"},
         {R"(.predicted[0].device = "p100")", "8 p100 devices", "k80"},
         {".", "at 700, 0.70 times as many: they share the cores", "no difference"},
         {".two[0].result.epochs[0].images_per_s = 1010", "1.01 times as many, no difference",
          "they share"},
         {".two[0].result.epochs[0].images_per_s = 1500", "1.50 times as many; one worker may use",
          "they share"},
         {".two[0].result.epochs[0].images_per_s = 2200", "the run with one was disturbed",
          "may use"},
         {".load_average = 3", "0.70 times as many. Other work ran", "they share"},
         {".", "the check found faults in it", "accept"},
         {".checked[0].result += {ok: true, onnx_checker_asked: true}",
          "ONNX checker and ours both", "faults"},
         {".checked[0].result += {ok: true, onnx_checker_asked: false}", "our checker accepts it",
          "the ONNX checker"},
         {".settings.epochs = 1", "best of 1 epoch, which", "1 epochs"}});
}

}  // namespace
}  // namespace trainyard::lab::claims

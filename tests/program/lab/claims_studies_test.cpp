// The claims of labs that train, quantize, schedule or serve.
#include "claims.h"

namespace trainyard::lab::claims {
namespace {

TEST(Claims, BatchAugmentation) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "batch": 64, "copies": [1, 4], "epochs": 4, "target": 0.8, "tests": 2000, "dropped": 0.1, "square": 10, "paper": "resnet44-cifar"}, "predicted": [],
    "plain": [{"result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.80, "seconds": 5, "train_s": 4, "wait_s": 0, "images_per_s": 9}]}}],
    "dropped": [{"result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.70, "seconds": 5, "train_s": 4, "wait_s": 0, "images_per_s": 9}]}}],
    "trained": [
      {"m": 1, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.7, "seconds": 5, "train_s": 4, "wait_s": 0, "images_per_s": 9}, {"epoch": 2, "top1": 0.81, "seconds": 10, "train_s": 4, "wait_s": 0, "images_per_s": 9}]}},
      {"m": 4, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.85, "seconds": 20, "train_s": 4, "wait_s": 0, "images_per_s": 9}]}}]})");
  const PictureFolder folder({"copies.png", "squares.png"});
  data = folder.added(folder.added(data, "shown"), "squares");
  check(
      "batch-augmentation", altered(data, kCommon),
      {{".", "least with 4 copies, 15.0 % ± 0.8.", "1 cannot be told"},
       {".trained |= reverse", "least with 4 copies, 15.0 % ± 0.8.", ""},
       {".trained[1].result.epochs[0].top1 = 0.82", "with 4 copies, 18.0 % ± 0.9; 1 cannot be", ""},
       {".", "cutout cannot be told from no cutout, and is better than dropped pixels", "harder"},
       {".plain[0].result.epochs[0].top1 = 0.9", "is worse than no cutout", "told from no cutout"},
       // Two points on 200 images are chance.
       {".settings.tests = 200 | .plain[0].result.epochs[0].top1 = 0.83", "cannot be told from no",
        "is worse than no cutout"},
       {".", "4 copies need fewer epochs than 1: more time in all", ""},
       {".trained[1].result.epochs[0].seconds = 3", "than 1: less time in all", "more time"},
       {".load_average = 3", "4 copies need fewer epochs than 1. Other work ran", "time in all"},
       {".settings.target = 0.84", "cannot be compared", "fewer epochs"},
       {".settings.target = 0.84", "it is not reached: 81.00 % after all 2 epochs, 10.0 s", ""},
       {".trained |= .[:1]", "with 1 copy", "copies need"}});
}

TEST(Claims, TimeToAccuracy) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "target": 0.8}, "seeds": [{"result": {"reached": 2, "censored": 0, "mean_s": 9, "mean_epochs": 2, "cv": 0.1, "cv_low": 0.05, "cv_high": null, "epochs_cv": 0, "runs": [
      {"seed": 1, "reached": true, "seconds": 9, "epochs": 2, "best_top1": 0.8}, {"seed": 2, "reached": true, "seconds": 9, "epochs": 2, "best_top1": 0.8}]}}],
    "imported": [{"file": "a.csv", "result": {"imported": [{"runs": [], "cv": 0.05, "cv_low": 0.02, "cv_high": 0.2}]}}],
    "tried": [{"what": "as in the runs above", "result": {"epochs": [{"images_per_s": 100}]}}, {"what": "batch 512", "result": {"epochs": [{"images_per_s": 150}]}}],
    "busy": [{"result": {"utilization": [{"samples": 3, "memory": 0.2, "limit": "computation", "process": 0.9, "machine": 0.95, "series": [{"at_s": 1, "process": 0.9}]}]}}, {"result": {"utilization": [{"process": 0.9, "machine": 0.95}]}}]})");
  check(
      "time-to-accuracy", altered(data, kCommon),
      {{".", "Fastest: batch 512, 150 images/s compared with 100 with the settings", "says little"},
       {".tried[1].result.epochs[0].images_per_s = 90", "Fastest: as in the runs above, 100",
        "compared with 100"},
       {".tried[1].result.epochs[0].images_per_s = 100", "Fastest: as in the runs above, 100",
        "batch 512,"},
       {".", "(95 % interval from 5.0 %, with no upper end)", "open"},
       {".seeds[0].result.cv_high = 0.3", "(95 % interval 5.0 % to 30 %)", "no upper end"},
       {".", "By machine: a.csv 5.0 %", ""},
       {".imported = []", "runs reach", "By machine"},
       {".", "That is close to 100 %", "not close"},
       {".busy[0].result.utilization[0].process = 0.1", "so this says little", "is close to"},
       {".", "No images from elsewhere were given", ""},
       {".seeds[0].result |= (.reached = 0 | .censored = 2 | .cv = null | .mean_s = null)",
        "0 of 2 runs reach 80 %. Too few", "on average. "}});
}

TEST(Claims, SemiSupervised) {
  Json data = parsed(
      R"({"settings": {"student": "lenet5", "teacher": "lenet5", "data": "fashion-mnist", "tests": 2000}, "sizes": [{"result": {"totals": {"params": 200}}}, {"result": {"totals": {"params": 100}}}], "hard": [{"result": {"labeled": 100, "supervised": {"top1": 0.7}, "teacher": {"top1": 0.7}, "best": {"k": 200, "p": 1, "top1": 0.75},
      "cells": [{"k": 50, "p": 1, "top1": 0.7, "right": 0.99}, {"k": 200, "p": 1, "top1": 0.75, "right": 0.9}, {"k": 800, "p": 1, "top1": 0.71, "right": 0.7}]}}]})");
  const PictureFolder folder({"study/chosen.png"});
  data = folder.added(data, "hard");
  check("semi-supervised", altered(data, kCommon),
        {{".", "rises with K up to 200 and falls again", "no difference counts"},
         {".hard[0].result.cells |= reverse", "rises with K up to 200 and falls again", ""},
         {".hard[0].result.cells[2].top1 = 0.76", "Accuracy rises with K: K = 50", "falls"},
         {".hard[0].result.cells[].top1 = 0.75", "does not change by more than the standard error",
          "rises"},
         {".", "are worth 5.00 points", "standard error here"},
         // One point of 2,000 test images is chance.
         {".hard[0].result.best.top1 = 0.71", "make no difference beyond the standard error here",
          "a little less for"},
         {".", "both are lenet5", "teaches"},
         {R"(.settings.teacher = "mlp")", "mlp (200 parameters) teaches lenet5 (100)",
          "self-training"},
         {R"(.settings.teacher = "mlp" | .sizes[0].result.totals.params = 50)",
          "is not the larger one", "as in the paper"}});
}

TEST(Claims, NoisyLabels) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "clean": 500, "tests": 2000}, "noisy": [{"share": 0, "result": {"epochs": [{"top1": 0.9, "train_loss": 1}]}}, {"share": 0.5, "result": {"epochs": [{"top1": 0.7, "train_loss": 2}]}}],
    "transferred": [{"share": 0, "result": {"epochs": [{"top1": 0.91}]}}, {"share": 0.5, "result": {"epochs": [{"top1": 0.8}]}}], "alone": [{"result": {"epochs": [{"top1": 0.75}]}}],
    "tail": [{"exponent": 1, "way": "natural", "result": {"epochs": [{"top1": 0.6}]}}, {"exponent": 1, "way": "sqrt", "result": {"epochs": [{"top1": 0.65}]}}, {"exponent": 1, "way": "uniform", "result": {"epochs": [{"top1": 0.62}]}}]})");
  data = altered(data, ".tail_transferred = [.tail[] | .result.epochs[0].top1 += 0.1]");
  check("noisy-labels", altered(data, kCommon),
        {{".", "of which 50 % are wrong are worth 5.00 points",
          "make no difference beyond the standard error as"},
         {".noisy |= reverse | .transferred |= reverse",
          "With 0 % wrong labels the network gets 90.0 %", "of which 0 %"},
         {".alone[0].result.epochs[0].top1 = 0.79",
          "make no difference beyond the standard error as pretraining", "are worth"},
         {".alone[0].result.epochs[0].top1 = 0.85", "do harm as pretraining", "are worth"},
         {".", "square root 65.0 %, uniform 62.0 %: square root sampling is better", ""},
         {".", "Then clean: natural 70.0 %", ""},
         {".", "has 80.0 % (before: 70.0 %)", ""},
         {".tail[].result.epochs[0].top1 = 0.6",
          "uniform 60.0 %: resampling makes no difference beyond the standard error", ""}});
}

TEST(Claims, TransferLearning) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "source": "a", "target": "b", "batch": 64, "epochs": 2, "schedule": "s"}, "seen": [{"result": {"source": "b", "samples": 400, "channels": 1, "height": [28, 28], "width": [28, 28], "classes": [{"name": "x", "samples": 200}, {"name": "y", "samples": 200}]}}],
    "tests": [{"result": {"samples": 1000}}], "scratch": [{"rate": 0.1, "result": {"epochs": [{"top1": 0.85}]}}],
    "all": [{"result": {"runs": [{"mode": "finetune", "rate": 0.1, "best_top1": 0.9, "epoch_s": 2, "epochs": []}]}}],
    "head": [{"result": {"runs": [{"mode": "features", "rate": 1, "best_top1": 0.8, "epoch_s": 1, "epochs": []}]}}]})");
  const PictureFolder folder({"samples.png"});
  data = folder.added(data, "seen");
  check("transfer-learning", altered(data, kCommon),
        {{".", "(b) has 400 training images in 2 classes, 200 of each, and 1,000 test images", ""},
         {".", "The winner is training all layers at rate 0.1: 90.0 % ± 0.9", "no single winner"},
         {".head[0].result.runs[0].best_top1 = 0.95",
          "The winner is training the new last layer at rate 1", ""},
         {".head[0].result.runs[0].best_top1 = 0.89",
          "all layers at rate 0.1 (90.00 %) and the new last layer at rate 1 (89.00 %) are a tie",
          "The winner is"},
         {".", "and changing them pays", "so the target is near"},
         {".head[0].result.runs[0].best_top1 = 0.9", "so the target is near", "changing them pays"},
         {".", "starting from the source brings 5.00 points", ""},
         {".scratch[0].result.epochs[0].top1 = 0.9",
          "makes no difference beyond the standard error", "brings"},
         {".", "does, 2.0 times as fast.", "slower here"},
         {R"(.settings.target = "synthetic:1x28x28,size=9")",
          "lenet5 learns synthetic data, starting", "1x28x28"},
         // A first run that was disturbed does not count.
         {".all[0].result.runs |= [(.[0] | .epoch_s = 9), .[0]]", "does, 2.0 times as fast", ""},
         {".head[0].result.runs[0].epoch_s = 0.0005", "does, 4,000 times as fast", ""},
         {".head[0].result.runs[0].epoch_s = 2", "does, about the same.", "times as fast"},
         {".head[0].result.runs[0].epoch_s = 4", "which is slower here", "times as fast"}});
}

TEST(Claims, Quantization) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "calibration": 8, "method_bits": [4]}, "studied": [{"result": {"test_images": 2000, "layers": [{"name": "c", "kind": "convolution", "input_scale": 0.1, "weight_sqnr_db": 30,
      "weights": {"min": -1, "max": 1, "mean": 0, "sigma": 0.3, "beyond_3_sigma": 0.01, "bars": {"low": -1, "high": 1, "counts": [1, 2]}}, "input": {"min": 0, "max": 1, "mean": 0, "sigma": 0.3, "bars": {"low": 0, "high": 1, "counts": [1, 2]}}, "output": {"min": -2, "max": 1, "mean": 0, "sigma": 0.3, "bars": {"low": -2, "high": 1, "counts": [1, 2]}}}],
      "steps": [{"what": "float", "top1": 0.9}, {"what": "weights", "top1": 0.9, "output_sqnr_db": 30}, {"what": "weights and activations", "top1": 0.89, "output_sqnr_db": 12.9}, {"what": "weights, activations and biases", "top1": 0.89, "output_sqnr_db": 12.46}],
      "bits": [{"weight_bits": 8, "activation_bits": 8, "top1": 0.9}, {"weight_bits": 4, "activation_bits": 4, "top1": 0.5}]}}],
    "clipped": [{"result": {"steps": [{"what": "weights", "top1": 0.9, "output_sqnr_db": 25}], "bits": []}}],
    "ways": [{"method": "mse", "how": "per tensor", "count": 4, "result": {"int8": {"top1": 0.8, "output_sqnr_db": 10}}}],
    "written": [{"result": {"float": {"bytes": 4000, "median_ms": 0.2}, "int8": {"bytes": 1000, "median_ms": 0.1}}}]})");
  check("quantization", altered(data, kCommon),
        {{".",
          "89.00 % (no difference beyond the standard error) and the signal to noise of the scores "
          "from 12.90 to 12.46 dB",
          "next to nothing"},
         {".studied[0].result.steps[3].top1 = 0.8", "to 80.00 % (worse)", "to 89.00 %"},
         {".", "Beyond them lie 1.00 % of the weights of c", "No weight"},
         {".studied[0].result.layers[0].weights.beyond_3_sigma = 0", "No weight lies beyond them.",
          "of the weights of"},
         {".", "8 bits for weights and activations are the fewest", "All of the bit widths"},
         {".studied[0].result.bits[].top1 = 0.1", "All of the bit widths", "the fewest"},
         {".", "on 2,000 test images goes from 90.00 % to 90.00 %", "worse) with the activations"},
         {".studied[0].result.steps[2].top1 = 0.8",
          "(-10.00 points, worse) with the activations too", ""},
         {".", "clamping adds more noise", "finer steps take away more"},
         // Accuracy and noise may say different things.
         {".clipped[0].result.steps[0].top1 = 0.95",
          "95.00 % against 90.00 % (better), and the signal to noise of the scores is 25.0 against "
          "30.0 dB. "
          "At 8 bits clamping adds more",
          "finer steps take away more"},
         {".clipped[0].result.steps[0].output_sqnr_db = 35", "finer steps take away more",
          "clamping adds more"},
         {".", "The file shrinks from", "grows"},
         {".", "in int8 on this machine, ", "nothing is concluded"},
         {".load_average = 3", "nothing is concluded from them", "in int8 on this machine, "},
         {".written[0].result.int8 = {bytes: 5000, median_ms: 0.4}", "The file grows from",
          "which is faster"},
         {".studied[0].result.layers[0].input.min = -1", "All have both signs", "nowhere"}});
}

TEST(Claims, VectorAdd) {
  Json data = parsed(
      R"({"settings": {"charted": "k80"}, "there": [{"result": {"devices": []}}], "streamed": [{"result": {"rows": []}}], "timed": [{"result": {"limit_gbps": 20, "rows": [
      {"device": "cpu", "launch": "threads", "memory": "host", "origin": "measured", "elements": 1000, "kernel_ms": 5, "total_ms": 5, "to_device_ms": 0, "from_device_ms": 0, "gbps": 9},
      {"device": "pocl", "launch": "1x1", "memory": "copies", "origin": "measured", "elements": 1000, "kernel_ms": 6, "total_ms": 9, "to_device_ms": 1, "from_device_ms": 1, "gbps": 9},
      {"device": "pocl", "launch": "Nx256", "memory": "copies", "origin": "measured", "elements": 1000, "kernel_ms": 5, "total_ms": 9, "to_device_ms": 1, "from_device_ms": 1, "gbps": 9},
      {"device": "k80", "launch": "1x1", "memory": "copies", "origin": "predicted", "elements": 1000, "kernel_ms": 500, "total_ms": 504, "to_device_ms": 3, "from_device_ms": 1, "gbps": 9},
      {"device": "k80", "launch": "Nx256", "memory": "copies", "origin": "predicted", "elements": 1000, "kernel_ms": 1, "total_ms": 5.5, "to_device_ms": 3, "from_device_ms": 1, "gbps": 9}]}}]})");
  check("vector-add", altered(data, kCommon),
        {{".", "pocl, measured here, behaves otherwise", ""},
         {R"(.timed[0].result.rows[0] += {origin: "extrapolated", measured_elements: 500})",
          "9.0 GB/s (extrapolated from 500 elements). On", ""},
         {".", "9.0 GB/s. On", "extrapolated"},
         {".streamed[0].result = {limit_gbps: 5, rows: [{share_of_peak: 5}]}",
          "Rows without a share were faster", ""},
         {".streamed[0].result = {limit_gbps: 5, rows: [{share_of_peak: 0.5}]}",
          "vectors (5.0 GB/s)", "without a share"},
         {".timed[0].result.rows[1].kernel_ms = 600", "On pocl one work-item takes 120.0 times",
          "behaves otherwise"},
         {".", "one thread takes 500 times as long as many", "500 to 500"},
         {".", "none of them beats the processor's loop", "would still"},
         {".timed[0].result.rows[4].to_device_ms = 1", "k80 would still beat", "none of them"},
         {".load_average = 3", "cannot be said from a busy machine", "none of them"},
         {".", "copies take less time than the kernel", ""},
         {".timed[0].result.rows[2].to_device_ms = 9", "copies take 2.0 times as long", ""}});
}

TEST(Claims, OptimusLoss) {
  Json data = parsed(
      R"({"settings": {"depth": 50, "devices": ["k80"], "measured": "none", "trained": "20,32", "runs": 1, "epochs": 6, "data": "synthetic", "rate": 0.05}, "speeds": [{"network": "resnet20-cifar", "device": "k80", "result": {"rows": [{"epoch_s": 1, "train_s": 100}]}}],
    "fits": [{"curve": "a", "result": {"stages": [{"rate": 0.1, "model": "x", "inverse_beta": [1, 1, 1], "inverse_sse": 1, "prefixes": [{}, {}, {"inverse_mape": 0.02}, {}]}]}},
      {"curve": "b", "result": {"stages": [{"rate": 0.01, "model": "x", "inverse_beta": [1, 1, 1], "inverse_sse": 1, "prefixes": [{}, {}, {"inverse_mape": 0.4}, {}]}]}}],
    "regression": [{"result": {"models": [{"name": "a", "depth": 20, "device": "run 1", "beta": [1, 1, 0], "scale": 2, "mape": 0.1}, {"name": "b", "depth": 32, "device": "run 1", "beta": [1, 1, 0], "scale": 2, "mape": 0.2}],
      "regression": [], "predicted": [], "real": [], "errors": [{"device": "run 1", "mape": 0.25}]}}],
    "depths": [{"result": {"predicted": {"points": [[1, 2]]}, "depths": [{"depth": 20, "inside": false, "left_out_mape": 0.5}, {"depth": 32, "inside": true, "left_out_mape": 0.07}]}}]})");
  check("optimus-loss", altered(data, kCommon),
        {{".", "best and those at 0.01 worst", "little difference"},
         {".fits[0].result.stages[0].prefixes[2].inverse_mape = 0.9", "those at 0.1 worst", ""},
         {".fits[1].result.stages[0].rate = 0.1", "2.0 % to 40.0 % at a rate of 0.1.", "worst"},
         {".fits[].result.stages[0].prefixes[2].inverse_mape = 0.1", "little difference", "worst"},
         {".",
          "predicted from the 2 other trainings, is off from the measured one by 25.0 % (run 1) in "
          "the mean",
          ""},
         {".", "fitted to by 10.0 % to 20.0 %", ""},
         {".", "b2 is 0 in every fit", ""},
         {".regression[0].result.models[0].beta[2] = 0.1", "the mean", "in every fit"},
         {".", "differ by their seed", "Own curves"},
         {R"(.settings.measured = "a.csv")", "Curves of a.csv", "by their seed"},
         {".fits[0].result.stages += [.fits[0].result.stages[0] | .prefixes[2].inverse_mape = 0.5]",
          "2.0 % to 50.0 % at a rate of 0.1", ""},
         {".", "the curve of depth 32 is off by 7.0 %", "the curve of depth 20"},
         {".settings.depth = 32", "Depth 32 is among the curves", "no real curve"},
         {".", "1 curves over time are 1 curve over epochs, each stretched for 1 device", "five"}});
}

TEST(Claims, OptimusTime) {
  Json data = parsed(
      R"({"settings": {"target": 0.9, "depth": 50, "device": "k80", "servers": "1,4", "price": 0.9, "server_price": 0.1}, "speed": [{"result": {"mape": 0.1}}],
    "time": [{"result": {"goal": "91 % after 9 steps", "fastest": {"servers": 1, "workers": 1, "seconds": 3600, "limit": "compute"}, "cheapest": {"servers": 4, "workers": 2, "cost_usd": 1.5}, "points": []}}]})");
  check(
      "optimus-time", altered(data, kCommon),
      {{".", "Fastest with 1 server and 1 worker: 60 min 0 s", "1 servers"},
       {".", "Cheapest with 4 servers and 2 workers: $1.50 at $0.90 per worker and $0.10 per", ""},
       {".settings.price = 2", "$2.00 per worker", "$0.90"},
       {".time[0].result.fastest.servers = 2", "Fastest with 2 servers and 1 worker", ""},
       {R"(.settings.servers = "2")", "with 2 parameter servers", "1 and 4"},
       {R"(.settings.servers = "1")", "with 1 parameter server,", "1 parameter servers"}});
}

TEST(Claims, Schedulers) {
  Json data = parsed(
      R"({"settings": {"jobs": 60, "gangs": 500, "nodes": 6},
    "gangs": [{"result": {"policies": [{"name": "gang-fifo", "avg_jct": 7200, "queueing": 3600}, {"name": "tiresias", "avg_jct": 3600, "queueing": 1800}]}}],
    "trace": [{"result": {"workload": "t", "policies": [{"name": "gang-fifo", "avg_jct": 600, "queueing": 300, "jobs": [{}, {}]}, {"name": "gang-srsf", "avg_jct": 300, "queueing": 0, "jobs": [{}, {}]}]}}],
    "mixed": [{"result": {"policies": [{"name": "gavel-las", "avg_jct": 3600, "makespan": 7200}, {"name": "gang-fifo", "avg_jct": 7200, "makespan": 9000}]}}],
    "elastic": [{"result": {"sensitivity": [{"policy": "optimus", "avg_jct": [100, 101, 105, 120]}, {"policy": "drf", "avg_jct": [200, 200, 200, 201]}], "policies": [
      {"name": "optimus", "avg_jct": 100, "p99_jct": 1, "makespan": 100}, {"name": "drf", "avg_jct": 200, "p99_jct": 1, "makespan": 120}, {"name": "tetris", "avg_jct": 150, "p99_jct": 1, "makespan": 110}]}}]})");
  check("schedulers", altered(data, kCommon),
        {{".", "soonest on average under optimus; the whole workload is done soonest under optimus",
          ""},
         {".elastic[0].result.policies[1].avg_jct = 50", "on average under drf;", "under optimus;"},
         {".elastic[0].result.policies[1].avg_jct = 100", "under optimus and drf;", ""},
         {".elastic[0].result.policies |= reverse", "DRF takes 2.00 times as long", ""},
         {R"(.settings += {trace: "published:tiresias-60", trace_nodes: 3})",
          "waits; here there are fewer.", ""},
         {R"(.settings += {trace: "published:tiresias-60", trace_nodes: 8})", "none of them waits.",
          "fewer"},
         {".", "change the average of optimus most, by 20.0 %", "no policy's"},
         {".elastic[0].result.sensitivity[1].avg_jct[3] = 300", "of drf most, by 50.0 %",
          "optimus most"},
         {".elastic[0].result.sensitivity[].avg_jct = [10, 10]", "change no policy's average",
          "most"},
         {".", "soonest on average under tiresias, after 1.0 hours", "No job waits"},
         {".gangs[0].result.policies[0].avg_jct = 1800", "under gang-fifo, after 0.5 hours",
          "under tiresias"},
         {".gangs[0].result.policies[].avg_jct = 3600", "under gang-fifo and tiresias, after", ""},
         {".gangs[0].result.policies[].queueing = 0", "No job waits", "hours in the queue"},
         {".",
          "2 jobs end soonest on average under gang-srsf, after 5.0 minutes; the worst, gang-fifo, "
          "takes 2.00 times as long",
          "Tiresias' authors"},
         {".trace[0].result.policies[].queueing = 0", "No job waits as much as a second",
          "2 jobs end"},
         {R"(.settings.trace = "published:tiresias-60")", "60 jobs that Tiresias' authors", ""},
         {".", "under gavel-las; the whole workload is done soonest under gavel-las", ""},
         {".mixed[0].result.policies[1].makespan = 100",
          "under gavel-las; the whole workload is done soonest under gang-fifo", ""}});
}

TEST(Claims, QLearning) {
  Json data = parsed(R"({"settings": {"steps": 20000, "deep_steps": 6000, "limit": 200}})");
  data = altered(data, R"jq(
    def run(a; s; greedy; recent): {agent: a, seed: s, result: {runs: [{recent_return: recent, evaluations: [{step: 1, mean: greedy}]}]}};
    .table = [run("q-learning"; 1; -13; -50), run("q-learning"; 2; -13; -51), run("sarsa"; 1; -17; -25), run("sarsa"; 2; -17; -26)]
    | .deep = [run("deep"; 1; -13; -30), run("deep"; 2; -13; -30)] | .lake = [run("q-learning"; 1; 0.7; 0.5)])jq");
  check(
      "q-learning", altered(data, kCommon),
      {{".", "sarsa pays less for exploring", "Q-learning pays"},
       {".", "After 6,000 steps of a deep Q-network: it has a return of -13.0 with both seeds.",
        "for longer"},
       {".deep[].result.runs[0].evaluations[0].mean = -200",
        "6,000 steps of a deep Q-network: it does not reach the goal within 200 steps, with any of "
        "2 seeds. `--set deep_steps=`",
        ""},
       // One seed that walks in a circle is not averaged away.
       {".table[3].result.runs[0].evaluations[0].mean = -200",
        "sarsa: it has a return of -17.0 with 1 of 2 seeds; with the other it does not reach the "
        "goal",
        "-108.5"},
       {".table |= reverse", "sarsa pays less for exploring", "Q-learning pays"},
       {".table[2:][].result.runs[0].recent_return -= 65", "Q-learning pays less", "sarsa pays"},
       {".table[2].result.runs[0].recent_return = -90", "no difference beyond the standard error",
        "pays less"},
       {".table |= [.[0], .[2]]", "one seed decides nothing", "pays less"}});
}

TEST(Claims, RlConcepts) {
  Json data = parsed(
      R"({"settings": {"env": "CartPole-v1", "seeds": [1, 2], "actors": 2, "errors": [2, 1], "alpha": 0.6, "beta": 0.4},
    "environments": [{"result": {"environments": []}}], "priorities": [{"result": {"rows": [
      {"transition": 1, "error": 2, "probability": 0.6, "rank_probability": 0.6, "weight": 0.5, "power": 1.5}, {"transition": 2, "error": 1, "probability": 0.4, "rank_probability": 0.4, "weight": 1, "power": 1}]}}]})");
  data = altered(data, R"jq(
    def run($value): {runs: [{steps: 1000, episodes: 0, recent_return: $value, samples_per_transition: 8, policy_lag: 3, priority_staleness: 4, steps_per_s: 1, updates_per_s: 1, samples_per_update: 1,
                              table: [range(88)], evaluations: [{step: 9, mean: $value, reward_per_step: $value}]}]};
    def both(f; $value): [{seed: 1} + f + {result: run($value)}, {seed: 2} + f + {result: run($value + 0.01)}];
    .cliff = both({}; -13) | .queue = both({learns: "a", agent: "differential", gamma: 1}; 2.7) + both({learns: "b", agent: "q-learning", gamma: 0.99}; 2.2) + both({learns: "c", agent: "q-learning", gamma: 0}; 2.1)
    | .lake = both({epsilon: "0 (only exploits)", kind: "constant", to: 0}; 0) + both({epsilon: "1 (only explores)", kind: "constant", to: 1}; 0.7)
    | .pole = .lake | .target = both({with: "target network and replay", capacity: 100000}; 100) + both({with: "no target network", capacity: 100000}; 10) + both({with: "a memory of one batch", capacity: 64}; 50)
    | .watched = [.target[] | . + {result: {runs: [{config: {gamma: 0.99}, metrics: [{step: 1, q_value: 5}, {step: 2, q_value: 20}]}]}}]
    | .apex = both({}; 90) | .gorila = both({}; 90))jq");
  check("rl-concepts", altered(data, kCommon),
        {{".",
          "alone, learning the average reward is better; compared with the discount it is better",
          ""},
         {".queue[0:2][].result.runs[0].evaluations[0].reward_per_step = 2.1",
          "alone, learning the average reward makes no difference", "average reward is better"},
         {".", "The best greedy policies were learned with epsilon 1 (only explores);", ""},
         {".", "without one 20.0.", "more than there can be"},
         {".watched[2].result.runs[0].metrics[1].q_value = 500", "more than there can be", ""},
         {".", "the target network is better", "the target network makes"},
         {".target[2:4][].result.runs[0].evaluations[0].mean = 100",
          "the target network makes no difference", "the target network is better"},
         {".target[4:6][].result.runs[0].evaluations[0].mean = 300", "the large memory is worse",
          "large memory is better"}});
}

TEST(Claims, DqnPieces) {
  Json data = parsed(
      R"({"settings": {"env": "CartPole-v1", "seeds": [1, 2], "steps": 8000}, "pieces": []})");
  data = altered(data, R"jq(
    def run(s; value): {seed: s, result: {runs: [{seconds: 1, recent_return: value, evaluations: [{step: 1, mean: value}]}]}};
    .random = [run(1; 20), run(2; 22)]
    | .pieces = (["all of Mnih et al. 2015", "no target network", "a memory of one batch", "priorities, proportional", "priorities by rank", "double Q-learning", "a dueling network",
                  "returns of 3 steps", "an epsilon that falls exponentially", "a constant epsilon, its last value", "a constant epsilon of 0.5"]
                 | map({piece: ., option: "--option"} + (run(1; 100), run(2; 104)))))jq");
  constexpr const char* kTarget =
      R"((.pieces[] | select(.piece == "no target network").result.runs[0].evaluations[0].mean) = )";
  constexpr const char* kByRank =
      R"((.pieces[] | select(.piece == "priorities by rank").result.runs[0].evaluations[0].mean) = )";
  const auto with = [](const char* change, const char* value) {
    return std::string(change) + value;
  };
  const std::string without = with(kTarget, "10");
  const std::string by_rank = with(kByRank, "150");
  const std::string below = ".pieces[].result.runs[0].evaluations[0].mean -= 300 | " +
                            std::string(".random[].result.runs[0].recent_return = -500 | ") +
                            with(kTarget, "-490");
  check("dqn-pieces", altered(data, kCommon),
        {{".", "Acting at random gives a return of 21 ± 1", "nothing was learned"},
         {".", "with no target network it is 102 ± 2 (no difference beyond the standard error)",
          "worse"},
         {without.c_str(), "with no target network it is 10 ± 0 (worse)", ""},
         // Priorities by rank have a verdict of their own.
         {by_rank.c_str(), "priorities by rank it is 150 ± 0 (better)", "proportional it is 150"},
         // Returns below zero: less is worse there too.
         {below.c_str(), "with no target network it is -490 ± 0 (worse)", "better"},
         // Every agent at the limit of its task, as the one that acts at random.
         {".pieces[].result.runs[0].evaluations[0].mean = -500 | "
          ".random[].result.runs[0].recent_return = -500",
          "nothing was learned yet, so nothing can be said of the pieces", "Target network: "},
         {R"(.settings.env = "Acrobot-v1")", "deep Q-network on Acrobot-v1", "CartPole"},
         {".settings.seeds = [1] | .random |= .[:1] | .pieces |= map(select(.seed == 1))",
          "One seed decides nothing", "Target network: "}});
}

TEST(Claims, DistributedRl) {
  Json data = parsed(
      R"({"settings": {"env": "CartPole-v1", "seeds": [1, 2]}, "alone": [], "parts": [{"result": {"act_one_steps_per_s": 1000, "updates_per_s": 10, "batch": 100}}]})");
  data = altered(
      data,
      R"(def run(n; s): {n: n, seed: (1, 2), result: {runs: [{seconds: 1, steps: 1000, learner_seconds: {updates: 1, parcels: 0.5, pulls: 0.5}, steps_per_s: s, updates_per_s: 10, samples_per_update: 10, samples_per_transition: 1, policy_lag: 1, priority_staleness: 1, evaluations: [{mean: 5}]}]}};
      .apex = [run(1; 1000), run(2; 1800)] | .gorila = [run(1; 1000), run(2; 700)])");
  check("distributed-rl", altered(data, kCommon),
        {{".", "Ape-X with 2 actors makes 1.80K ± 0 steps/s, with 1 1.00K ± 0: 1.80 times as many",
          ""},
         {".apex |= reverse", "with 1 1.00K ± 0: 1.80 times as many", ""},
         {".",
          "GORILA with 2 learners makes 700 ± 0 steps/s, with 1 1.00K ± 0: 0.70 times as many, so",
          ""},
         {".gorila[2].result.runs[0].steps_per_s = 2000",
          "with 1 1.00K ± 0: no difference beyond the standard error", "cost speed"},
         {".apex |= map(select(.n == 2))", "GORILA with 2 learners", "Ape-X with 2"},
         // Of the rates in the table, which a figure that leaves out the warm-up is not.
         {".", "it draws 0.1 samples for each transition", "1.0 samples"},
         {".", "the bound from 1 actor on", "1 actors"}});
}

TEST(Claims, MlClouds) {
  Json data = parsed(
      R"({"settings": {"clouds": "sagemaker,ibm"}, "services": [{"result": {"rows": [{"section": "a", "topic": "b", "cells": [{"platform": "ibm", "text": "x"}]}]}}], "written": [{"result": {}}],
    "compared": [{"result": {"differences": ["image: not ibm"], "listings": [{"title": "sagemaker.json", "lines": [{"text": "{}"}]}, {"title": "ibm.json", "lines": [{"text": "{}"}]}], "rows": [
      {"field": "name", "cells": [{"platform": "sagemaker", "path": "Name", "value": "n"}, {"platform": "ibm", "path": "name", "value": "n"}]},
      {"field": "image", "cells": [{"platform": "sagemaker", "path": "Image", "value": "i"}, {"platform": "ibm", "path": "", "value": "has none"}]}]}}],
    "planned": [{"result": {"notes": ["of their dates"], "offers": [
      {"platform": "vertex", "machine": "n1", "nodes": 2, "usd_per_hour": 9, "hours": 0.5, "time": "predicted", "total_usd": 4.5, "complete": true, "date": "2026-08-21", "note": ""},
      {"platform": "sagemaker", "machine": "p3", "nodes": 2, "usd_per_hour": 3, "hours": 0.5, "time": "predicted", "total_usd": 1.5, "complete": true, "date": "2025-06-04", "note": ""},
      {"platform": "ibm", "machine": "gx", "nodes": 2, "usd_per_hour": 1, "hours": 0.5, "time": "predicted", "total_usd": 0.5, "complete": false, "date": "2025-01-01", "note": ""}]}}]})");
  data = altered(data, ".everywhere = .compared");
  check(
      "ml-clouds", altered(data, kCommon),
      {{".", "One training job on 2 cloud services", "four"},
       {".", "Amazon SageMaker and IBM watsonx.ai all have 1: name. IBM watsonx.ai lacks 1; what",
        ""},
       {R"(.settings.clouds = "sagemaker,vertex,azureml")", "on 3 cloud services", "four"},
       {R"(.compared[0].result.rows[1].cells[1].path = "img")", "all have 2: name and image.",
        "lacks"},
       {R"(.compared[0].result.rows[0].cells[0].path = "")", "share none.", "all have"},
       {R"(.compared[0].result.rows[0].field = "machine.disk_gib")",
        "all have 1: machine disk in GiB.", "disk_gib"},
       // What goes into the command line is no field of its own.
       {R"(.compared[0].result.rows += [{field: "command", cells: [{platform: "sagemaker", path: "C", value: ""}, {platform: "ibm", path: "c", value: ""}]}] | .compared[0].result.rows[1].cells[1].path = "c")",
        "all have 2: name and command. IBM watsonx.ai lacks 1;", "and image"},
       {".", "(predicted), price of", "spot price"},
       {".planned[0].result.spot = true", "(predicted), spot price of 2025-06-04", ", price of"},
       {".", "is p3 (Amazon SageMaker): $1.50 for 30 min 0 s", "n1 (Google"},
       // What services cost that are not asked for is not said.
       {".planned[0].result.offers[0].total_usd = 0.7", "is p3 (Amazon SageMaker): $1.50", "n1"},
       {R"(.settings.clouds += ",vertex" | .planned[0].result.offers[0].total_usd = 0.7)",
        "is n1 (Google Vertex AI): $0.70", "p3 (Ama"},
       {R"(.settings.clouds += ",vertex" | .planned[0].result.offers[0].total_usd = 1.5)",
        "n1 (Google Vertex AI) or p3 (Amazon SageMaker): $1.50", ""},
       {".planned[0].result.offers[2].complete = true", "is gx (IBM watsonx.ai): $0.50",
        "of its accelerators"},
       {".planned[0].result.offers = []", "No price of a whole machine", "cheapest"},
       {".", "1 more offer has a price", "offers have"},
       {R"(.planned[0].result.offers[].time = "given")", "(given), price", "predicted"}});
}

TEST(Claims, Detection) {
  Json data = parsed(
      R"({"settings": {"network": "ssd", "weights": "none", "epochs": 30, "tuning": 3, "threshold": 0.3}, "seen": [{"result": {"source": "shapes"}}], "new": [{"result": {"boxes": {"classes": [{"name": "ring", "boxes": 9, "pictures": 5, "median_width": 30, "median_height": 30}]}}}],
    "covered": [{"result": {"ssd": {"recall": 0.9}, "fitted": {"recall": 0.95}}}],
    "tested": [{"result": {"map": 0.5, "classes": [{"name": "disc", "ap": 0.6, "ap_every_point": 0.6, "ap_coco": 0.3, "truths": 9, "true_positives": 6, "false_positives": 2}, {"name": "square", "ap": null}]}}],
    "before": [{"result": {"map": 0, "classes_matched": "by name", "unknown_classes": ["ring"], "classes": [{"name": "ring", "ap": 0}]}}],
    "after": [{"result": {"map": 0.7, "classes": [{"name": "ring", "ap": 0.7, "truths": 4}]}}],
    "tuned": [{"result": {"epochs": [{"epoch": 1, "map": 0.55}]}}], "frozen": [{"result": {"epochs": [{"epoch": 1, "map": 0.45}]}}],
    "exported": [{"result": {"nodes": 90, "bytes": 4000}}], "checked": [{"result": {"ok": true, "onnx_checker_asked": true, "ir_version": 8, "opset": 17, "nodes": 90, "initializers": 9, "findings": []}}],
    "compared": [{"result": {"expected": {"source": "reference", "outputs": [{"name": "scores", "elements": 9, "largest": 0.000002}]}}}],
    "found": [{"result": {"pictures": ["a/class0-1.png"], "detections": [{"picture": "a/class0-1.png", "label": "ring", "score": 0.5, "box": [1, 2, 3, 4]}]}}]})");
  const PictureFolder folder({"boxes.png", "found.png"});
  data = folder.added(folder.added(data, "shown"), "found");
  check(
      "detection", altered(data, kCommon),
      {{".", "0.500 (11 points, overlap 0.5), after 30 epochs of training here", ""},
       {R"(.settings.weights = "ssd.pth")", "with the weights of ssd.pth", "training here"},
       {".", "disc 0.600, square n/a", "null"},
       {".tested[0].result.classes[0].ap = 0.05", "No class reaches 0.1", ""},
       {".settings.epochs = 1", "after 1 epoch of", "1 epochs"},
       {".", "priors overlap 90.0 % of the objects", ""},
       {".covered = []", "on held-out images", "priors overlap"},
       {R"(.seen[0].result.source = "VOC 2007, test split")", "on VOC 2007 ", "shapes"},
       {".", "does not know ring, so all their objects count as missed", "class numbers"},
       {".", "After 3 epochs it is 0.700 (ring 0.700), and 0.450 if the trunk is frozen", ""},
       {R"(.before[0].result |= (.unknown_classes = [] | .classes_matched = "by number"))",
        "compares class numbers and means little", "does not know ring"},
       {".", "outputs differ by 2.00e-6 at most: they agree within 1e-5", "not within"},
       {".compared[0].result.expected.outputs[0].largest = 0.01", "but not within 1e-5", ""},
       {".", "class0-1.png: ring 0.500.", "nothing"},
       {".found[0].result.detections = []", "class0-1.png: nothing", ""},
       {".", "The checker of the ONNX library and our own accept", "fault"},
       {".checked[0].result.onnx_checker_asked = false", "Our own checker accepts",
        "ONNX library and"},
       {".checked[0].result |= (.ok = false | .findings = [1])", "found 1 fault.", "accept the"}});
}

TEST(Claims, Serving) {
  Json data = parsed(
      R"({"settings": {"networks": ["lenet5"]}, "load": [{"network": "lenet5", "batch": 1, "result": {"rows": [{"requests_per_s": 100, "p95_ms": 1}]}}, {"network": "lenet5", "batch": 8, "result": {"rows": [{"requests_per_s": 200, "p95_ms": 1}]}}], "chosen": [{"network": "lenet5", "result": {"rows": [{"requests_per_s": 300, "p95_ms": 1, "mean_batch": 1.5}, {"requests_per_s": 30, "p95_ms": 1, "mean_batch": 1}]}}]})");
  check("serving", altered(data, kCommon),
        {{".", "lenet5 2.00 times", "cost more than they save"},
         {".load |= reverse", "lenet5 2.00 times", ""},
         {".", "reaches 1.50 times the better of the two for lenet5 (mean batch 1.5)", ""},
         {".chosen[0].result.rows[0].requests_per_s = 20",
          "reaches 0.15 times the better of the two for lenet5 (mean batch 1.0)", ""},
         {".load[1].result.rows[0].requests_per_s = 50",
          "for lenet5 they cost more than they save here", "2.00"},
         {".load_average = 3 | .load[1].result.rows[0].requests_per_s = 50",
          "nothing is concluded from them", "cost more"}});
}

}  // namespace
}  // namespace trainyard::lab::claims

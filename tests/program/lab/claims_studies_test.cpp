// The claims of labs that train, quantize, schedule or serve.
#include "claims.h"

namespace trainyard::lab::claims {
namespace {

TEST(Claims, BatchAugmentation) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "batch": 64, "copies": [1, 4], "epochs": 4, "target": 0.8, "paper": "resnet44-cifar"}, "predicted": [],
    "plain": [{"result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.80, "seconds": 5, "train_s": 4, "wait_s": 0, "images_per_s": 9}]}}],
    "trained": [
      {"m": 1, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.7, "seconds": 5, "train_s": 4, "wait_s": 0, "images_per_s": 9}, {"epoch": 2, "top1": 0.81, "seconds": 10, "train_s": 4, "wait_s": 0, "images_per_s": 9}]}},
      {"m": 4, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.85, "seconds": 20, "train_s": 4, "wait_s": 0, "images_per_s": 9}]}}]})");
  const PictureFolder folder({"copies.png"});
  data = folder.added(data, "shown");
  check("batch-augmentation", altered(data, kCommon),
        {{".", "with it and 1 copy; with cutout it is least, 15.00 %, with 4 copies", "1 copies"},
         {".trained |= reverse",
          "with it and 1 copy; with cutout it is least, 15.00 %, with 4 copies", ""},
         {".trained[1].result.epochs[0].top1 = 0.81", "with 1 copy and 4 copies", ""},
         {".", "Cutout alone helps", "costs accuracy"},
         {".plain[0].result.epochs[0].top1 = 0.9", "Cutout alone costs accuracy", "alone helps"},
         // Less than all with cutout, so none of these is the least.
         {".plain[0].result.epochs[0].top1 = 0.9", "is 10.00 % without cutout", "and least"},
         {".", "4 copies need fewer epochs than 1, and more time", ""},
         {".trained[1].result.epochs[0].seconds = 3", "than 1, and less time", "more time"},
         {".trained[1].result.epochs[0].seconds = 10", "than 1, and as much time", "more time"},
         {".settings.target = 0.84", "cannot be compared", "fewer epochs"},
         {".trained |= .[:1]", "with 1 copy", "need"}});
}

TEST(Claims, TimeToAccuracy) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "target": 0.8}, "seeds": [{"result": {"reached": 2, "censored": 0, "mean_s": 9, "mean_epochs": 2, "cv": 0.1, "cv_low": 0.05, "cv_high": null, "epochs_cv": 0, "runs": [
      {"seed": 1, "reached": true, "seconds": 9, "epochs": 2, "best_top1": 0.8}, {"seed": 2, "reached": true, "seconds": 9, "epochs": 2, "best_top1": 0.8}]}}],
    "tried": [{"what": "as in the runs above", "result": {"epochs": [{"images_per_s": 100}]}}, {"what": "batch 512", "result": {"epochs": [{"images_per_s": 150}]}}],
    "busy": [{"result": {"utilization": [{"process": 0.9, "machine": 0.95}]}}, {"result": {"utilization": [{"process": 0.9, "machine": 0.95}]}}]})");
  check("time-to-accuracy", altered(data, kCommon),
        {{".", "Fastest: batch 512, 150 images/s against 100 with the settings", "says little"},
         {".tried[1].result.epochs[0].images_per_s = 90", "Fastest: as in the runs above, 100",
          "against"},
         {".tried[1].result.epochs[0].images_per_s = 100", "Fastest: as in the runs above, 100",
          "batch 512,"},
         {".", "the time varies more than the epochs do", ""},
         {".", "(95 % interval from 5.0 %, with no upper end)", "open"},
         {".seeds[0].result.cv_high = 0.3", "(95 % interval 5.0 % to 30 %)", "no upper end"},
         {".seeds[0].result.epochs_cv = 0.1", "of the epochs 10.0 %. ", "varies more than"},
         {".busy[0].result.utilization[0].process = 0.1", "so this says little", ""},
         {".seeds[0].result |= (.reached = 0 | .censored = 2 | .cv = null | .mean_s = null)",
          "0 of 2 runs reach 80 %. Too few", "on average"}});
}

TEST(Claims, SemiSupervised) {
  Json data = parsed(
      R"({"settings": {"student": "lenet5", "data": "fashion-mnist"}, "hard": [{"result": {"labeled": 100, "supervised": {"top1": 0.7}, "teacher": {"top1": 0.7}, "best": {"k": 200, "p": 1, "top1": 0.75},
      "cells": [{"k": 50, "p": 1, "top1": 0.71, "right": 0.99}, {"k": 200, "p": 1, "top1": 0.75, "right": 0.9}, {"k": 800, "p": 1, "top1": 0.72, "right": 0.7}]}}]})");
  const PictureFolder folder({"study/chosen.png"});
  data = folder.added(data, "hard");
  check("semi-supervised", altered(data, kCommon),
        {{".", "highest in between, at K = 200", "gain is largest"},
         {".hard[0].result.cells |= reverse", "highest in between, at K = 200", ""},
         {".hard[0].result.cells[0].top1 = 0.76", "highest at the smallest K", "in between"},
         {".hard[0].result.cells[2].top1 = 0.76", "highest at the largest K", "in between"},
         {".hard[0].result.cells[].top1 = 0.75", "K makes less than half a point of difference",
          "highest"},
         {".hard[0].result.best.top1 = 0.7", "gain less than half a point", "points."}});
}

TEST(Claims, NoisyLabels) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "clean": 500}, "noisy": [{"share": 0, "result": {"epochs": [{"top1": 0.9, "train_loss": 1}]}}, {"share": 0.5, "result": {"epochs": [{"top1": 0.7, "train_loss": 2}]}}],
    "transferred": [{"share": 0, "result": {"epochs": [{"top1": 0.91}]}}, {"share": 0.5, "result": {"epochs": [{"top1": 0.8}]}}], "alone": [{"result": {"epochs": [{"top1": 0.75}]}}],
    "tail": [{"exponent": 1, "way": "natural", "result": {"epochs": [{"top1": 0.6}]}}, {"exponent": 1, "way": "sqrt", "result": {"epochs": [{"top1": 0.65}]}}, {"exponent": 1, "way": "uniform", "result": {"epochs": [{"top1": 0.62}]}}]})");
  check(
      "noisy-labels", altered(data, kCommon),
      {{".", "of which 50 % are wrong are worth 5.0 points", "gain less"},
       {".noisy |= reverse | .transferred |= reverse",
        "With 0 % wrong labels the network gets 90.0 %", "of which 0 %"},
       {".alone[0].result.epochs[0].top1 = 0.85", "gain less than half a point as pretraining",
        "are worth"},
       {".", "so sampling by the root is best", ""},
       {".tail[2].result.epochs[0].top1 = 0.7", "so sampling uniformly is best", "by the root is"},
       {".tail[2].result.epochs[0].top1 = 0.65",
        "by the root or uniformly is best, within half a point", ""},
       {".tail[2].result.epochs[0].top1 = 0.647", "by the root or uniformly is best, within", ""},
       {".", "has 80.0 % (before: 70.0 %)", ""},
       {".tail[].result.epochs[0].top1 = 0.6", "resampling gains less than half a point",
        "is best"},
       {".tail |= .[1:]", "Exponent 1: by the root 65.0 %, uniformly 62.0 %", "is best"}});
}

TEST(Claims, TransferLearning) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "source": "a", "target": "b"}, "all": [{"result": {"runs": [{"mode": "finetune", "rate": 0.1, "best_top1": 0.9, "epoch_s": 2, "epochs": []}]}}],
    "head": [{"result": {"runs": [{"mode": "features", "rate": 1, "best_top1": 0.8, "epoch_s": 1, "epochs": []}]}}]})");
  check(
      "transfer-learning", altered(data, kCommon),
      {{".", "The best is training all layers at rate 0.1: 90.00 %", ""},
       {".head[0].result.runs[0].best_top1 = 0.95",
        "The best is training a new last layer at rate 1", ""},
       {".head[0].result.runs[0].best_top1 = 0.9",
        "The best is training all layers at rate 0.1 and training a new last layer at rate 1", ""},
       {".", "does, 2.0 times as fast (the fastest run of each);", "slower here"},
       {R"(.settings.target = "synthetic:1x28x28,size=9")",
        "lenet5 learns synthetic data, starting", "1x28x28"},
       // A first run that was disturbed does not count.
       {".all[0].result.runs |= [(.[0] | .epoch_s = 9), .[0]]", "does, 2.0 times as fast", ""},
       {".head[0].result.runs[0].epoch_s = 0.0005", "does, 4,000 times as fast", ""},
       {".head[0].result.runs += [.head[0].result.runs[0] | .epoch_s = 5]",
        "not part of it, but of the run that computed them, 5.00 s for an epoch.", ""},
       {".", "are not part of it.", "computed them"},
       {R"(.all[0].result.runs += [.all[0].result.runs[0] | .mode = "partial:1" | .best_top1 = 0.95])",
        "The best is training the last two layers at rate 0.1", "partial:1"},
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
  check(
      "quantization", altered(data, kCommon),
      {{".",
        "89.00 % (no difference beyond the standard error) and what scores are above their noise "
        "from 12.90 to 12.46 dB",
        "next to nothing"},
       {".studied[0].result.steps[3].top1 = 0.8", "to 80.00 % (worse)", "to 89.00 %"},
       {".", "of the weights of c 1.00 %.", "No weight"},
       {".studied[0].result.layers[0].weights.beyond_3_sigma = 0", "No weight lies beyond them.",
        "of the weights of"},
       {".", "8 bits for weights and activations are the fewest", "None of the bit widths"},
       {".studied[0].result.bits[].top1 = 0.1", "None of the bit widths", "the fewest"},
       {".", "clamping adds more noise", "finer steps take away more"},
       // Accuracy and noise may say different things.
       {".clipped[0].result.steps[0].top1 = 0.95",
        "95.00 % against 90.00 % (better), and scores are 25.0 dB above their noise against 30.0. "
        "At 8 bits clamping adds more",
        "finer steps take away more"},
       {".clipped[0].result.steps[0].output_sqnr_db = 35", "finer steps take away more",
        "clamping adds"},
       {".", "The file shrinks from", "grows"},
       {".written[0].result.int8 = {bytes: 5000, median_ms: 0.4}", "The file grows from",
        "which is faster"},
       {".studied[0].result.layers[0].input.min = -1", "All have both signs", "nowhere"}});
}

TEST(Claims, VectorAdd) {
  Json data = parsed(
      R"({"settings": {"charted": ["k80"]}, "there": [{"result": {"devices": []}}], "streamed": [{"result": {"rows": []}}], "timed": [{"result": {"limit_gbps": 20, "rows": [
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
         {".timed[0].result.rows[4].total_ms = 2", "k80 would still beat", "none of them"},
         {".", "copies take less time than the kernel", ""},
         {".timed[0].result.rows[2].to_device_ms = 9", "copies take 2.0 times as long", ""}});
}

TEST(Claims, OptimusLoss) {
  Json data = parsed(
      R"({"settings": {"depth": 50, "devices": ["k80"]}, "speeds": [{"network": "resnet20-cifar", "device": "k80", "result": {"rows": [{"epoch_s": 1, "train_s": 100}]}}],
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
  Json data = parsed(
      R"({"settings": {"deep_steps": 6000}, "table": [{"agent": "q-learning", "seed": 1, "result": {"runs": [{"recent_return": -50, "evaluations": [{"step": 1, "mean": -13}]}]}}, {"agent": "sarsa", "seed": 1, "result": {"runs": [{"recent_return": -25, "evaluations": [{"step": 1, "mean": -17}]}]}}],
    "deep": [{"seed": 1, "result": {"runs": [{"evaluations": [{"step": 1, "mean": -13}]}]}}], "lake": [{"seed": 1, "result": {"runs": [{"evaluations": [{"step": 1, "mean": 0.7}]}]}}]})");
  check("q-learning", altered(data, kCommon),
        {{".", "sarsa pays less for exploring", "Q-learning pays"},
         {".", "after a deep Q-network -13.0.", "too few"},
         {".deep[0].result.runs[0].evaluations[0].mean = -200",
          "6000 steps of training were too few", ""},
         {".table |= reverse", "sarsa pays less for exploring", "Q-learning pays"},
         {".table[1].result.runs[0].recent_return = -90", "Q-learning pays less", "sarsa pays"},
         {".table[1].result.runs[0].recent_return = -50", "no difference beyond the noise",
          "pays less"}});
}

TEST(Claims, DqnPieces) {
  Json data = parsed(R"({"settings": {"env": "CartPole-v1", "seeds": [1]}, "pieces": []})");
  data = altered(
      data,
      R"(.pieces = (["--target-every 100", "--target-every 0", "--capacity 64 --start 64", "--replay proportional", "--replay rank", "--exploration constant"]
         | map({piece: ., seed: 1, result: {runs: [{seconds: 1, evaluations: [{step: 1, mean: 100}]}]}})))");
  check("dqn-pieces", altered(data, kCommon),
        {{".", "Doing without the target network makes no difference", "is worse"},
         {".", "priorities make no difference", "priorities makes"},
         {".pieces[3].result.runs[0].evaluations[0].mean = 50", "priorities are worse", "is worse"},
         {".pieces[1].result.runs[0].evaluations[0].mean = 50",
          "Doing without the target network is worse", ""},
         {".pieces[2].result.runs[0].evaluations[0].mean = 200",
          "a replay memory of one batch is better", "is worse"},
         // Returns below zero: less is worse there too.
         {".pieces[].result.runs[0].evaluations[0].mean = -100 | "
          ".pieces[1].result.runs[0].evaluations[0].mean = -200",
          "Doing without the target network is worse", "is better"},
         {R"(.settings |= {env: "Acrobot-v1", seeds: [1]})", "deep Q-network on Acrobot-v1",
          "CartPole"},
         {".settings.seeds = [1]", "So few seeds decide nothing", ""},
         {".settings.seeds = [1, 2, 3, 4, 5]", "counts as no difference", "So few seeds"}});
}

TEST(Claims, DistributedRl) {
  Json data = parsed(
      R"({"settings": {"env": "CartPole-v1"}, "alone": [], "parts": [{"result": {"act_one_steps_per_s": 1000, "updates_per_s": 10, "batch": 100}}]})");
  data = altered(
      data,
      R"(def run(n; s): {n: n, result: {runs: [{steps: 1000, learner_seconds: {updates: 1, parcels: 0.5, pulls: 0.5}, steps_per_s: s, updates_per_s: 10, samples_per_update: 10, samples_per_transition: 1, evaluations: [{mean: 5}]}]}};
      .apex = [run(1; 1000), run(2; 1800)] | .gorila = [run(1; 1000), run(2; 700)])");
  check(
      "distributed-rl", altered(data, kCommon),
      {{".", "Ape-X with 2 actors acts 1.80 times as fast as with 1", ""},
       {".apex |= reverse", "Ape-X with 2 actors acts 1.80 times as fast as with 1", ""},
       {".", "GORILA with 2 learners acts 0.70 times as fast as with 1, so more of them cost", ""},
       {".gorila[1].result.runs[0].steps_per_s = 1000",
        "GORILA with 2 learners acts 1.00 times as fast as with 1, no difference", "cost speed"},
       // Of the rates in the table, which a figure that leaves out the warm-up is not.
       {".", "at 0.1 samples per transition", "at 1.0 samples"},
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
      R"({"settings": {"network": "ssd", "epochs": 30, "tuning": 3}, "seen": [{"result": {"source": "shapes", "boxes": {"classes": [{"name": "disc", "boxes": 9, "pictures": 5, "median_width": 30, "median_height": 30}]}}}],
    "covered": [{"result": {"ssd": {"recall": 0.9}, "fitted": {"recall": 0.95}}}],
    "trained": [{"result": {"epochs": [{"epoch": 1, "map": 0.3}, {"epoch": 2, "map": 0.5}]}}],
    "tested": [{"result": {"map": 0.5, "classes": [{"name": "disc", "ap": 0.6, "ap_every_point": 0.6, "ap_coco": 0.3, "truths": 9, "true_positives": 6, "false_positives": 2}, {"name": "ring", "ap": null}]}}],
    "before": [{"result": {"map": 0.4}}],
    "tuned": [{"kept": "everything learns", "result": {"epochs": [{"epoch": 1, "map": 0.55}]}}, {"kept": "the trunk is frozen", "result": {"epochs": [{"epoch": 1, "map": 0.45}]}}],
    "exported": [{"result": {"nodes": 90, "bytes": 4000}}], "checked": [{"result": {"ok": true, "onnx_checker_asked": true}}],
    "found": [{"result": {"detections": [{"label": "disc", "score": 0.5, "box": [1, 2, 3, 4]}]}}], "found_by_file": [{"result": {"detections": [{"label": "disc", "score": 0.500001, "box": [1, 2, 3.25, 4]}]}}]})");
  const PictureFolder folder({"boxes.png", "truth.png"});
  data = folder.added(folder.added(data, "shown"), "drawn");
  check(
      "detection", altered(data, kCommon),
      {{".", "After 30 epochs the mean average precision on held-out pictures is 0.500", ""},
       {".", "disc 0.600, ring n/a", "null"},
       {".", "Fine-tuning gains 15.0 points at best", "No class reaches"},
       {".tuned |= reverse", "Fine-tuning gains 15.0 points at best", ""},
       {".tuned |= .[1:]", "Fine-tuning gains 5.0 points", "everything learns"},
       {".before[0].result.map = 0.6", "Fine-tuning loses at least 5.0 points here", "gains"},
       {".before[0].result.map = 0.55", "no difference beyond a point", "gains"},
       {".tested[0].result.classes[0].ap = 0.05", "No class reaches 0.1", ""},
       {".settings.epochs = 1", "After 1 epoch the", "1 epochs"},
       {".", "priors overlap 90.0 % of the objects", ""},
       {".covered = []", "on held-out pictures", "priors overlap"},
       {R"(.seen[0].result.source = "VOC 2007, test split")", "on VOC 2007 ", "shapes"},
       {".", "after 3 epochs 0.550 if everything learns and 0.450 if the trunk is frozen", ""},
       {".", "find the same 1 box with a score", "not the same"},
       {".", "at most 1.0 millionths, corners by at most 0.2500 pixels", ""},
       {R"(.found[0].result.detections[0].label = "ring")", "they are not the same", "same 1 box"},
       {".found_by_file[0].result.detections = []", "file 0, and they are not the same", ""},
       {".found[0].result.detections = [] | .found_by_file[0].result.detections = []",
        "so nothing is compared", "the same"},
       {".", "The checker of ONNX and our own accept", "found faults"},
       {".checked[0].result.onnx_checker_asked = false", "Our own checker accepts", "of ONNX and"},
       {".checked[0].result.ok = false", "found faults", "accept"}});
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
          "for lenet5 they cost more than they save here", "2.00"}});
}

}  // namespace
}  // namespace trainyard::lab::claims

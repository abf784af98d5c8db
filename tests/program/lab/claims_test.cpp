// Every sentence of a lab's report follows from its data: reports are made of altered data (other
// order, other device or network, ties), and what they say must turn with it.
#include "claims.h"

#include <set>

namespace trainyard::lab::claims {
namespace {

TEST(Claims, OfEveryLabAreTested) {
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  std::set<std::string> tests;
  for (int suite = 0; suite < all.total_test_suite_count(); ++suite) {
    const ::testing::TestSuite& one = *all.GetTestSuite(suite);
    if (one.name() != std::string("Claims")) continue;
    for (int i = 0; i < one.total_test_count(); ++i) tests.insert(one.GetTestInfo(i)->name());
  }
  for (const std::string& lab : lab_names()) {
    EXPECT_TRUE(tests.contains(test_name(lab))) << lab << " has no altered data";
  }
}

TEST(Claims, HaveAFormulaInEveryLab) {
  for (const std::string& name : lab_names()) {
    size_t formulas = 0;
    const Lab lab = load_lab(name);
    for (const YamlView& block : lab.file->root().at("report").items()) {
      const auto formula = block.find("formula");
      if (!formula) continue;
      ++formulas;
      const std::string source =
          fill_in(formula->text(), name, [](std::string_view) { return Json(1); });
      EXPECT_FALSE(report::Formula(join(split(source, '\n'), " ")).latex().empty()) << name;
    }
    EXPECT_GT(formulas, 0U) << name;
  }
}

Json scaled_data(const char* settings, const char* more) {
  Json data = parsed(R"({"scaled": [{"result": {"weak": [
      {"workers": 1, "batch": 128, "global_batch": 128, "measured": true, "step_s": 0.1, "error_s": 0.0005, "images_per_s": 1280, "epoch_s": 40, "speedup": 1, "efficiency": 1, "train_s": 400},
      {"workers": 2, "batch": 128, "global_batch": 256, "measured": true, "step_s": 0.11, "error_s": 0.0005, "images_per_s": 2327, "epoch_s": 22, "speedup": 1.82, "efficiency": 0.91, "train_s": 220}],
    "strong": [
      {"workers": 1, "batch": 128, "global_batch": 128, "measured": true, "step_s": 0.1, "error_s": 0.0005, "images_per_s": 1280, "epoch_s": 40, "speedup": 1, "efficiency": 1, "train_s": 400},
      {"workers": 2, "batch": 64, "global_batch": 128, "measured": false, "step_s": 0.07, "error_s": 0.0005, "images_per_s": 1828, "epoch_s": 28, "speedup": 1.43, "efficiency": 0.71, "train_s": 280}],
    "points": [
      {"workers": 1, "batch": 128, "step_s": 0.1, "error_s": 0.0005, "data_s": 0.001, "compute_s": 0.098, "communication_s": 0, "exposed_s": 0, "gradient_bytes": 0},
      {"workers": 2, "batch": 128, "step_s": 0.11, "error_s": 0.0005, "data_s": 0.001, "compute_s": 0.1, "communication_s": 0.03, "exposed_s": 0.008, "gradient_bytes": 250000}],
    "images": 12800, "losses": [], "all_reduce": null}}]})");
  data["settings"] = parsed(settings);
  const Json extra = parsed(more);
  for (const auto& [key, value] : extra.members()) data[key] = value;
  return altered(data, kCommon);
}

constexpr const char* kPredicted =
    R"([{"scaling": "weak", "device": "k80", "batch": 128, "result": {"stack": "tensorflow-1.1", "notes": [], "rows": [
    {"workers": 1, "batch_per_worker": 256, "images_per_s": 100, "speedup": 1, "efficiency": 1, "train_s": 100, "cost_usd": 1, "fits": true, "exposed_comm_ms": 0, "step_ms": 10, "limit": "arithmetic", "comm_ms": 0},
    {"workers": 8, "batch_per_worker": 256, "images_per_s": 700, "speedup": 7, "efficiency": 0.87, "train_s": 15, "cost_usd": 1.2, "fits": true, "exposed_comm_ms": 1, "step_ms": 11, "limit": "arithmetic", "comm_ms": 2},
    {"workers": 16, "batch_per_worker": 256, "images_per_s": 1200, "speedup": 12, "efficiency": 0.75, "train_s": 9, "cost_usd": 1.4, "fits": true, "exposed_comm_ms": 2, "step_ms": 12, "limit": "arithmetic", "comm_ms": 3}]}},
  {"scaling": "strong", "device": "v100", "batch": 128, "result": {"stack": "tensorflow-1.1", "notes": [], "rows": [
    {"workers": 1, "batch_per_worker": 256, "images_per_s": 100, "speedup": 1, "efficiency": 1, "train_s": 100, "cost_usd": 1, "fits": true, "exposed_comm_ms": 0, "step_ms": 10, "limit": "arithmetic", "comm_ms": 0},
    {"workers": 8, "batch_per_worker": 32, "images_per_s": 300, "speedup": 3, "efficiency": 0.37, "train_s": 33, "cost_usd": 2.6, "fits": true, "exposed_comm_ms": 5, "step_ms": 11, "limit": "arithmetic", "comm_ms": 5},
    {"workers": 16, "batch_per_worker": 16, "images_per_s": 50, "speedup": 0.5, "efficiency": 0.03, "train_s": 200, "cost_usd": 32, "fits": true, "exposed_comm_ms": 50, "step_ms": 60, "limit": "communication", "comm_ms": 50}]}}])";

TEST(Claims, StrongWeak) {
  const Json data = scaled_data(
      R"({"predicted": "resnet50", "device": "k80", "image": 32, "learners": [1, 8, 16], "network": "lenet5", "data": "fashion-mnist", "batch": 128, "shares": [64, 128], "workers": [1, 2], "steps": 20, "epochs": 10, "price": ""})",
      (std::string(R"({"predicted": )") + kPredicted + R"(, "comm": [
        {"algorithm": "ring", "result": {"rows": [{"workers": 8, "comm_ms": 4}, {"workers": 16, "comm_ms": 9}]}},
        {"algorithm": "auto", "result": {"rows": [{"workers": 8, "comm_ms": 4}, {"workers": 16, "comm_ms": 9}]}}],
      "nodes": [{"collective": "NCCL", "result": {"notes": [], "rows": [{"workers": 16, "images_per_s": 50, "comm_ms": 4}]}}, {"collective": "RING", "result": {"notes": [], "rows": [{"workers": 16, "images_per_s": 20, "comm_ms": 9}]}}]})")
          .c_str());
  check(
      "strong-weak", data,
      {{".", "16 learners are slower than", "Weak evidence"},
       {".", "`auto` is the fastest, or equal to it, for all 2", ""},
       {".comm[1].result.rows[1].comm_ms = 20", "fastest in 1 of 2 cases", "for all 2"},
       {".", "50 and 20 images/s. AUTO leaves the choice to TensorFlow: it can be as fast as NCCL",
        ""},
       {".nodes[0].result.rows[0].images_per_s = 5", "it can be as fast as RING", "as NCCL,"},
       {".comm[].result.rows |= .[:1]", "or equal to it, for 8 learners. It", "for all 1"},
       // What does not fit is no baseline, and hides nothing of the other kind of scaling.
       {".predicted[0].result.rows[].fits = false",
        "fewer than two configurations fit into its memory with weak scaling, and 16 learners",
        "nothing to compare"},
       {".predicted[1].result.rows[0].fits = false", "8 learners at 1.00 times the speed of 8",
        "times the speed of 1."},
       {".predicted[1].result.rows[2].images_per_s = 900",
        "16 learners are 9.00 times as fast as 1 with strong", "slower than"},
       {".predicted[1].result.rows[2].cost_usd = 0.5", "(strong) on 16", "paid all the same"},
       {".predicted[].result.rows[].fits = false", "Fewer than two configurations fit",
        "times as fast"},
       {R"(.settings.device = "p100" | .settings.predicted = "vgg16")", "Predicted for p100",
        "k80"},
       {".quick = true", "run with `--quick`", ""},
       {".load_average = 3", "the machine was busy", ""},
       {".machine.threads = 1", "take turns", "one of its own"},
       {".", "no price is put on them. ", "was disturbed"},
       {".scaled[0].result.strong[1].speedup = 3.4", "the run with one worker was disturbed", ""},
       {".", "trainyard lab run allreduce-variants", "struck out"},
       {".predicted[0].result.rows[0].fits = false", "Rows that are struck out need more", ""}});
}

constexpr const char* kTwoBatches =
    R"(.scaled[0].result |= (.weak += [.weak[] | .batch = 512 | if .workers > 1 then .speedup = 0.5 else . end]
       | .strong += [.strong[] | .global_batch = 512 | if .workers > 1 then .speedup = 0.8 else . end]))";
constexpr const char* kLargest =
    R"(.largest = [{result: {largest_batch: {limit_bytes: 67108864, batch: 900, predicted_bytes: 66060288, measured_bytes: 62914560}}}])";
constexpr const char* kLosses =
    R"(.scaled[0].result.losses = [{"batch": 128, "workers": 2, "alone_s": 0.1, "independent_s": 0.1, "slowest_s": 0.1, "together_s": 0.11, "contention": 0, "unevenness": 0, "communication": 0.09, "efficiency": 0.91}])";

TEST(Claims, DataParallel) {
  const Json data = scaled_data(
      R"({"network": "lenet5", "data": "fashion-mnist", "batches": [128], "workers": [1, 2], "steps": 40, "devices": ["k80"]})",
      (std::string(R"({"predicted": )") + kPredicted +
       R"(, "published": [{"result": {"rows": []}}], "counted": [{"result": {"totals": {"macs": 1000000}}}]})")
          .c_str());
  check(
      "data-parallel", data,
      {{".", "Only one batch was measured", "used better"},
       {".scaled[0].result.points += [.scaled[0].result.points[0] | .batch = 256 | .step_s = 0.15 "
        "| "
        ".compute_s = 0.14]",
        "Batch 256 is 1.33 times as fast as batch 128. While they compute, the cores do 7.8 "
        "GFLOP/s "
        "with the small and 11.0 with the large batch: it is faster because they are used better.",
        "slower"},
       {".scaled[0].result.points += [.scaled[0].result.points[0] | .batch = 256 | .step_s = 0.4 | "
        ".compute_s = 0.39]",
        "Batch 256 is slower: an image takes 2.02 times as long as with batch 128. While they "
        "compute, the cores do 7.8 GFLOP/s with the small and 3.9 with the large batch: it is "
        "slower because they are used "
        "worse.",
        "used better"},
       {".scaled[0].result.points += [.scaled[0].result.points[0] | .batch = 256 | .step_s = 0.2 | "
        ".compute_s = 0.196 | .error_s = 0.002]",
        "Batch 256 is no different from batch 128 beyond the standard error", "used better"},
       {".scaled[0].result.points += [.scaled[0].result.points[0] | .batch = 256 | .error_s = "
        "null]",
        "Single steps say nothing of which is faster", "used better"},
       {".", "over one, everything included: 1.82 with batch 128 each.", "slower"},
       {".scaled[0].result.weak[1].speedup = 0.21",
        "everything included: 0.21 with batch 128 each (slower).", ""},
       {".", "(extrapolated): worse than weak", "better than"},
       {".scaled[0].result.strong[1].speedup = 1.99", "better than weak", "worse than"},
       {".scaled[0].result.strong[1].speedup = 1.82", "no difference beyond the standard error",
        "worse than"},
       {".scaled[0].result.strong[1].global_batch = 64",
        "no batch was measured both ways in several", "worse than"},
       {".scaled[0].result.weak[1].speedup = 2.9",
        "no verdict. A speed-up above the number of workers or of cores cannot come from them: "
        "the run with one worker was disturbed",
        "worse than"},
       // Worse with one batch and better with the other is neither.
       {kTwoBatches,
        "that is better than weak scaling with batch 512 and worse than weak scaling with batch "
        "128.",
        "scaling here"},
       {kLargest,
        "stays within 64.0 MiB is 900 for one worker: 63.0 MiB planned, 60.0 MiB measured.",
        "does not fit"},
       {(std::string(kLargest) + " | .largest[0].result.largest_batch.measured_bytes = 1e8")
            .c_str(),
        "which is more than planned and does not fit", ""},
       {(std::string(kLargest) + " | .largest[0].result.largest_batch.batch = 0").c_str(),
        "Not even a batch of one stays within 64.0 MiB", "planned"},
       {kLosses, "timed apart from those of table 1", "differ by"},
       {kLosses, "add up to 100 %.", "negative"},
       {(std::string(kLosses) + " | .scaled[0].result.losses[0].efficiency = 0.3").c_str(),
        "differ by up to 61 points", ""},
       {(std::string(kLosses) + " | .scaled[0].result.losses[0].communication = -0.1").c_str(),
        "A negative part is within the spread", ""},
       {".", "is hidden behind backward", "most is waited for"},
       {".scaled[0].result.points[1].exposed_s = 0.025", "most is waited for",
        "Most of the communication"},
       {R"(.settings.data = "synthetic:3x32x32")", "the data are synthetic", ""},
       {R"(.settings.data = "shapes:128")", "the data are synthetic", ""},
       {".settings.steps = 1 | .machine.threads = 1 | .load_average = 1",
        "extrapolated from 1 step; the machine was busy when it began (load 1.0 on 1 core)", ""},
       {".settings.steps = 2", "extrapolated from 2 steps", ""},
       {".load_average = 1.1", "(extrapolated): no verdict. Other work ran on this machine",
        "worse than"},
       {".load_average = 1.1 | .scaled[0].result.points += [.scaled[0].result.points[0] | .batch = "
        "256 | .step_s = 0.15 | .compute_s = 0.14]",
        "so nothing about batches follows", "because"},
       {".settings.steps = 0", "Whole epochs were timed", "extrapolated from"},
       // Four workers on two cores cannot be three times as fast.
       {".settings.workers = [1, 4] | .scaled[0].result.weak[1] |= (.workers = 4 | .speedup = 3) | "
        ".scaled[0].result.strong = []",
        "was disturbed", ""},
       {".scaled[0].result.points[1].communication_s = 0.001", "so nothing of the communication",
        "is hidden behind"}});
}

TEST(Claims, HorovodScaling) {
  const Json data = scaled_data(
      R"({"network": "resnet50", "data": "fashion-mnist", "batch": 8, "steps": 10, "epochs": 25, "workers": [1, 2], "gpus": ["k80"], "stack": "horovod-nccl", "images": 1000})",
      (std::string(R"({"predicted": )") + kPredicted +
       R"(, "published": [{"result": {"rows": []}}]})")
          .c_str());
  check(
      "horovod-scaling", data,
      {{".", "2 workers are 1.82 times as fast as one", "nothing is concluded"},
       {".load_average = 3", "nothing is concluded from them", ""},
       {".scaled[0].result.weak[1] |= (.speedup = 0.8 | .images_per_s = 1024)",
        "slower than (0.80 times the speed of) one", "1.82"},
       {".", "k80: 16 on two nodes are 1.71 times as fast as 8 on one", ""},
       {".predicted[0].result.rows[2].images_per_s = 350",
        "16 on two nodes are slower than (0.50 times the speed of)", ""},
       {R"(.settings.network = "vgg16")", "vgg16 on fashion-mnist over more", "resnet50 on"},
       {".", "weak scaling", "was disturbed"},
       {".scaled[0].result.weak[1].speedup = 2.5", "the run with one worker was disturbed", ""},
       {".", "weak scaling", "published experiment"},
       {R"(def row(n; m): {model: "resnet50", framework: "f", device: "v100", batch_per_gpu: 64, source: "s", subject: "scaling", gpus: n, measured: m, predicted: m};
             .published[0].result.rows = [row(8; 100), row(16; 150)])",
        "In the published experiment 16 GPUs are 1.50 times", "1.50 to"},
       {R"(def row(n; m): {model: "resnet50", framework: "f", device: "v100", batch_per_gpu: 64, source: "s", subject: "scaling", gpus: n, measured: m, predicted: m};
             .published[0].result.rows = [row(8; 100), row(16; 150), row(16; 190)])",
        "weak scaling", "published experiment"}});
}

TEST(Claims, LargeBatch) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "epochs": 5, "rate": 0.01, "base": 64, "tests": 10000, "batches": [64, 1024], "share": 512, "few": 4, "shared_tests": 2000, "shared_network": "resnet20-cifar"},
    "passed": [], "sharing": [{"result": {"totals": {"statistics": 100}}}], "exchanged": [
      {"own": 512, "what": "gradients alone", "result": {"epochs": [{"epoch": 1, "top1": 0.78, "worker_top1": [0.78, 0.781, 0.779, 0.78], "train_loss": 1, "train_accuracy": 0.8, "test_loss": 1}]}},
      {"own": 512, "what": "normalization over all workers", "result": {"epochs": [{"epoch": 1, "top1": 0.785, "worker_top1": [0.785, 0.785], "train_loss": 1, "train_accuracy": 0.8, "test_loss": 1}]}},
      {"own": 512, "what": "order", "result": {"epochs": [{"epoch": 1, "top1": 0.7, "worker_top1": [0.7, 0.7], "train_loss": 1, "train_accuracy": 0.8, "test_loss": 1}]}},
      {"own": 4, "what": "gradients alone", "result": {"epochs": [{"epoch": 1, "top1": 0.6, "worker_top1": [0.6, 0.5, 0.7, 0.6], "train_loss": 1, "train_accuracy": 0.8, "test_loss": 1}]}},
      {"own": 4, "what": "normalization over all workers", "result": {"epochs": [{"epoch": 1, "top1": 0.7, "worker_top1": [0.7, 0.7], "train_loss": 1, "train_accuracy": 0.8, "test_loss": 1}]}}], "trained": [
    {"batch": 64, "remedy": "none", "actual": 0.01, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.90, "train_loss": 0.3, "train_accuracy": 0.9, "test_loss": 0.3, "images_per_s": 1}]}},
    {"batch": 1024, "remedy": "none", "actual": 0.01, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.80, "train_loss": 0.5, "train_accuracy": 0.8, "test_loss": 0.5, "images_per_s": 1}]}},
    {"batch": 1024, "remedy": "linear scaling", "actual": 0.16, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.85, "train_loss": 0.4, "train_accuracy": 0.85, "test_loss": 0.4, "images_per_s": 1}]}},
    {"batch": 1024, "remedy": "linear scaling and warm-up", "actual": 0.16, "result": {"steps": 9, "epochs": [{"epoch": 1, "top1": 0.88, "train_loss": 0.4, "train_accuracy": 0.88, "test_loss": 0.4, "images_per_s": 1}]}}]})");
  data = altered(data, kCommon);
  check(
      "large-batch", data,
      {{".", "Scaling with warm-up, better than without, brings back 80 %", ""},
       {".", "In epoch 5 batch 64 has a training loss of 0.3000 and 90.00 % of the training", ""},
       {".trained[3].result.epochs[0].top1 = 0.5",
        "Scaling without warm-up, better than with it, brings back 50 %", "with warm-up, better"},
       {".trained[2:4][].result.epochs[0].top1 = 0.5", "The remedies do not help beyond",
        "brings back"},
       {".trained[1].result.epochs[0].top1 = 0.9", "loses nothing beyond the standard error",
        "brings back"},
       {".settings.epochs = 1", "Scaling brings back 50 % of what was lost. Warm-up fills the only",
        "warm-up, better"},
       // A tenth of a point is no difference on 10,000 images.
       {".trained[3].result.epochs[0].top1 = 0.851", "with or without warm-up (no difference", ""},
       {".", "Yes with 512 images on each of 4 workers, no with 4.", ""},
       {".", "No. Each step: the gradients.", ""},
       {".", "77.90 % to 78.10 % of 2,000 test images right, 0.20 points apart (differences",
        "one training"},
       {".", "no difference beyond the standard error. So gradients alone are enough. With 4", ""},
       {".", "20.00 points apart (more than", ""},
       {".", "gives 70.00 %: better. So gradients alone are not enough.", ""},
       // Networks that agree are not enough where exchanging more gives a better one.
       {".exchanged[1].result.epochs[0].top1 = 0.9",
        "gives 90.00 %: better. So gradients alone are not enough. With 4", "are enough"},
       {".exchanged[0].result.epochs[0].worker_top1[2] = 0.6", "18.10 points apart (more than",
        "are enough"},
       {".exchanged[3:][].result.epochs[0] |= (.top1 = 0.7 | .worker_top1 = [0.7, 0.71])",
        "1.00 points apart (differences", "not enough"},
       {".", "in place of 78.00 %: worse.", ""},
       {".exchanged[2].result.epochs[0].top1 = 0.781",
        "in place of 78.00 %: no difference beyond the standard error", ": worse"},
       {".exchanged[2].result.epochs |= [.[0], .[0]]", "to see 44 % of them within 2 epochs", ""},
       {".", "multiplied by new rate / old rate", "not the gradient"},
       {".sharing[0].result.totals.statistics = 0", "resnet20-cifar has no running statistics",
        "points apart"}});
}

TEST(Claims, Staleness) {
  Json data = parsed(
      R"({"settings": {"network": "lenet5", "data": "fashion-mnist", "workers": 2, "bound": 2, "slow": 4, "tests": 10000, "first": "1,2,3,4", "second": "2.5,5"},
    "schedule": [{"result": {"gradients": [{"learner": 1, "index": 1, "staleness": 0, "read_time": 0, "time": 1}, {"learner": 2, "index": 1, "staleness": 2, "read_time": 0, "time": 2.5}]}}],
    "even": [{"result": {"gradients": [{"learner": 1, "index": 2, "staleness": 1, "read_time": 0, "time": 1}]}}],
    "measured": [
      {"mode": "synchronous", "sync": "sync", "more": "", "result": {"servers": [{"staleness": {"mean": 0, "max": 0, "histogram": [9]}}], "workers": [{"staleness": {"mean": 0, "gradients": 5, "histogram": [5]}}], "epochs": [{"top1": 0.8, "train_loss": 0.5, "images_per_s": 100}]}},
      {"mode": "asynchronous", "sync": "async", "more": "", "result": {"servers": [{"staleness": {"mean": 1.0, "max": 3, "histogram": [3, 3, 3]}}], "workers": [{"staleness": {"mean": 1, "gradients": 5, "histogram": [1, 3, 1]}}], "epochs": [{"top1": 0.8, "train_loss": 0.5, "images_per_s": 100}]}},
      {"mode": "slow", "sync": "async", "more": "--slow 1:4", "result": {"servers": [{"staleness": {"mean": 2, "max": 9, "histogram": [3, 3, 3]}}], "workers": [{"staleness": {"mean": 0.1, "gradients": 20, "histogram": [18, 2]}}, {"staleness": {"mean": 4, "gradients": 5, "histogram": [0, 0, 0, 1, 3, 1]}}], "epochs": [{"top1": 0.8, "train_loss": 0.5, "images_per_s": 100}]}},
      {"mode": "bound", "sync": "ssp", "more": "", "result": {"servers": [{"staleness": {"mean": 1, "max": 3, "histogram": [3, 3, 3]}}], "workers": [{"staleness": {"mean": 1, "gradients": 5, "histogram": [1, 3, 1]}}], "epochs": [{"top1": 0.8, "train_loss": 0.5, "images_per_s": 100}]}}]})");
  data = altered(data, kCommon);
  check(
      "staleness", data,
      {{".",
        "Learner 2, which writes 1 gradient while the other writes 1, delivers the staler ones",
        ""},
       {".schedule[0].result.gradients[0].staleness = 5", "Learner 1, which writes",
        "Learner 2, which"},
       {".schedule[0].result.gradients[].staleness = 1", "No learner's gradients are staler",
        "delivers the staler ones"},
       {".", "about the number of other workers, 1", "less than the number"},
       {".measured[1].result.servers[0].staleness.mean = 0.1",
        "less than the number of other workers", ""},
       {".", "the largest staleness is 3. The bound limits how many gradients", "breaks it"},
       {".measured[3].result.servers[0].staleness.max = 2", "no more than the bound",
        "not its stal"},
       // One worker reads while the other is 2 behind; until it writes that one can get 3 ahead.
       {".measured[3].result.servers[0].staleness.max = 5", "allows a staleness of 5.",
        "breaks it"},
       {".measured[3].result.servers[0].staleness.max = 6", "what was seen breaks it", "bound."},
       {".measured[3].result.servers[0].staleness.max = 6 | .settings.workers = 3",
        "allows a staleness of 10.", "breaks it"},
       {".settings.bound = 1 | .settings.slow = 8", "Slowed down 8 times, worker 1", "bound of 2"},
       {".schedule[0].result.gradients[1].time = 1", "At 1 s both learners write", ""},
       {".", "delivers the staler ones", "both learners write"},
       {".", "80.0 % with asynchronous training (no difference beyond the standard error)",
        "(worse)"},
       {".measured[1].result.epochs[0].top1 = 0.7", "70.0 % with asynchronous training (worse)",
        "(better)"},
       {".",
        "worker 1 writes 5 gradients while the other writes 20; the stalest worker then has 4.00 ± "
        "0.32 in the mean (half of its gradients 4 or less), more than the mean before",
        ""},
       {".measured[2].result.workers[1].staleness.histogram = [5]", "less than the mean before",
        ", more than"}});
}

TEST(Claims, AllreduceVariants) {
  Json data =
      parsed(R"({"settings": {"workers": [2], "sizes": "1K", "network": "lenet5", "seconds": 0.1},
    "speed": [{"n": 2, "algorithm": "ring", "result": {"epochs": [{"images_per_s": 100}]}}, {"n": 2, "algorithm": "auto", "result": {"epochs": [{"images_per_s": 98}]}}],
    "measured": [{"n": 2, "result": {"rows": [
      {"workers": 2, "bytes": 1024, "algorithm": "ring", "median_ms": 2.0, "least_ms": 1.9, "busbw_gbps": 1, "predicted_ms": 1.0},
      {"workers": 2, "bytes": 1024, "algorithm": "mpi", "median_ms": 4.0, "least_ms": 3.9, "busbw_gbps": 1, "predicted_ms": 4.0},
      {"workers": 2, "bytes": 1024, "algorithm": "auto", "median_ms": 2.0, "least_ms": 1.9, "busbw_gbps": 1, "predicted_ms": 2.0}]}}]})");
  data = altered(data, kCommon);
  check("allreduce-variants", data,
        {{".", "in 1 of 1 cases (", "at worst"},
         {".measured[0].result.rows[2] |= (.median_ms = 6 | .least_ms = 5.9)",
          "; at worst it took 3.00 times as long as ring", "in 1 of 1"},
         {".measured[0].result.rows[2].median_ms = 0.5", "in 1 of 1 cases (", "-75"},
         {".", "2.00 times as fast as the MPI library's own", ""},
         {".measured[0].result.rows[1].median_ms = 1",
          "slower than (0.50 times the speed of) the MPI library's own", ""},
         {".", "training was equally fast with all of them", "fastest with ring"},
         {".speed[1].result.epochs[0].images_per_s = 200", "training was fastest with auto",
          "fastest with ring"},
         {".speed[].n = 1", "One worker has nothing to sum", "1 workers"},
         {".", "that was measured: it has no part for waiting", ""},
         {".load_average = 3", "of the time that was measured.", "equally fast with"},
         {".load_average = 3", "nothing is concluded from them", "it has no part"},
         {".", "closest for", ""}});
}

}  // namespace
}  // namespace trainyard::lab::claims

// Several workers, in threads: they give what one gives, and agree with each other.
#include <cmath>
#include <mutex>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/sampler.h"
#include "dist/single.h"
#include "dist/threads.h"
#include "engine/bench.h"
#include "models/zoo/model.h"
#include "runs/metrics.h"
#include "runs/safetensors.h"
#include "support/temporary_folder.h"
#include "train/replicas.h"
#include "train/trainer.h"
#include "train/training_step.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

// Sums of a batch are made in another order; some updates later the last bits of f32 differ.
constexpr float kReorderedSums = 2e-5F;

TrainConfig parallel_config() {
  TrainConfig config;
  config.model = "lenet5";
  config.data = "synthetic:1x28x28,classes=4,size=96";
  config.augment = "crop:2,flip,normalize";
  config.epochs = 2;
  config.batch = 24;
  config.threads = 1;
  config.stall_warning = 0;
  config.wait_limit = 20;
  return config;
}

// One worker's run; rank 0 in `directory`.
TrainResult run_rank(const TrainConfig& config, dist::Communicator& comm,
                     const runs::RunDirectory* directory, const TrainHooks& hooks = {}) {
  const auto training = data::open_dataset(config.data, data::Split::kTrain);
  const auto test = data::open_dataset(config.data, data::Split::kTest);
  const Graph model = models::build_model(
      config.model,
      {.batch = copies_at_once(config) * data::share_of(config.batch, comm.rank(), comm.size()),
       .classes = 4});
  return Trainer(config, model, *training, *test, comm)
      .run(comm.rank() == 0 ? directory : nullptr, hooks);
}

TrainResult run_workers(const TrainConfig& config, const runs::RunDirectory& directory,
                        int64_t stop_after = 0, int64_t per_host = 0) {
  TrainResult result;
  dist::run_in_threads({.ranks = config.workers, .per_host = per_host},
                       [&](dist::Communicator& comm) {
                         TrainHooks hooks;
                         int64_t steps = 0;
                         // Only the last worker wants to.
                         if (comm.rank() + 1 == comm.size())
                           hooks.should_stop = [&] { return ++steps == stop_after; };
                         TrainResult mine = run_rank(config, comm, &directory, hooks);
                         if (comm.rank() == 0) result = std::move(mine);
                       });
  return result;
}

std::vector<float> trained_weights(const runs::RunDirectory& directory) {
  const runs::SafetensorsFile file(directory.path() / "model.safetensors");
  std::vector<float> all;
  for (const runs::StoredTensor& stored : file.tensors()) {
    const Tensor tensor = file.tensor(stored.name);
    all.insert(all.end(), tensor.values<float>().begin(), tensor.values<float>().end());
  }
  return all;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

struct Finished {
  std::vector<float> weights;
  TrainResult result;
};

Finished run_in(const TemporaryFolder& folder, const std::string& name, const TrainConfig& config,
                int64_t per_host = 0) {
  const auto directory = runs::RunDirectory::create(folder.path(), name, "lenet5", "synthetic");
  Finished run;
  run.result = run_workers(config, directory, 0, per_host);
  run.weights = trained_weights(directory);
  return run;
}

TEST(DataParallel, AnyNumberOfWorkersGivesWhatOneGives) {
  const TemporaryFolder folder("parallel");
  const Finished one = run_in(folder, "one", parallel_config());
  struct Case {
    int64_t workers;
    int64_t per_host = 0;
    bool no_overlap = false;
    double bucket_mb = 25;
    const char* all_reduce = "auto";
  };
  // 24 images on 5 workers are shared unevenly.
  for (const Case& c : {Case{2}, Case{3}, Case{4}, Case{5}, Case{2, 0, true}, Case{3, 1},
                        Case{4, 2, false, 0.01}, Case{4, 2, true, 0.01, "ring"}}) {
    TrainConfig config = parallel_config();
    config.workers = c.workers;
    config.no_overlap = c.no_overlap;
    config.bucket_mb = c.bucket_mb;
    config.all_reduce = c.all_reduce;
    const std::string name = fmt::format("{} workers, {} per host, {} MiB, {} {}", c.workers,
                                         c.per_host, c.bucket_mb, c.all_reduce, c.no_overlap);
    const Finished many = run_in(folder, name, config, c.per_host);
    EXPECT_LT(largest_difference(one.weights, many.weights), kReorderedSums) << name;
    ASSERT_EQ(many.result.epochs.size(), one.result.epochs.size());
    const EpochReport& a = one.result.epochs.back();
    const EpochReport& b = many.result.epochs.back();
    EXPECT_NEAR(a.train_loss, b.train_loss, 1e-4) << name;
    EXPECT_EQ(a.test.images, b.test.images) << name;
    EXPECT_NEAR(a.test.score("loss"), b.test.score("loss"), 1e-4) << name;
    EXPECT_EQ(a.test.confusion, b.test.confusion) << name;
  }
}

// Each bucket waits for the sum of all runs, however many there are.
TEST(DataParallel, SeveralBucketsOfAddedUpGradientsGiveWhatOneWorkerGives) {
  const TemporaryFolder folder("parallel");
  TrainConfig config = parallel_config();
  config.accumulate = 2;
  const Finished one = run_in(folder, "one", config);
  config.workers = 2;
  config.bucket_mb = 0.01;
  const Finished two = run_in(folder, "two", config);
  EXPECT_LT(largest_difference(one.weights, two.weights), kReorderedSums);
}

TEST(DataParallel, CopiesGiveTheSameInOnePassInSeveralAndOnSeveralWorkers) {
  const TemporaryFolder folder("copies");
  TrainConfig config = parallel_config();
  const Finished plain = run_in(folder, "plain", config);
  config.batch_augment = 4;
  const Finished one = run_in(folder, "one", config);
  EXPECT_GT(largest_difference(one.weights, plain.weights), kReorderedSums);
  EXPECT_EQ(one.result.steps, plain.result.steps);
  config.copies_at_once = 2;
  const Finished passes = run_in(folder, "passes", config);
  EXPECT_LT(largest_difference(one.weights, passes.weights), kReorderedSums);
  EXPECT_EQ(passes.result.steps, plain.result.steps);
  EXPECT_NEAR(one.result.epochs[1].train_loss, passes.result.epochs[1].train_loss, 1e-4);
  config.workers = 3;
  EXPECT_LT(largest_difference(one.weights, run_in(folder, "three", config).weights),
            kReorderedSums);
  // Stopped and resumed, bit by bit; the test above is the same program without the stop.
  config.workers = 1;
  const auto directory = runs::RunDirectory::create(folder.path(), "again", "lenet5", "synthetic");
  EXPECT_TRUE(run_workers(config, directory, 3).interrupted);
  run_workers(config, directory);
  EXPECT_EQ(trained_weights(directory), passes.weights);
}

TEST(DataParallel, AddedUpGradientsAreExchangedWithTheUpdate) {
  const TemporaryFolder folder("parallel");
  TrainConfig config = parallel_config();
  config.accumulate = 2;
  config.clip_norm = 0.5;
  const Finished one = run_in(folder, "one", config);
  config.workers = 2;
  EXPECT_LT(largest_difference(one.weights, run_in(folder, "two", config).weights), kReorderedSums);
}

TEST(DataParallel, SameSeedAndWorkersSameBits) {
  const TemporaryFolder folder("parallel");
  TrainConfig config = parallel_config();
  config.workers = 3;
  EXPECT_EQ(run_in(folder, "a", config).weights, run_in(folder, "b", config).weights);
}

TEST(DataParallel, StoppedByAnyWorkerItGoesOnBitByBit) {
  const TemporaryFolder folder("parallel");
  TrainConfig config = parallel_config();
  config.workers = 2;
  const Finished whole = run_in(folder, "whole", config);
  {
    const auto parts = runs::RunDirectory::create(folder.path(), "parts", "lenet5", "synthetic");
    write_file(parts.config(), settings_of(config).to_yaml());
    EXPECT_TRUE(run_workers(config, parts, 3).interrupted);
  }
  const auto parts = runs::RunDirectory::resume(folder.path(), "parts");
  run_workers(config, parts);
  EXPECT_EQ(whole.weights, trained_weights(parts));
  const std::vector<Json> lines = runs::read_metrics(parts.metrics());
  ASSERT_EQ(lines.size(), 2U * 4 + 2);
  EXPECT_EQ(lines[0].at("workers").items().size(), 2U);
}

TEST(DataParallel, AnotherNumberOfWorkersGoesOn) {
  const TemporaryFolder folder("parallel");
  TrainConfig config = parallel_config();
  const Finished one = run_in(folder, "one", config);
  const auto parts = runs::RunDirectory::create(folder.path(), "parts", "lenet5", "synthetic");
  config.workers = 4;
  run_workers(config, parts, 3);
  config.workers = 3;
  run_workers(config, parts);
  EXPECT_LT(largest_difference(one.weights, trained_weights(parts)), kReorderedSums);
}

TEST(DataParallel, WorkersThatDifferAreRefused) {
  const TemporaryFolder folder("parallel");
  const auto directory = runs::RunDirectory::create(folder.path(), "a", "lenet5", "synthetic");
  const auto refusal = [&](auto change) {
    try {
      dist::run_in_threads({.ranks = 3}, [&](dist::Communicator& comm) {
        TrainConfig config = parallel_config();
        config.workers = 3;
        if (comm.rank() == 2) change(config);
        run_rank(config, comm, &directory);
      });
    } catch (const Error& error) {
      return std::string(error.what());
    } catch (const Failure& failure) {
      return std::string(failure.what());
    }
    return std::string("they went on");
  };
  EXPECT_EQ(refusal([](TrainConfig& c) { c.seed = 7; }),
            "rank 2 has 'seed: 7', but rank 0 has 'seed: 1'; all workers must train the same");
  EXPECT_NE(refusal([](TrainConfig& c) { c.model = "mlp"; }).find("rank 2 has 'model"),
            std::string::npos);
}

TEST(DataParallel, FrozenEpochsRepeatTheFirst) {
  const TemporaryFolder folder("parallel");
  TrainConfig config = parallel_config();
  config.workers = 2;
  config.learning_rate = 1e-30;
  const auto losses = [&](const std::string& name) {
    const auto directory = runs::RunDirectory::create(folder.path(), name, "lenet5", "synthetic");
    run_workers(config, directory);
    std::vector<double> found;
    for (const Json& line : runs::read_metrics(directory.metrics())) {
      if (line.find("loss") != nullptr) found.push_back(line.at("loss").as_number());
    }
    return found;
  };
  const std::vector<double> moving = losses("moving");
  config.freeze_epoch_seed = true;
  const std::vector<double> frozen = losses("frozen");
  ASSERT_EQ(frozen.size(), 8U);
  EXPECT_EQ(frozen[0], moving[0]);
  EXPECT_EQ(frozen[0], frozen[4]);
  EXPECT_NE(moving[0], moving[4]);
}

// Running statistics are those of each worker's own images unless they are shared.
TEST(DataParallel, EachWorkersNetworkIsTested) {
  const TemporaryFolder folder("parallel");
  TrainConfig config = parallel_config();
  config.model = "resnet20-cifar";
  config.data = "synthetic:3x32x32,classes=4,size=384";
  config.augment = "normalize";
  config.batch = 4;
  config.workers = 2;
  config.epochs = 1;
  EXPECT_TRUE(run_in(folder, "usual", config).result.epochs[0].worker_scores.empty());
  config.test_each_worker = true;
  const auto scores = [&](const std::string& name) {
    const EpochReport epoch = run_in(folder, name, config).result.epochs[0];
    EXPECT_EQ(epoch.worker_scores.size(), 2U) << name;
    EXPECT_EQ(epoch.worker_scores[0], epoch.test.score("top1")) << name;
    return epoch.worker_scores;
  };
  const std::vector<double> own = scores("own");
  EXPECT_NE(own[0], own[1]);
  config.broadcast_buffers = true;
  const std::vector<double> shared = scores("broadcast");
  EXPECT_EQ(shared[0], shared[1]);
  EXPECT_EQ(shared[0], own[0]);
  config.broadcast_buffers = false;
  config.sync_bn = true;
  const std::vector<double> summed = scores("synchronized");
  EXPECT_EQ(summed[0], summed[1]);
}

// Weights after two steps of a network with batch normalization, of `workers` that share six
// images.
std::vector<float> normalized_weights(int64_t workers, bool sync, bool reference) {
  std::vector<float> result;
  constexpr int64_t kImages = 6;
  dist::run_in_threads({.ranks = workers}, [&](dist::Communicator& comm) {
    Replicas replicas(comm, {});
    const int64_t share = data::share_of(kImages, comm.rank(), workers);
    StepOptions options{.threads = 1, .seed = 3, .reference_only = reference};
    if (workers > 1) {
      options.exchange = &replicas;
      options.training.share = static_cast<double>(share) / kImages;
      options.training.bucket_bytes = 200'000;
      options.training.sync_images = sync ? kImages : 0;
    }
    const models::ModelOptions network{.batch = share, .classes = 10, .image = 8};
    TrainingStep step(models::build_model("resnet20-cifar", network), options);
    Tensor all(DType::kF32, Shape{kImages, 3, 8, 8});
    for (uint64_t i = 0; i < 2; ++i) {
      runtime::fill_random(all, i);
      const int64_t per_image = all.num_elements() / kImages;
      const float* mine = all.values<float>().data() + kImages * comm.rank() / workers * per_image;
      std::copy_n(mine, share * per_image, step.input(0).values<float>().begin());
      step.run(0.1);
    }
    if (comm.rank() + 1 != workers) return;
    for (size_t i = 0; i < step.num_model_states(); ++i) {
      const Tensor state = step.state(i);
      result.insert(result.end(), state.values<float>().begin(), state.values<float>().end());
    }
  });
  return result;
}

TEST(DataParallel, SynchronizedNormalizationIsThatOfTheWholeBatch) {
  // Nineteen layers of normalization over a few images amplify the last bits.
  constexpr float kAmplified = 2e-3F;
  for (const bool reference : {false, true}) {
    const std::vector<float> one = normalized_weights(1, false, reference);
    for (const int64_t workers : {2, 3, 4}) {
      if (reference && workers > 2) continue;
      const std::vector<float> sync = normalized_weights(workers, true, reference);
      EXPECT_LT(largest_difference(one, sync), kAmplified) << workers << " " << reference;
      const std::vector<float> local = normalized_weights(workers, false, reference);
      EXPECT_GT(largest_difference(one, local), 10 * kAmplified) << workers << " " << reference;
    }
  }
}

// Kernels write gradients where they are sent from: workers copy nothing that one would not.
TEST(DataParallel, GradientsAreNotCopied) {
  const auto copies = [](const std::string& model, int64_t workers) {
    int64_t count = 0;
    dist::run_in_threads({.ranks = workers}, [&](dist::Communicator& comm) {
      Replicas replicas(comm, {});
      StepOptions options{.threads = 1};
      if (workers > 1) options.exchange = &replicas;
      options.training.bucket_bytes = workers > 1 ? 1 << 20 : 0;
      const TrainingStep step(models::build_model(model, {.batch = 2, .classes = 10}), options);
      if (comm.rank() != 0) return;
      for (const runtime::StepInfo& info : step.executable().steps()) {
        if (info.op == "Reorder") ++count;
      }
    });
    return count;
  };
  for (const char* model : {"lenet5", "resnet20-cifar", "resnet18-cifar"}) {
    EXPECT_EQ(copies(model, 2), copies(model, 1)) << model;
  }
}

// After some steps with images of their own all workers hold the same bits, also with a network
// whose gradients come in blocked layouts and whose batch normalization is local.
TEST(DataParallel, ReplicasStayTheSame) {
  std::vector<std::vector<float>> states(2);
  std::vector<int64_t> bytes;
  dist::run_in_threads({.ranks = 2}, [&](dist::Communicator& comm) {
    Replicas replicas(comm, {});
    StepOptions options{.threads = 1, .seed = 3, .exchange = &replicas};
    options.training.first_image = 2 * comm.rank();
    options.training.share = 0.5;
    options.training.bucket_bytes = 200'000;
    TrainingStep step(models::build_model("resnet20-cifar", {.batch = 2, .classes = 10}), options);
    for (int i = 0; i < 2; ++i) {
      runtime::fill_random(step.input(0), static_cast<uint64_t>(10 * i + comm.rank()));
      step.run(0.1);
    }
    std::vector<float>& mine = states[static_cast<size_t>(comm.rank())];
    for (size_t i = 0; i < step.num_parameters(); ++i) {
      const Tensor state = step.state(i);
      mine.insert(mine.end(), state.values<float>().begin(), state.values<float>().end());
    }
    EXPECT_GT(step.executable().messages().size(), 3U);
    // The first sum is under way during most of backward.
    const std::vector<runtime::StepInfo>& steps = step.executable().steps();
    const auto position = [&](auto matches) {
      return std::find_if(steps.begin(), steps.end(), matches) - steps.begin();
    };
    const auto first = position([](const auto& info) { return info.op == "AllReduceStart"; });
    const auto begin = position([](const auto& info) { return info.node.starts_with("grad."); });
    const auto end = position([](const auto& info) { return info.op == "AllReduceWait"; });
    EXPECT_LT(first - begin, (end - begin) / 2);
    const ExchangeTimes times = replicas.take_times();
    EXPECT_GT(times.communication_s, 0);
  });
  EXPECT_EQ(states[0], states[1]);
}

}  // namespace
}  // namespace trainyard::train

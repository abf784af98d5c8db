// Training with parameter servers, over threads: what the modes compute, and staleness.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/error.h"
#include "dist/single.h"
#include "dist/threads.h"
#include "models/zoo/model.h"
#include "runs/checkpoint.h"
#include "runs/metrics.h"
#include "support/temporary_folder.h"
#include "train/servers/parameter_training.h"

namespace trainyard::train {
namespace {

constexpr int64_t kPictureClasses = 4;

TrainConfig small_config(int64_t batch, int64_t workers = 1, int64_t servers = 0,
                         const char* sync = "sync", const char* slow = "") {
  TrainConfig config;
  config.model = "lenet5";
  config.data = "synthetic:1x28x28,classes=4,size=96";
  config.epochs = 2;
  config.batch = batch;
  config.threads = 1;
  config.weight_decay = 1e-3;
  config.workers = workers;
  config.servers = servers;
  config.sync = sync;
  config.slow = slow;
  return config;
}

struct Job {
  explicit Job(TrainConfig settings)
      : config(std::move(settings)),
        training(data::open_dataset(config.data, data::Split::kTrain)),
        test(data::open_dataset(config.data, data::Split::kTest)),
        model(models::build_model(
            config.model, {.batch = config.batch / config.workers, .classes = kPictureClasses})),
        directory(runs::RunDirectory::create(folder.path(), "a", config.model, "synthetic")) {}

  ServerTrainResult with_servers(const TrainHooks& hooks = {}) {
    check(config);
    ServerTrainResult result;
    const int64_t ranks = config.workers + config.servers;
    dist::run_in_threads({.ranks = ranks}, [&](dist::Communicator& comm) {
      const bool first = comm.rank() == 0;
      ServerTrainResult mine = train_with_servers(comm, config, model, *training, *test,
                                                  first ? &directory : nullptr, hooks);
      if (first) result = std::move(mine);
    });
    return result;
  }
  TrainResult alone() {
    dist::SingleProcess comm;
    return Trainer(config, model, *training, *test, comm).run(&directory, {});
  }

  // The largest difference of a weight, relative to the largest weight of its tensor.
  double difference(const Job& other) const {
    const runs::SafetensorsFile mine(directory.path() / "model.safetensors");
    const runs::SafetensorsFile theirs(other.directory.path() / "model.safetensors");
    double most = 0;
    for (const runs::StoredTensor& stored : mine.tensors()) {
      const Tensor a = mine.tensor(stored.name);
      const Tensor b = theirs.tensor(stored.name);
      double largest = 0;
      double apart = 0;
      for (size_t i = 0; i < a.values<float>().size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(a.values<float>()[i])));
        apart = std::max(apart, std::abs(static_cast<double>(a.values<float>()[i]) -
                                         static_cast<double>(b.values<float>()[i])));
      }
      most = std::max(most, apart / largest);
    }
    return most;
  }

  TrainConfig config;
  TemporaryFolder folder{"servers"};
  std::unique_ptr<data::Dataset> training, test;
  Graph model;
  runs::RunDirectory directory;
};

// Sums over a batch in another order; a dozen updates add up what that makes.
constexpr double kRounding = 2e-4;

TEST(ParameterServer, SynchronousIsTheSingleProcess) {
  Job alone(small_config(12));
  alone.alone();
  struct Case {
    int64_t workers, servers;
  };
  for (const auto& [workers, servers] : {Case{1, 1}, Case{2, 1}, Case{3, 2}, Case{4, 3}}) {
    Job parts(small_config(12, workers, servers));
    const ServerTrainResult result = parts.with_servers();
    EXPECT_LT(alone.difference(parts), kRounding) << workers << " workers, " << servers;
    EXPECT_EQ(result.training.steps, 16);
    ASSERT_EQ(result.servers.size(), static_cast<size_t>(servers));
    for (const ServerReport& server : result.servers) {
      EXPECT_EQ(server.staleness.histogram(), std::vector<int64_t>{16 * workers});
    }
  }
}

// lenet5 has one large matrix: Optimus' rule cuts it, and nothing else changes.
TEST(ParameterServer, CutParametersTrainAsWholeOnes) {
  for (const char* optimizer : {"sgd", "adam"}) {
    TrainConfig config = small_config(12);
    config.optimizer = optimizer;
    Job alone(config);
    alone.alone();
    config = small_config(12, 2, 3);
    config.optimizer = optimizer;
    config.shard = "paa";
    Job parts(config);
    const ServerTrainResult result = parts.with_servers();
    EXPECT_LT(alone.difference(parts), kRounding) << optimizer;
    int64_t pieces = 0;
    for (const ServerReport& server : result.servers) {
      EXPECT_NEAR(static_cast<double>(server.elements), 61'706.0 / 3, 0.01 * 61'706);
      pieces += server.pieces;
    }
    EXPECT_GT(pieces, 10);  // parameters
  }
}

TEST(ParameterServer, LarsNeedsWholeParameters) {
  TrainConfig config = small_config(12, 2, 3);
  config.optimizer = "lars";
  config.shard = "paa";
  EXPECT_THROW(Job(config).with_servers(), Error);
}

// Gradients of two batches each are those of batches twice as large.
TEST(ParameterServer, AccumulationIsTheLargerBatch) {
  Job alone(small_config(24));
  alone.alone();
  for (const int64_t workers : {1, 2}) {
    TrainConfig config = small_config(12, workers, 1);
    config.accumulate = 2;
    Job parts(config);
    const ServerTrainResult result = parts.with_servers();
    EXPECT_LT(alone.difference(parts), kRounding) << workers << " workers";
    EXPECT_EQ(result.training.steps, 8);
  }
}

TEST(ParameterServer, OneAsynchronousWorkerIsPlainTraining) {
  Job alone(small_config(16));
  alone.alone();
  for (const char* sync : {"async", "ssp"}) {
    TrainConfig config = small_config(16, 1, 1, sync);
    config.staleness_aware = true;
    Job parts(config);
    const ServerTrainResult result = parts.with_servers();
    EXPECT_LT(alone.difference(parts), kRounding);
    EXPECT_EQ(result.servers[0].staleness.maximum(), 0);
  }
}

TEST(ParameterServer, ASlowWorkerIsStaler) {
  Job run(small_config(12, 3, 1, "async", "1:40"));
  const ServerTrainResult result = run.with_servers();
  // 24 gradients an epoch, each an update, whoever made them.
  EXPECT_EQ(result.training.steps, 48);
  EXPECT_EQ(result.servers[0].staleness.gradients(), 48);
  int64_t sum = 0;
  for (const WorkerReport& worker : result.workers) sum += worker.staleness.gradients();
  EXPECT_EQ(sum, 48);
  EXPECT_GT(result.workers[1].staleness.mean(), result.workers[0].staleness.mean());
  EXPECT_GT(result.workers[1].staleness.mean(), result.workers[2].staleness.mean());
  EXPECT_LT(result.workers[1].staleness.gradients(), result.workers[0].staleness.gradients());

  int64_t lines = 0;
  for (const Json& line : runs::read_metrics(run.directory.metrics())) {
    if (line.find("staleness") != nullptr) ++lines;
  }
  EXPECT_EQ(lines, 48);
}

// More workers than batches in an epoch: some have nothing to do.
TEST(ParameterServer, IdleWorkersEndTheEpochToo) {
  TrainConfig config = small_config(192, 4, 2, "async");
  Job run(config);
  const ServerTrainResult result = run.with_servers();
  EXPECT_EQ(result.training.steps, 2 * (96 / 48));
}

TEST(ParameterServer, StaleSynchronousKeepsItsBound) {
  constexpr int64_t kWorkers = 3;
  for (const int64_t bound : {0, 1, 3}) {
    TrainConfig config = small_config(4 * kWorkers, kWorkers, 2, "ssp", "0:6");
    config.staleness_bound = bound;
    Job run(config);
    const ServerTrainResult result = run.with_servers();
    for (const WorkerReport& worker : result.workers) EXPECT_LE(worker.most_ahead, bound);
    // Each other worker: from `bound` behind at the read to `bound` + 1 ahead at the write.
    for (const ServerReport& server : result.servers) {
      EXPECT_LE(server.staleness.maximum(), (kWorkers - 1) * (2 * bound + 1));
      EXPECT_EQ(server.staleness.gradients(), 48);
    }
  }
}

TEST(ParameterServer, StaleGradientsTakeSmallerSteps) {
  TrainConfig config = small_config(12, 3, 1, "async", "1:40");
  config.schedule = "constant";
  config.staleness_aware = true;
  Job run(config);
  run.with_servers();
  int64_t divided = 0;
  for (const Json& line : runs::read_metrics(run.directory.metrics())) {
    if (line.find("staleness") == nullptr) continue;
    const double staleness = line.at("staleness").as_number();
    EXPECT_DOUBLE_EQ(line.at("learning_rate").as_number(),
                     config.learning_rate / std::max(1.0, staleness));
    if (staleness > 1) ++divided;
  }
  EXPECT_GT(divided, 0);
}

TEST(ParameterServer, GoesOnFromItsCheckpoint) {
  for (const char* rule : {"even", "paa"}) {
    TrainConfig config = small_config(16, 2, 2);
    config.shard = rule;
    Job whole(config);
    whole.with_servers();
    Job parts(config);
    int64_t steps = 0;
    TrainHooks hooks;
    // In the middle of the second epoch of 6 rounds.
    hooks.should_stop = [&] { return ++steps == 8; };
    const ServerTrainResult stopped = parts.with_servers(hooks);
    EXPECT_TRUE(stopped.training.interrupted);
    EXPECT_EQ(stopped.training.steps, 6);
    const ServerTrainResult rest = parts.with_servers();
    EXPECT_EQ(rest.training.steps, 12);
    EXPECT_EQ(whole.difference(parts), 0.0) << rule;
    EXPECT_EQ(runs::read_metrics(parts.directory.metrics()).size(),
              runs::read_metrics(whole.directory.metrics()).size());
  }
}

// Batch normalization: its statistics are the workers' mean.
TEST(ParameterServer, RunningStatisticsAreShared) {
  TrainConfig config = small_config(16, 2, 1, "async");
  config.model = "resnet20-cifar";
  config.data = "synthetic:3x32x32,classes=4,size=32";
  config.epochs = 1;
  Job run(config);
  const ServerTrainResult result = run.with_servers();
  EXPECT_EQ(result.training.steps, 4);
  EXPECT_TRUE(std::isfinite(result.training.epochs[0].test.score("loss")));
}

// What the job says if worker 1 does `other` in place of its part.
template <typename Other>
std::string complaint(const char* sync, Other other) {
  TrainConfig config = small_config(8, 2, 1, sync);
  config.wait_limit = 0.5;
  Job run(config);
  try {
    dist::run_in_threads({.ranks = 3}, [&](dist::Communicator& comm) {
      if (comm.rank() == 1) return other();
      train_with_servers(comm, run.config, run.model, *run.training, *run.test,
                         comm.rank() == 0 ? &run.directory : nullptr, {});
    });
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

TEST(ParameterServer, AMissingWorkerIsNamed) {
  for (const char* sync : {"sync", "async", "ssp"}) {
    const std::string silent = complaint(sync, [] {});
    EXPECT_NE(silent.find("worker 1"), std::string::npos) << silent;
    const std::string failed = complaint(sync, [] { throw_failure("rank 1 broke"); });
    EXPECT_NE(failed.find("rank 1 broke"), std::string::npos) << failed;
  }
}

TEST(ParameterServer, WrongRequestsAreRefused) {
  EXPECT_EQ(parse_slow("1:2.5,3:4"), (std::map<int64_t, double>{{1, 2.5}, {3, 4}}));
  for (const char* text : {"1", "1:", ":2", "1:0.5", "x:2", "1:2x", "1:nan", "2:2"}) {
    EXPECT_THROW(check(small_config(4, 2, 1, "sync", text)), Error) << text;
  }
  EXPECT_NO_THROW(check(small_config(4, 2, 1, "sync", "1:2")));
  EXPECT_THROW(check(small_config(4, 2, 1, "asynch")), Error);
  EXPECT_THROW(check(small_config(5, 2, 1)), Error);
  EXPECT_THROW(check(small_config(4, 2, 0, "async")), Error);
  TrainConfig config = small_config(4, 1, 2);
  config.clip_norm = 1;
  EXPECT_THROW(check(config), Error);
}

TEST(ParameterServer, ShardsAreBalanced) {
  const std::vector<int64_t> elements = {5, 100, 60, 45, 1};
  const auto shards = shard_parameters(elements, 2);
  using Pieces = std::vector<ParameterPiece>;
  EXPECT_EQ(shards[0], (Pieces{{0, 0, 5}, {1, 0, 100}, {4, 0, 1}}));
  EXPECT_EQ(shards[1], (Pieces{{2, 0, 60}, {3, 0, 45}}));
  EXPECT_THROW(shard_parameters(elements, 6), Error);
}

}  // namespace
}  // namespace trainyard::train

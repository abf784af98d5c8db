// `trainyard scale`: how training time follows workers and batch.
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/text.h"
#include "cluster/predict/limits.h"
#include "cluster/predict/predict.h"
#include "cluster/predict/this_machine.h"
#include "dist/launch.h"
#include "dist/mpi/mpi_ranks.h"
#include "engine/kernels/parallel/parallel.h"
#include "program/command.h"
#include "studies/scaling/all_reduce.h"
#include "studies/scaling/all_reduce_view.h"
#include "studies/scaling/scaling.h"
#include "studies/scaling/view.h"
#include "train/training_network.h"

namespace trainyard::cli {
namespace {

struct ScaleOptions {
  train::TrainConfig config;
  std::vector<int64_t> batches = {32, 128, 512};
  std::vector<int64_t> workers = {1, 2, 4};
  int64_t steps = 0;
  double rate = measure::ScaleTask{}.rate;
  double epochs = 10;
  double price = 0;
  double seconds = 0.3;
  std::string memory;
  std::string device = std::string(predict::kThisMachine);
  std::vector<std::string> catalogs;
  report::Format format = report::Format::kText;
};

constexpr int64_t kScaleMostSteps = 1'000'000'000;
constexpr int64_t kScaleMostWorkers = 1024;

void check_options(const ScaleOptions& options) {
  TY_REQUIRE(!options.batches.empty() && !options.workers.empty(),
             "--batches and --workers need at least one number each");
  for (const int64_t batch : options.batches) {
    TY_REQUIRE(batch >= 1, "--batches: {} is not 1 or more", batch);
  }
  for (const int64_t workers : options.workers) {
    TY_REQUIRE(1 <= workers && workers <= kScaleMostWorkers, "--workers: {} is not in 1..{}",
               workers, kScaleMostWorkers);
  }
  // 0 would mean all cores, shared by workers; a comparison over workers needs a fixed number.
  train::check(options.config);
  if (!options.memory.empty()) parse_bytes(options.memory, "--memory");
  // Before anything is measured.
  const predict::Catalog catalog = predict::Catalog::load(options.catalogs);
  if (options.device != predict::kThisMachine) catalog.device(options.device);
  TY_REQUIRE(options.epochs > 0 && options.epochs <= predict::kMostEpochs,
             "--epochs is {}, expected more than 0, at most {}", options.epochs,
             predict::kMostEpochs);
  TY_REQUIRE(options.price >= 0 && options.price <= predict::kHighestPrice,
             "--price is {}, expected dollars per hour", options.price);
}

// --- one rank of a job

int run_rank_scale(const ScaleOptions& options, std::ostream& out) {
  return dist::run_as_mpi_rank([&](dist::Communicator& comm) {
    const auto training = data::open_dataset(options.config.data, data::Split::kTrain);
    Json points = Json::array();
    int64_t gradient_bytes = 0;
    for (const int64_t batch : options.batches) {
      train::TrainConfig config = options.config;
      // --batches are per worker, the configuration's batch is that of all.
      config.batch = batch * comm.size();
      const Graph model = train::build_training_network(config, *training, batch);
      const measure::ScalePoint point = measure::measure_scale_point(
          comm, config, model, *training, {.steps = options.steps, .rate = options.rate});
      gradient_bytes = point.gradient_bytes;
      points.push_back(report::scale_point_json(point));
      if (comm.rank() == 0) {
        std::cerr << fmt::format("{} worker{}, batch {}: {} a step\n", comm.size(),
                                 comm.size() == 1 ? "" : "s", batch, seconds_text(point.step_s));
      }
    }
    Json data = Json::object();
    data["points"] = std::move(points);
    data["images"] = training->size();
    // Sums of the size that this network has, to explain the times above.
    if (comm.size() > 1) {
      dist::Collectives collectives(comm);
      const auto all = dist::all_reduces();
      data["all_reduce"] = report::all_reduce_json(measure::measure_all_reduces(
          collectives, {gradient_bytes}, {all.begin(), all.end()}, options.seconds));
    }
    if (comm.rank() == 0) out << data.dump() << '\n';
    return 0;
  });
}

// --- the jobs

// Runs this program again as `workers` ranks. Only settings that change the time of a step are
// passed on.
Json run_job(const ScaleOptions& options, int64_t workers, const std::vector<int64_t>& batches,
             int64_t steps) {
  train::TrainConfig config = options.config;
  std::vector<std::string> list;
  for (const int64_t batch : batches) list.push_back(std::to_string(batch));
  std::vector<std::string> arguments = train::settings_of(config).arguments(
      {"model", "data", "augment", "threads", "data-workers", "weight-decay", "all-reduce",
       "bucket-mb", "no-overlap"});
  arguments.insert(arguments.begin(), "scale");
  const auto add = [&](const char* flag, std::string value) {
    arguments.insert(arguments.end(), {flag, std::move(value)});
  };
  add("--batches", join(list, ","));
  add("--steps", std::to_string(steps));
  add("--learning-rate", fmt::format("{}", options.rate));
  add("--seconds", fmt::format("{}", options.seconds));
  // Otherwise a lone worker would have the cores of all for the threads that feed it.
  const bool enough = config.threads == 1 && workers <= kernels::available_cores();
  const dist::Binding binding = enough ? dist::Binding::kOneCore : dist::Binding::kNone;
  return Json::parse(dist::run_as_ranks(workers, arguments, binding), "output of the ranks");
}

Graph network_of(const ScaleOptions& options, const data::Dataset& training, int64_t batch) {
  Graph graph = train::build_training_network(options.config, training, batch);
  graph.sort();
  return graph;
}

// The largest batch for which the engine plans at most `bytes`.
int64_t largest_planned(const std::function<int64_t(int64_t)>& planned, int64_t bytes,
                        int64_t images) {
  int64_t fits = 0;
  int64_t too_many = 1;
  // An epoch must hold at least one batch.
  // Doubling, then bisection: planning is cheap beside running.
  while (too_many <= images && planned(too_many) <= bytes) {
    fits = too_many;
    too_many *= 2;
  }
  too_many = std::min(too_many, images + 1);
  while (too_many - fits > 1) {
    const int64_t middle = fits + (too_many - fits) / 2;
    (planned(middle) <= bytes ? fits : too_many) = middle;
  }
  return fits;
}

// What libraries take beyond the plan shows when it runs; the next try leaves room for that.
report::LargestBatch find_largest(const ScaleOptions& options, const data::Dataset& training) {
  constexpr int kTries = 3;
  report::LargestBatch largest;
  largest.limit_bytes = parse_bytes(options.memory, "--memory");
  const auto planned = [&](int64_t batch) {
    train::TrainConfig config = options.config;
    config.batch = batch;
    return measure::planned_memory(config, train::build_training_network(config, training, batch));
  };
  int64_t room = largest.limit_bytes;
  for (int i = 0; i < kTries; ++i) {
    largest.batch = largest_planned(planned, room, training.size());
    if (largest.batch == 0) return largest;
    largest.predicted_bytes = planned(largest.batch);
    const Json job = run_job(options, 1, {largest.batch}, 1);
    largest.measured_bytes = job.at("points").items()[0].at("memory_bytes").as_int();
    if (largest.measured_bytes <= largest.limit_bytes) break;
    const int64_t beyond = largest.measured_bytes - largest.predicted_bytes;
    room = std::min(room - 1, largest.limit_bytes - beyond);
  }
  return largest;
}

// Predictions are shown where there is a device for them; without one the measurement stands alone.
void predict_steps(const ScaleOptions& options, const data::Dataset& training,
                   report::ScaleReport& report) {
  const predict::Catalog catalog = predict::Catalog::load(options.catalogs);
  const auto devices = catalog.devices();
  const auto find = [&](const std::string& id) {
    return std::find_if(devices.begin(), devices.end(),
                        [&](const predict::Device& device) { return device.id == id; });
  };
  auto found = find(options.device);
  // A profile for as many threads as a worker has, if there is one.
  if (options.device == predict::kThisMachine) {
    const auto fits = find(predict::this_machine(report.threads, kernels::available_cores()));
    if (fits != devices.end()) found = fits;
  }
  if (found == devices.end()) {
    report.prediction_note = fmt::format(
        "None: there is no device '{}'. `trainyard calibrate --threads {}` measures this machine.",
        options.device, report.threads);
    return;
  }
  report.prediction_note = fmt::format("By `trainyard predict --device {}` ({}), without data I/O.",
                                       found->id, found->name);
  if (found->id == predict::kThisMachine && found->cores != report.threads) {
    report.prediction_note += fmt::format(
        " It was measured with {} threads, but a worker has {}: errors are those of that, too. "
        "`trainyard calibrate --threads {}` fixes that.",
        found->cores, report.threads, report.threads);
  }
  predict::Networks networks([&](const std::string&) { return network_of(options, training, 1); });
  predict::Request request;
  request.device = &*found;
  request.stack = &catalog.default_stack(*found);
  request.network = &networks.get(options.config.model);
  request.workers = options.workers;
  // All workers are on this machine.
  request.cluster.per_host = *std::max_element(options.workers.begin(), options.workers.end());
  request.cluster.inside = catalog.link(found->inside);
  request.cluster.between = request.cluster.inside;
  request.cluster.comm = &predict::find_comm_model("auto");
  request.dataset_images = static_cast<double>(training.size());
  for (const int64_t batch : options.batches) {
    request.batch = batch;
    for (const predict::Row& row : predict::predict(request)) {
      report.predictions.push_back({row.workers, batch, row.step});
    }
  }
}

int run_jobs_scale(const ScaleOptions& options, std::ostream& out) {
  const auto training = data::open_dataset(options.config.data, data::Split::kTrain);
  report::ScaleReport report;
  report.model = options.config.model;
  report.data = training->source();
  report.whole_epochs = options.steps == 0;
  report.threads = options.config.threads;
  report.settings = {training->size(), options.epochs, options.price};
  for (const int64_t workers : options.workers) {
    const Json job = run_job(options, workers, options.batches, options.steps);
    for (const Json& point : job.at("points").items()) {
      report.points.push_back(report::scale_point_from_json(point));
    }
    const Json* reduced = job.find("all_reduce");
    if (reduced == nullptr) continue;
    for (const char* key : {"rows", "fabrics"}) {
      for (const Json& item : reduced->at(key).items()) report.all_reduce[key].push_back(item);
    }
  }
  predict_steps(options, *training, report);
  if (!options.memory.empty()) report.largest = find_largest(options, *training);
  out << report::render(report::scale_document(report), options.format);
  return 0;
}

Runner setup_scale(Args& args) {
  auto options = std::make_shared<ScaleOptions>();
  train::TrainConfig& config = options->config;
  config.threads = 1;
  args.option("--model", config.model, "a name of 'trainyard models', or a path to an .onnx file");
  args.option("--data", config.data, "the data set; see 'trainyard data --help'");
  args.option("--augment", config.augment, "preprocessing and augmentation steps");
  args.option("--batches", options->batches, "batch sizes per worker, as 32,128,512");
  args.option("--workers", options->workers, "numbers of workers, as 1,2,4");
  args.option("--steps", options->steps,
              "warm-up steps, and as many measured steps; 0: an epoch each",
              between(0, kScaleMostSteps));
  args.option("--threads", config.threads, "threads per worker", at_least(1));
  args.option("--data-workers", config.data_workers, "threads that prepare a worker's batches");
  args.option("--learning-rate", options->rate,
              "learning rate of the updates (the default barely changes the weights)",
              between(0, 1e6));
  args.option("--weight-decay", config.weight_decay, "weight decay of the updates");
  args.option("--all-reduce", config.all_reduce, "how gradients are summed");
  args.option("--bucket-mb", config.bucket_mb, "bucket size in MiB for gradient exchange");
  args.toggle("--no-overlap", config.no_overlap,
              "sum gradients after the backward pass, not during it");
  args.option("--epochs", options->epochs, "epochs of the whole training run, for time and cost");
  args.option("--price", options->price, "dollars per worker and hour");
  args.option("--memory", options->memory,
              "find the largest batch that fits in this much memory, as 2G, and run it");
  args.option("--device", options->device,
              "device whose prediction is shown beside the measurement");
  args.repeated("--catalog", options->catalogs, "YAML files with more devices");
  args.option("--seconds", options->seconds, "seconds to repeat each all-reduce",
              between(0.001, 3600));
  args.format(options->format);
  return [options](std::ostream& out) {
    check_options(*options);
    return dist::launched_as_rank() ? run_rank_scale(*options, out) : run_jobs_scale(*options, out);
  };
}

}  // namespace

extern const Command kScale = {
    .name = "scale",
    .group = "Train",
    .summary = "Measure training time against workers and batch size",
    .examples =
        "  trainyard scale --model lenet5 --data fashion-mnist --batches 32,128,512 --workers "
        "1,2,4\n"
        "  trainyard scale --model resnet18-cifar --data synthetic:3x32x32,size=50000 --batches 32 "
        "\\\n"
        "      --workers 1,2 --steps 20 --json\n"
        "  trainyard scale --model resnet20-cifar --data cifar10:DIR --memory 1G --price 0.05\n",
    .setup = setup_scale,
};

}  // namespace trainyard::cli

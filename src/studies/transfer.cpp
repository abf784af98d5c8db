#include "studies/transfer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "data/augment.h"
#include "dist/single.h"
#include "ops/builder.h"
#include "runs/metrics.h"
#include "studies/transfer_features.h"
#include "train/run_parts.h"
#include "train/run_training.h"
#include "train/schedule.h"
#include "train/training_step.h"

namespace trainyard::recipes {
namespace {

// Named like the network's own head, so that its weights can be copied over by name.
Graph head_alone(const TransferNetwork& network, int64_t batch) {
  const Value& weight = network.graph.value(network.graph.find_value(network.head_weight));
  const int64_t numbers = weight.type.shape[1];
  const int64_t classes = weight.type.shape[0];
  Graph graph("head");
  ops::Builder builder(graph);
  const ValueId x = builder.input("features", {DType::kF32, {batch, numbers}});
  const ValueId w = builder.parameter(network.head_weight, {classes, numbers}, weight.rule);
  const ValueId b = builder.parameter(network.head_bias, {classes}, init_constant(0));
  graph.set_outputs({builder.add("Gemm", {x, w, b}, {{"transB", int64_t{1}}}, "head")});
  return graph;
}

class HeadTraining {
 public:
  HeadTraining(const train::TrainConfig& config, const Features& training, const Features& test,
               const TransferNetwork& network)
      : config_(config),
        training_(training),
        test_(test),
        graph_(head_alone(network, config.batch)),
        step_(graph_, options(config)),
        order_(static_cast<size_t>(training.labels.num_elements())) {
    std::iota(order_.begin(), order_.end(), int64_t{0});
  }

  void run(const std::filesystem::path& folder, const TransferHooks& hooks) {
    runs::MetricsWriter metrics(folder / "metrics.jsonl", 0);
    const train::Schedule schedule = train::parse_schedule(config_.schedule);
    // What does not fill the last batch is left out of the epoch; the next order begins with
    // others.
    const int64_t steps = static_cast<int64_t>(order_.size()) / config_.batch;
    for (int64_t epoch = 0; epoch < config_.epochs; ++epoch) {
      const Stopwatch watch;
      shuffle(epoch);
      double loss = 0;
      // Written after the epoch: a step is shorter than a write.
      std::vector<Json> lines;
      for (int64_t i = 0; i < steps; ++i) {
        fill(i);
        const double at =
            static_cast<double>(epoch) + static_cast<double>(i) / static_cast<double>(steps);
        step_.run(train::learning_rate(schedule, config_.learning_rate, at,
                                       static_cast<double>(config_.epochs)));
        loss += step_.loss();
        lines.push_back(step_line(epoch));
      }
      const double seconds = watch.seconds();
      for (const Json& line : lines) metrics.append(line);
      loss /= static_cast<double>(steps);
      metrics.append(Json::object({{"step", step_.steps()},
                                   {"epoch", epoch + 1},
                                   {"train_loss", loss},
                                   {"train_s", seconds},
                                   {"test_top1", accuracy()}}));
      if (hooks.on_step) {
        hooks.on_step({.epoch = epoch + 1,
                       .epochs = config_.epochs,
                       .step = steps,
                       .steps = steps,
                       .images = steps * config_.batch,
                       .loss = loss});
      }
      if (hooks.should_stop && hooks.should_stop()) throw_failure("stopped");
    }
  }

  void copy_weights_to(const TransferNetwork& network, Graph& graph) const {
    for (size_t i = 0; i < step_.num_parameters(); ++i) {
      const std::string& name = step_.states()[i].name;
      TY_CHECK(name == network.head_weight || name == network.head_bias, "'{}' is not the head's",
               name);
      graph.mutable_value(graph.find_value(name)).constant =
          std::make_shared<const Tensor>(step_.state(i));
    }
  }

 private:
  // Only what concerns one linear layer; data, model and augmentation belong to the features.
  static train::StepOptions options(const train::TrainConfig& config) {
    train::StepOptions options;
    options.threads = static_cast<int>(config.threads);
    options.seed = static_cast<uint64_t>(config.seed);
    options.training.optimizer.kind = config.optimizer;
    options.training.optimizer.momentum = config.momentum;
    options.training.optimizer.nesterov = config.nesterov;
    options.training.optimizer.weight_decay = config.weight_decay;
    options.training.optimizer.decay_all = config.decay_all;
    return options;
  }

  // Fisher and Yates, from the order of the epoch before: the orders of a run depend on the seed
  // alone.
  void shuffle(int64_t epoch) {
    const RandomStream random(static_cast<uint64_t>(config_.seed), static_cast<uint64_t>(epoch));
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i, i)]);
  }

  void fill(int64_t batch) {
    const int64_t numbers = training_.numbers.shape()[1];
    float* to = step_.input(0).values<float>().data();
    int64_t* labels = step_.input(train::kLabelsInput).values<int64_t>().data();
    for (int64_t i = 0; i < config_.batch; ++i) {
      const int64_t sample = order_[static_cast<size_t>(batch * config_.batch + i)];
      std::memcpy(to + i * numbers, training_.numbers.values<float>().data() + sample * numbers,
                  static_cast<size_t>(numbers) * sizeof(float));
      labels[i] = training_.labels.values<int64_t>()[static_cast<size_t>(sample)];
    }
  }

  Json step_line(int64_t epoch) const {
    return Json::object({{"step", step_.steps()},
                         {"epoch", epoch},
                         {"loss", step_.loss()},
                         {"forward_ms", step_.seconds().forward * 1e3},
                         {"backward_ms", step_.seconds().backward * 1e3},
                         {"update_ms", step_.seconds().update * 1e3}});
  }

  // Of the test features.
  // By hand instead of a second executable: the head is one matrix.
  double accuracy() const {
    const Tensor weight = step_.state(0);
    const Tensor bias = step_.state(1);
    const int64_t classes = weight.shape()[0];
    const int64_t numbers = weight.shape()[1];
    const int64_t pictures = test_.labels.num_elements();
    int64_t right = 0;
    for (int64_t i = 0; i < pictures; ++i) {
      const float* x = test_.numbers.values<float>().data() + i * numbers;
      int64_t best = 0;
      float most = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const float* w = weight.values<float>().data() + c * numbers;
        const float score =
            std::inner_product(x, x + numbers, w, bias.values<float>()[static_cast<size_t>(c)]);
        if (c == 0 || score > most) {
          best = c;
          most = score;
        }
      }
      if (best == test_.labels.values<int64_t>()[static_cast<size_t>(i)]) ++right;
    }
    return static_cast<double>(right) / static_cast<double>(pictures);
  }

  const train::TrainConfig& config_;
  const Features& training_;
  const Features& test_;
  Graph graph_;
  train::TrainingStep step_;
  std::vector<int64_t> order_;
};

// Writes metrics.jsonl, one line for each step and each epoch as the trainer does, and gives the
// head of `network` the weights of the end. Throws Failure if the loss is no longer finite or
// somebody wants to stop.
void train_head(const train::TrainConfig& config, const Features& training, const Features& test,
                TransferNetwork& network, const std::filesystem::path& folder,
                const TransferHooks& hooks) {
  HeadTraining head(config, training, test, network);
  head.run(folder, hooks);
  head.copy_weights_to(network, network.graph);
}

namespace fs = std::filesystem;

// Marks of a run that ended in another way than with a model, so that it is not trained again.
constexpr const char* kDivergedFile = "diverged.txt";
constexpr const char* kCachedFile = "cached.txt";

struct Step {
  double forward = 0, backward = 0, update = 0;
  int64_t count = 0;
};

// Adds up what the lines of a run say.
void read_run(TransferRun& run) {
  Step all;
  for (const Json& line : runs::read_metrics(run.folder / "metrics.jsonl")) {
    if (const Json* forward = line.find("forward_ms")) {
      all.forward += forward->as_number();
      all.backward += line.at("backward_ms").as_number();
      all.update += line.at("update_ms").as_number();
      ++all.count;
    }
    if (const Json* top1 = line.find("test_top1")) {
      run.epochs.push_back({line.at("epoch").as_int(), line.at("train_loss").as_number(),
                            top1->as_number(), line.at("train_s").as_number()});
    }
  }
  const auto count = static_cast<double>(std::max<int64_t>(1, all.count));
  run.forward_ms = all.forward / count;
  run.backward_ms = all.backward / count;
  run.update_ms = all.update / count;
  for (const TransferEpoch& epoch : run.epochs) run.best_top1 = std::max(run.best_top1, epoch.top1);
  if (!run.epochs.empty()) run.last_top1 = run.epochs.back().top1;
  run.diverged = fs::exists(run.folder / kDivergedFile);
  run.cached = fs::exists(run.folder / kCachedFile);
}

int64_t elements_of(const Graph& graph, const std::vector<std::string>& names) {
  int64_t count = 0;
  for (const std::string& name : names) {
    count += graph.value(graph.find_value(name)).type.shape.num_elements();
  }
  return count;
}

// A class that was never seen would lower every score without a hint why.
void require_every_class(const data::Dataset& set) {
  std::vector<int64_t> counts(static_cast<size_t>(set.num_classes()));
  for (int64_t i = 0; i < set.size(); ++i) ++counts[static_cast<size_t>(set.label(i))];
  for (size_t i = 0; i < counts.size(); ++i) {
    TY_REQUIRE(counts[i] > 0, "{}: class '{}' has no pictures to learn from", set.source(),
               set.class_names()[i]);
  }
}

class Study {
 public:
  Study(const TransferConfig& config, const Graph& network, const data::Dataset& training,
        const data::Dataset& test, const fs::path& folder, const TransferHooks& hooks)
      : config_(config),
        training_(training),
        test_(test),
        folder_(folder),
        hooks_(hooks),
        network_(replace_head(network, training.num_classes())),
        steps_(config.training.augment, training) {
    TY_REQUIRE(training.size() >= config.training.batch,
               "{} has {} pictures, fewer than a batch of {}", training.source(), training.size(),
               config.training.batch);
    require_every_class(training);
    train::require_input_shape(network_.graph.value(network_.graph.inputs()[0]).type.shape,
                               config.training.batch, steps_);
    std::vector<std::string> all = {network_.head_weight, network_.head_bias};
    for (const auto& layer : network_.layers) all.insert(all.end(), layer.begin(), layer.end());
    result_.parameters = elements_of(network_.graph, all);
    result_.steps = steps_.text();
  }

  TransferResult run() {
    for (const TransferMode& mode : config_.modes) {
      for (const double rate : config_.rates) result_.runs.push_back(run_one(mode, rate));
    }
    // The best accuracy wins; of equals the one whose epochs are shorter.
    for (size_t i = 1; i < result_.runs.size(); ++i) {
      const TransferRun& best = result_.runs[result_.winner];
      const TransferRun& run = result_.runs[i];
      const bool better =
          run.best_top1 > best.best_top1 ||
          (run.best_top1 == best.best_top1 && run.seconds_per_epoch() < best.seconds_per_epoch());
      if (better) result_.winner = i;
    }
    return std::move(result_);
  }

 private:
  train::TrainConfig settings_of_run(const TransferMode& mode, double rate) const {
    train::TrainConfig config = config_.training;
    config.learning_rate = rate;
    config.augment = steps_.text();
    config.freeze = join(frozen_parameters(network_, mode), ",");
    config.rate_shares = discriminative_rates(network_, config_.discriminative);
    if (config.schedule.empty()) config.schedule = three_falls(config.epochs);
    train::check(config);
    return config;
  }

  TransferRun run_one(const TransferMode& mode, double rate) {
    TransferRun run;
    run.mode = mode.text();
    run.rate = rate;
    std::string name = fmt::format("{}-{}", run.mode, rate);
    std::replace(name.begin(), name.end(), ':', '-');
    run.folder = folder_ / name;
    const std::vector<std::string> frozen = frozen_parameters(network_, mode);
    run.trained_parameters = result_.parameters - elements_of(network_.graph, frozen);
    const train::TrainConfig config = settings_of_run(mode, rate);
    require_same_settings(run.folder, config);
    run.was_there = fs::exists(run.folder / "model.onnx") || fs::exists(run.folder / kDivergedFile);
    if (!run.was_there) {
      if (hooks_.note) hooks_.note(fmt::format("{} at rate {}", run.mode, rate));
      train_one(mode, config, name);
    }
    read_run(run);
    return run;
  }

  // A study is resumed run by run; mixing runs of different settings would compare what is not
  // alike.
  static void require_same_settings(const fs::path& folder, const train::TrainConfig& config) {
    const fs::path path = folder / "config.yaml";
    if (!fs::exists(path)) return;
    train::TrainConfig own;
    train::settings_of(own).read_yaml(read_file(path), path.string());
    try {
      train::require_same_course(own, config);
      TY_REQUIRE(own.epochs == config.epochs, "epochs: {}, asked for: {}", own.epochs,
                 config.epochs);
    } catch (const Error& error) {
      throw_error("{}: {}\nGive this study another `name`", folder.string(), error.what());
    }
  }

  void train_one(const TransferMode& mode, const train::TrainConfig& config,
                 const std::string& name) {
    const runs::RunDirectory directory = train::begin_or_resume(folder_, name, config);
    // Features can be computed once only if every epoch sees the same pixels.
    const bool draws = steps_.text() != steps_.evaluation_text();
    try {
      if (mode.kind == TransferMode::Kind::kFeatures && !draws) {
        train_cached(config, directory.path());
      } else {
        train_whole(config, directory);
      }
    } catch (const Failure& failure) {
      if (hooks_.should_stop && hooks_.should_stop()) {
        throw_failure("stopped; run the same command again to resume with what is in {}",
                      folder_.string());
      }
      if (hooks_.note) hooks_.note(failure.what());
      write_file(directory.path() / kDivergedFile, std::string(failure.what()) + "\n");
    }
  }

  void train_whole(const train::TrainConfig& config, const runs::RunDirectory& directory) {
    dist::SingleProcess alone;
    const train::Task task = train::named_task(config, training_.target_kind());
    train::TrainingRun run({config, training_, test_, network_.graph, task}, alone);
    train::TrainHooks hooks;
    hooks.should_stop = hooks_.should_stop;
    hooks.on_step = hooks_.on_step;
    if (run.run(&directory, hooks).training.interrupted) throw_failure("interrupted");
  }

  void train_cached(const train::TrainConfig& config, const fs::path& path) {
    train::TrainConfig written = config;
    write_file(path / "config.yaml", train::settings_of(written).to_yaml());
    if (!features_[0]) compute_features(config);
    write_file(path / kCachedFile, "the features were computed once, before the first epoch\n");
    TransferNetwork trained = network_;
    train_head(config, *features_[0], *features_[1], trained, path, hooks_);
    std::vector<runs::NamedType> types;
    for (const ValueId id : trained.graph.initializers()) {
      const Value& value = trained.graph.value(id);
      types.push_back({value.name, value.type});
    }
    train::write_model(path, config.model, trained.graph, types,
                       train::metadata_of_training(training_, steps_));
  }

  void compute_features(const train::TrainConfig& config) {
    const Stopwatch watch;
    const Graph graph = features_of(network_);
    const std::array<const data::Dataset*, 2> sets = {&training_, &test_};
    for (size_t i = 0; i < sets.size(); ++i) {
      if (hooks_.note) hooks_.note("features of " + sets[i]->source());
      features_[i] = cached_features({.network = &graph,
                                      .set = sets[i],
                                      .steps = steps_.evaluation_text(),
                                      .threads = static_cast<int>(config.threads),
                                      .data_workers = config.data_workers,
                                      .should_stop = hooks_.should_stop},
                                     folder_);
    }
    result_.features_seconds = watch.seconds();
  }

  const TransferConfig& config_;
  const data::Dataset& training_;
  const data::Dataset& test_;
  fs::path folder_;
  const TransferHooks& hooks_;
  TransferNetwork network_;
  data::Augmentations steps_;
  std::array<std::optional<Features>, 2> features_;
  TransferResult result_;
};

}  // namespace

double TransferRun::seconds_per_epoch() const {
  double all = 0;
  for (const TransferEpoch& epoch : epochs) all += epoch.seconds;
  return epochs.empty() ? 0 : all / static_cast<double>(epochs.size());
}

// A tenth at half, three quarters and nine tenths of the training.
std::string three_falls(int64_t epochs) {
  const auto at = [&](double share) { return share * static_cast<double>(epochs); };
  return fmt::format("multistep:{:g},{:g},{:g};gamma=0.1", at(0.5), at(0.75), at(0.9));
}

TransferResult transfer(const TransferConfig& config, const Graph& network,
                        const data::Dataset& training, const data::Dataset& test,
                        const fs::path& folder, const TransferHooks& hooks) {
  TY_REQUIRE(!config.modes.empty() && !config.rates.empty(), "no modes, or no learning rates");
  TY_REQUIRE(config.discriminative > 0 && config.discriminative <= 1,
             "discriminative is {}, expected more than 0, at most 1", config.discriminative);
  for (const double rate : config.rates) {
    TY_REQUIRE(rate > 0, "a learning rate of {}, expected more than 0", rate);
  }
  return Study(config, network, training, test, folder, hooks).run();
}

}  // namespace trainyard::recipes

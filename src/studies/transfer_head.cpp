#include "studies/transfer_head.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "ops/builder.h"
#include "runs/metrics.h"
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

}  // namespace

void train_head(const train::TrainConfig& config, const Features& training, const Features& test,
                TransferNetwork& network, const std::filesystem::path& folder,
                const TransferHooks& hooks) {
  HeadTraining head(config, training, test, network);
  head.run(folder, hooks);
  head.copy_weights_to(network, network.graph);
}

}  // namespace trainyard::recipes

#include "train/communication_plan.h"

#include <algorithm>
#include <cmath>

#include "dist/collective_plan.h"
#include "ir/node_view.h"
#include "train/metric_sums.h"
#include "train/task.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

using ExchangeTime = CommunicationItem::ExchangeTime;

// Makes the graph of rank 0 and reads off what its nodes exchange; nothing is compiled or run.
class Planner {
 public:
  Planner(const TrainConfig& config, const Graph& model)
      : config_(config),
        classes_(model.value(model.outputs()[0]).type.shape[1]),
        made_(make_training_graph(
            model,
            step_options(config, {.rank = 0, .workers = config.workers}, named_objective(config))
                .training)) {}

  std::vector<CommunicationItem> run() {
    if (config_.workers == 1) return {};
    start();
    step();
    epoch();
    return std::move(items_);
  }

 private:
  void broadcast(ExchangeTime when, std::string what, int64_t bytes) {
    // Rank 0 sends to the root of each subtree.
    items_.push_back({when, std::move(what), "broadcast from rank 0", bytes,
                      bytes * dist::ceil_log2(config_.workers)});
  }

  // Bytes that a rank sends in a ring: 2 (n - 1) / n of the message.
  void sum(ExchangeTime when, std::string what, int64_t bytes) {
    const double share = dist::ring_plan(config_.workers).share;
    items_.push_back({when, std::move(what), "all-reduce", bytes,
                      static_cast<int64_t>(std::ceil(share * static_cast<double>(bytes)))});
  }

  int64_t metrics() const { return static_cast<int64_t>(reported_metrics(made_.metrics).size()); }
  int64_t bytes_of(ValueId id) const { return made_.graph.value(id).type.num_bytes(); }

  int64_t state_bytes(int64_t begin, int64_t end) const {
    int64_t bytes = 0;
    for (int64_t i = begin; i < end; ++i) {
      bytes += bytes_of(made_.states[static_cast<size_t>(i)].from);
    }
    return bytes;
  }

  void start() {
    const auto all = static_cast<int64_t>(made_.states.size());
    const int64_t model = made_.num_parameters + made_.num_statistics;
    broadcast(ExchangeTime::kStart, "initial parameters", state_bytes(0, made_.num_parameters));
    if (made_.num_statistics > 0) {
      broadcast(ExchangeTime::kStart, "running statistics",
                state_bytes(made_.num_parameters, model));
    }
    if (all > model) broadcast(ExchangeTime::kStart, "optimizer state", state_bytes(model, all));
    const int64_t numbers = 8 + metrics();  // step, epoch, sums so far …
    broadcast(ExchangeTime::kStart, "where the run stands", numbers * 8);
  }

  void step() {
    // Forward, and again backward, for every layer.
    for (const NodeId id : made_.graph.node_ids()) {
      const NodeView node(made_.graph, id);
      if (!node.has_attr("all_images")) continue;
      // The sums of a layer are those of whole blocks of eight channels.
      constexpr int64_t kBlock = 8;
      const int64_t channels = (node.input_shape(0)[1] + kBlock - 1) / kBlock * kBlock;
      sum(ExchangeTime::kStep, fmt::format("sums of {}", node.name()), 2 * channels * 8);
    }
    for (size_t i = 0; i < made_.buckets.size(); ++i) {
      const std::vector<std::string>& names = made_.buckets[i];
      int64_t bytes = 0;
      // A bucket is named by its parameters, whose gradients have their types.
      for (const std::string& name : names) bytes += bytes_of(made_.graph.find_value(name));
      sum(ExchangeTime::kStep,
          names.size() == 1 ? fmt::format("gradients {}: {}", i, names[0])
                            : fmt::format("gradients {}: {} to {}", i, names.front(), names.back()),
          bytes);
    }
    const int64_t numbers = 7 + metrics();  // loss, counts and times of one worker
    sum(ExchangeTime::kStep, "loss, accuracy, times, wish to stop", config_.workers * numbers * 8);
  }

  void epoch() {
    const int64_t statistics =
        state_bytes(made_.num_parameters, made_.num_parameters + made_.num_statistics);
    if (statistics > 0) {
      broadcast(ExchangeTime::kEpoch,
                config_.broadcast_buffers
                    ? "running statistics, which all workers take over"
                    : "running statistics, for the test of rank 0's network alone",
                statistics);
    }
    if (statistics > 0 && config_.test_each_worker) {
      sum(ExchangeTime::kEpoch,
          "running statistics of each other rank, for the test of its network",
          2 * statistics * (config_.workers - 1));
    }
    sum(ExchangeTime::kEpoch, "test loss, counts and confusion matrix",
        8 * (4 + classes_ * classes_));
  }

  const TrainConfig& config_;
  int64_t classes_;
  TrainingGraph made_;
  std::vector<CommunicationItem> items_;
};

}  // namespace

std::vector<CommunicationItem> plan_communication(const TrainConfig& config, const Graph& model) {
  return Planner(config, model).run();
}

std::vector<MissingExchange> omissions(const TrainConfig& config) {
  return {
      {"initial parameters",
       "Workers that drew other weights add gradients of different functions: each replica follows "
       "a direction that is nobody's, and they never meet. The same seed hides it until one worker "
       "loads other weights."},
      {"running statistics of batch normalization",
       fmt::format(
           "Each worker has those of its own images{}, so each tests, and would save, another "
           "network. Gradients do not show it: training looks right and the test depends on the "
           "rank.",
           config.sync_bn ? " without `sync_bn`" : "")},
      {"statistics of the batch in batch normalization",
       fmt::format("Each worker normalizes with its own share, {} of {} images: the result is not "
                   "that of the whole batch. Means and variances of more images differ less, by "
                   "the root of their number, so it matters for shares of a few images, not of "
                   "hundreds. `sync_bn` sums them.",
                   config.batch / std::max<int64_t>(config.workers, 1), config.batch)},
      {"optimizer state, after a restart",
       "Momentum that starts at zero on some workers and continues at others: equal gradients, "
       "different steps, replicas that drift apart."},
      {"the epoch, for the order of images",
       "Every epoch deals the same images to the same worker in the same batches "
       "(`freeze_epoch_seed` shows it); with seeds that differ between workers some images are "
       "seen twice in an epoch and others never."},
      {"loss and accuracy",
       "Rank 0 reports those of its own share; decisions based on them (stop, best) may differ "
       "between workers, and one that stops alone leaves the others waiting."},
  };
}

}  // namespace trainyard::train

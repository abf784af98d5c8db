// A worker of parameter servers: its gradients, and its end of the conversation.
#pragma once

#include <functional>

#include "runtime/executable.h"
#include "train/parameter_messages.h"
#include "train/parameter_server.h"
#include "train/training_step.h"

namespace trainyard::train {

// The network of a worker: forward and backward, no update. Not thread-safe.
class GradientStep {
 public:
  // Statistics start from the network's own; parameters are zero until set. Throws Error for
  // parameters that are not f32.
  GradientStep(const Graph& model, const StepOptions& options);

  // To be filled before run().
  Tensor& images() { return context_.input(0); }
  Tensor& labels() { return context_.input(labels_); }
  // `number` differs from batch to batch (dropout). Throws Failure if the loss is not finite.
  void run(int64_t number);
  double loss() const { return static_cast<double>(context_.output(0).values<float>()[0]); }
  int64_t correct() const { return context_.output(1).values<int64_t>()[0]; }
  const Tensor& gradient(size_t parameter) const { return context_.output(2 + parameter); }

  // Parameters, then running statistics.
  const std::vector<runs::NamedType>& states() const { return states_; }
  size_t num_parameters() const { return num_parameters_; }
  Tensor state(size_t index) const { return context_.state(index); }
  void set_state(size_t index, const Tensor& value) { context_.set_state(index, value); }

 private:
  GradientStep(const Graph& model, const TrainingGraph& made, const StepOptions& options);

  runtime::ExecutionContext context_;
  std::vector<runs::NamedType> states_;
  size_t num_parameters_;
  size_t labels_;
  size_t number_;  // input; SIZE_MAX: none
};

// What a GradientStep would have as parameters, without compiling it.
std::vector<runs::NamedType> trained_parameters(const Graph& model, const TrainingOptions& options);

// Names and types of the states and which of them are whose. The same on every rank.
struct ShardMap {
  // Of each server: its parameters, as indices into all.
  std::vector<std::vector<size_t>> parameters;
  // Of each server: its parameters, then what its optimizer keeps, in its order.
  std::vector<std::vector<runs::NamedType>> states;
};
ShardMap map_shards(std::span<const runs::NamedType> parameters, const OptimizerOptions& optimizer,
                    int64_t servers);

// Talks to all servers. Throws Failure naming a server that does not answer within twice the
// communicator's limit: servers notice first if it is another worker that is missing.
class ServerClient {
 public:
  ServerClient(dist::Communicator& comm, const ServerOptions& options, const ShardMap& map)
      : comm_(comm), options_(options), map_(map) {}

  // Gives `step` new weights unless no batch is left (kNoTicket).
  Answer pull(int64_t epoch, int64_t tickets, GradientStep& step);
  // The gradients of `step`; `request` says the rest.
  void push(Request request, const GradientStep& step);
  // Returns once all workers have ended the epoch.
  Answer end_epoch(int64_t epoch);
  void finish();

  // Worker 0.
  void set_state(int64_t updates, const std::function<Tensor(const runs::NamedType&)>& read);
  void get_state(const std::function<void(const runs::NamedType&, Tensor)>& write);
  std::vector<PushRecord> records(int64_t server);

 private:
  int64_t rank_of(size_t server) const { return options_.workers + static_cast<int64_t>(server); }
  Answer wait_for_answer(size_t server);

  dist::Communicator& comm_;
  const ServerOptions& options_;
  const ShardMap& map_;
  std::vector<float> buffer_;
};

}  // namespace trainyard::train

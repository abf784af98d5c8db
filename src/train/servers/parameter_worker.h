// A worker of parameter servers: its gradients, and its end of the conversation.
#pragma once

#include <functional>
#include <map>

#include "train/servers/parameter_messages.h"
#include "train/servers/parameter_server.h"
#include "train/training_step.h"

namespace trainyard::train {

// The states of a step without update: parameters, then running statistics. Throws Error for
// parameters that are not f32.
std::vector<runs::NamedType> worker_states(const TrainingStep& step);
// The parameters of such a step, without compiling it.
std::vector<runs::NamedType> trained_parameters(const Graph& model, const TrainingOptions& options);

// What a server has of a state: of checkpoints `whole` is one tensor, whoever has its elements.
struct StatePiece {
  runs::NamedType whole;
  bool is_parameter = true;  // false: what the optimizer keeps of one
  int64_t first = 0;
  int64_t elements = 0;
};

// Names and types of the states and which of them are whose. The same on every rank.
struct ShardMap {
  Shards pieces;
  // Of each server: its pieces under names and types of their own. A piece of a matrix is a matrix,
  // because vectors may be spared weight decay.
  std::vector<std::vector<runs::NamedType>> parameters;
  // Of each server: its pieces, then what its optimizer keeps of them, in its order.
  std::vector<std::vector<StatePiece>> states;
};
// `parameters` are those of `model`, whose names no state of an optimizer gets. Throws Error for
// LARS or LAMB with a rule that cuts: they need norms of whole parameters.
ShardMap map_shards(const Graph& model, std::span<const runs::NamedType> parameters,
                    const OptimizerOptions& optimizer, int64_t servers, ShardRule rule);

// Talks to all servers. Throws Failure naming a server that does not answer within twice the
// communicator's limit: servers notice first if it is another worker that is missing.
class ServerClient {
 public:
  ServerClient(dist::Communicator& comm, const ServerOptions& options, const ShardMap& map)
      : comm_(comm), options_(options), map_(map) {}

  // Gives `step` new weights unless no batch is left (kNoTicket).
  Answer pull(int64_t epoch, int64_t tickets, TrainingStep& step);
  // The gradients of `step`; `request` says the rest.
  void push(Request request, const TrainingStep& step);
  // Returns once all workers have ended the epoch.
  Answer end_epoch(int64_t epoch);
  void finish();

  // Worker 0.
  void set_state(int64_t updates, const std::function<Tensor(const StatePiece&)>& read);
  void get_state(const std::function<void(const std::string&, Tensor)>& write);
  std::vector<PushRecord> records(int64_t server);

 private:
  int64_t rank_of(size_t server) const { return options_.workers + static_cast<int64_t>(server); }
  Answer wait_for_answer(size_t server);

  dist::Communicator& comm_;
  const ServerOptions& options_;
  const ShardMap& map_;
  std::vector<float> buffer_;
  std::map<size_t, Tensor> cut_;  // parameters of which several servers have pieces
};

}  // namespace trainyard::train

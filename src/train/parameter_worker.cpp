#include "train/parameter_worker.h"

#include "base/error.h"
#include "train/update_nodes.h"

namespace trainyard::train {
namespace {

runs::NamedType require_f32(std::string name, const TensorType& type) {
  TY_REQUIRE(type.dtype == DType::kF32, "'{}' is {}; parameter servers work with f32 parameters",
             name, type.to_string());
  return {std::move(name), type};
}

std::vector<runs::NamedType> named_states(const TrainingGraph& made) {
  std::vector<runs::NamedType> result;
  for (const StateUpdate& state : made.states) {
    const Value& value = made.graph.value(state.from);
    result.push_back(require_f32(value.name, value.type));
  }
  return result;
}

int64_t total_elements(std::span<const runs::NamedType> types) {
  int64_t sum = 0;
  for (const runs::NamedType& type : types) sum += type.type.shape.num_elements();
  return sum;
}

}  // namespace

std::vector<runs::NamedType> worker_states(const TrainingStep& step) {
  std::vector<runs::NamedType> result;
  for (size_t i = 0; i < step.num_model_states(); ++i) {
    result.push_back(require_f32(step.states()[i].name, step.states()[i].type));
  }
  return result;
}

std::vector<runs::NamedType> trained_parameters(const Graph& model,
                                                const TrainingOptions& options) {
  const TrainingGraph made = make_gradient_graph(model, options);
  std::vector<runs::NamedType> states = named_states(made);
  states.resize(static_cast<size_t>(made.num_parameters));
  return states;
}

ShardMap map_shards(std::span<const runs::NamedType> parameters, const OptimizerOptions& optimizer,
                    int64_t servers, ShardRule rule) {
  std::vector<int64_t> sizes;
  for (const runs::NamedType& p : parameters) sizes.push_back(p.type.shape.num_elements());
  ShardMap map;
  map.parameters = shard_parameters(sizes, servers, rule);
  for (const std::vector<size_t>& shard : map.parameters) {
    std::vector<runs::NamedType> types;
    for (const size_t i : shard) types.push_back(parameters[i]);
    map.states.push_back(named_states(make_update_graph(types, optimizer)));
  }
  return map;
}

Answer ServerClient::wait_for_answer(size_t server) {
  const int64_t rank = rank_of(server);
  const double limit = 2 * comm_.limit_s();
  if (!comm_.find_message({&rank, 1}, limit)) {
    throw_failure("rank {} has waited {} s for an answer of rank {}, a parameter server{}",
                  comm_.rank(), limit, rank, comm_.stopped_ranks());
  }
  return receive_message<Answer>(comm_, rank);
}

Answer ServerClient::pull(int64_t epoch, int64_t tickets, TrainingStep& step) {
  Answer first;
  for (size_t s = 0; s < map_.parameters.size(); ++s) {
    Request request;
    request.kind = RequestKind::kPull;
    request.epoch = epoch;
    request.tickets = s == 0 ? tickets : kOtherTickets;
    send_message(comm_, rank_of(s), request);
    const Answer answer = wait_for_answer(s);
    if (s == 0) first = answer;
    if (first.ticket == kNoTicket) break;
    const auto own = std::span(map_.states[s]).first(map_.parameters[s].size());
    buffer_.resize(static_cast<size_t>(total_elements(own)));
    comm_.receive(rank_of(s), std::as_writable_bytes(std::span(buffer_)));
    std::span<const float> rest = buffer_;
    for (const size_t i : map_.parameters[s])
      step.set_state(i, unpack(step.states()[i].type, rest));
  }
  return first;
}

void ServerClient::push(Request request, const TrainingStep& step) {
  request.kind = RequestKind::kPush;
  for (size_t s = 0; s < map_.parameters.size(); ++s) {
    buffer_.clear();
    for (const size_t i : map_.parameters[s]) pack(step.gradient(i), buffer_);
    send_message(comm_, rank_of(s), request);
    comm_.send(rank_of(s), std::as_bytes(std::span(buffer_)));
  }
}

Answer ServerClient::end_epoch(int64_t epoch) {
  Answer first;
  for (size_t s = 0; s < map_.parameters.size(); ++s) {
    send_message(comm_, rank_of(s),
                 Request{.kind = RequestKind::kEnd, .epoch = epoch, .tickets = kOtherTickets});
  }
  for (size_t s = 0; s < map_.parameters.size(); ++s) {
    const Answer answer = wait_for_answer(s);
    if (s == 0) first = answer;
  }
  return first;
}

void ServerClient::finish() {
  for (size_t s = 0; s < map_.parameters.size(); ++s) {
    send_message(comm_, rank_of(s), Request{.kind = RequestKind::kFinish});
  }
}

void ServerClient::set_state(int64_t updates,
                             const std::function<Tensor(const runs::NamedType&)>& read) {
  for (size_t s = 0; s < map_.states.size(); ++s) {
    buffer_.clear();
    for (const runs::NamedType& state : map_.states[s]) pack(read(state), buffer_);
    send_message(comm_, rank_of(s), Request{.kind = RequestKind::kSetState, .updates = updates});
    comm_.send(rank_of(s), std::as_bytes(std::span(buffer_)));
  }
}

void ServerClient::get_state(const std::function<void(const runs::NamedType&, Tensor)>& write) {
  for (size_t s = 0; s < map_.states.size(); ++s) {
    send_message(comm_, rank_of(s), Request{.kind = RequestKind::kGetState});
    buffer_.resize(static_cast<size_t>(total_elements(map_.states[s])));
    comm_.receive(rank_of(s), std::as_writable_bytes(std::span(buffer_)));
    std::span<const float> rest = buffer_;
    for (const runs::NamedType& state : map_.states[s]) write(state, unpack(state.type, rest));
  }
}

std::vector<PushRecord> ServerClient::records(int64_t server) {
  const int64_t rank = rank_of(static_cast<size_t>(server));
  send_message(comm_, rank, Request{.kind = RequestKind::kRecords});
  std::vector<PushRecord> records(static_cast<size_t>(receive_message<int64_t>(comm_, rank)));
  comm_.receive(rank, std::as_writable_bytes(std::span(records)));
  return records;
}

}  // namespace trainyard::train

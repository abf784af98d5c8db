#include "train/servers/parameter_worker.h"

#include "base/error.h"
#include "train/update_nodes.h"

namespace trainyard::train {
namespace {

runs::NamedType require_f32(std::string name, const TensorType& type) {
  TY_REQUIRE(type.dtype == DType::kF32, "'{}' is {}; parameter servers work with f32 parameters",
             name, type.to_string());
  return {std::move(name), type};
}

// Names and types of all states, in the graph's order.
std::vector<runs::NamedType> named_states(const TrainingGraph& made) {
  std::vector<runs::NamedType> result;
  for (const StateUpdate& state : made.states) {
    const Value& value = made.graph.value(state.from);
    result.push_back(require_f32(value.name, value.type));
  }
  return result;
}

template <typename Piece>
size_t total_elements(const std::vector<Piece>& pieces) {
  int64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.elements;
  return static_cast<size_t>(sum);
}

// The values of a piece within its tensor.
template <typename Values, typename Piece>
auto values_of(Values values, const Piece& piece) {
  return values.subspan(static_cast<size_t>(piece.first), static_cast<size_t>(piece.elements));
}

template <typename Piece>
void append(const Tensor& whole, const Piece& piece, std::vector<float>& to) {
  const auto values = values_of(whole.values<float>(), piece);
  to.insert(to.end(), values.begin(), values.end());
}

// Fills a piece of `whole` from the front of `rest`.
template <typename Piece>
void take(Tensor& whole, const Piece& piece, std::span<const float>& rest) {
  const auto values = values_of(whole.values<float>(), piece);
  std::copy_n(rest.begin(), values.size(), values.begin());
  rest = rest.subspan(values.size());
}

bool is_whole(const ParameterPiece& piece, const TensorType& type) {
  return piece.elements == type.shape.num_elements();
}

runs::NamedType piece_type(const runs::NamedType& whole, const ParameterPiece& piece) {
  if (is_whole(piece, whole.type)) return whole;
  const Shape shape =
      whole.type.shape.rank() > 1 ? Shape{1, piece.elements} : Shape{piece.elements};
  return {fmt::format("{}[{}]", whole.name, piece.first), {whole.type.dtype, shape}};
}

// A name for what the optimizer keeps of a parameter which nothing in the network has.
std::string state_name(const Graph& model, const std::string& prefix,
                       const std::string& parameter) {
  const std::string base = prefix + parameter;
  std::string name = base;
  for (int i = 1; model.find_value(name).valid(); ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

// The optimizer of a server is asked for its states by making its update graph; the prefix that it
// puts before a piece's name goes before the whole parameter's name in checkpoints, which therefore
// do not depend on the number of servers.
std::vector<StatePiece> state_pieces(const Graph& model,
                                     std::span<const runs::NamedType> parameters,
                                     std::span<const ParameterPiece> pieces,
                                     std::span<const runs::NamedType> served,
                                     const OptimizerOptions& optimizer) {
  std::vector<StateOwner> owners;
  make_update_graph(served, optimizer, &owners);
  std::vector<StatePiece> result;
  for (const StateOwner& owner : owners) {
    const ParameterPiece& piece = pieces[owner.parameter];
    StatePiece state{.whole = parameters[piece.parameter],
                     .is_parameter = owner.prefix.empty(),
                     .first = piece.first,
                     .elements = piece.elements};
    if (!state.is_parameter) state.whole.name = state_name(model, owner.prefix, state.whole.name);
    result.push_back(std::move(state));
  }
  return result;
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

ShardMap map_shards(const Graph& model, std::span<const runs::NamedType> parameters,
                    const OptimizerOptions& optimizer, int64_t servers, ShardRule rule) {
  std::vector<int64_t> sizes;
  for (const runs::NamedType& p : parameters) sizes.push_back(p.type.shape.num_elements());
  ShardMap map;
  map.pieces = shard_parameters(sizes, servers, rule);
  for (const std::vector<ParameterPiece>& shard : map.pieces) {
    std::vector<runs::NamedType> served;
    for (const ParameterPiece& piece : shard) {
      const runs::NamedType& whole = parameters[piece.parameter];
      const bool needs_norm = optimizer.kind == "lars" || optimizer.kind == "lamb";
      TY_REQUIRE(!needs_norm || is_whole(piece, whole.type),
                 "LARS and LAMB need the norm of all of '{}', which this rule cuts into pieces for "
                 "several "
                 "servers; use `shard` even",
                 whole.name);
      served.push_back(piece_type(whole, piece));
    }
    map.states.push_back(state_pieces(model, parameters, shard, served, optimizer));
    map.parameters.push_back(std::move(served));
  }
  return map;
}

// Twice the limit: see the class.
Answer ServerClient::wait_for_answer(size_t server) {
  const int64_t rank = rank_of(server);
  const double limit = 2 * comm_.limit_s();
  if (!comm_.find_message({&rank, 1}, limit)) {
    throw_failure("rank {} has waited {} s for an answer of rank {}, a parameter server{}",
                  comm_.rank(), limit, rank, comm_.stopped_ranks());
  }
  return receive_message<Answer>(comm_, rank);
}

// The first server hands out batches. Weights of several servers may be of different updates when
// workers are asynchronous; within one server they are of one.
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
    buffer_.resize(total_elements(map_.pieces[s]));
    comm_.receive(rank_of(s), std::as_writable_bytes(std::span(buffer_)));
    std::span<const float> rest = buffer_;
    for (const ParameterPiece& piece : map_.pieces[s]) {
      const TensorType& type = step.states()[piece.parameter].type;
      if (is_whole(piece, type)) {
        step.set_state(piece.parameter, unpack(type, rest));
      } else {
        take(cut_.try_emplace(piece.parameter, type).first->second, piece, rest);
      }
    }
  }
  if (first.ticket == kNoTicket) return first;
  // Only now are all pieces of a cut parameter there.
  for (const auto& [parameter, tensor] : cut_) step.set_state(parameter, tensor);
  return first;
}

void ServerClient::push(Request request, const TrainingStep& step) {
  request.kind = RequestKind::kPush;
  for (size_t s = 0; s < map_.parameters.size(); ++s) {
    buffer_.clear();
    for (const ParameterPiece& piece : map_.pieces[s]) {
      append(step.gradient(piece.parameter), piece, buffer_);
    }
    send_message(comm_, rank_of(s), request);
    comm_.send(rank_of(s), std::as_bytes(std::span(buffer_)));
  }
}

// All servers are told before any is waited for: each answers only when every worker has ended.
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
                             const std::function<Tensor(const StatePiece&)>& read) {
  for (size_t s = 0; s < map_.states.size(); ++s) {
    buffer_.clear();
    for (const StatePiece& state : map_.states[s]) append(read(state), state, buffer_);
    send_message(comm_, rank_of(s), Request{.kind = RequestKind::kSetState, .updates = updates});
    comm_.send(rank_of(s), std::as_bytes(std::span(buffer_)));
  }
}

void ServerClient::get_state(const std::function<void(const std::string&, Tensor)>& write) {
  std::map<std::string, Tensor> whole;
  for (size_t s = 0; s < map_.states.size(); ++s) {
    send_message(comm_, rank_of(s), Request{.kind = RequestKind::kGetState});
    buffer_.resize(total_elements(map_.states[s]));
    comm_.receive(rank_of(s), std::as_writable_bytes(std::span(buffer_)));
    std::span<const float> rest = buffer_;
    for (const StatePiece& state : map_.states[s]) {
      take(whole.try_emplace(state.whole.name, state.whole.type).first->second, state, rest);
    }
  }
  for (auto& [name, tensor] : whole) write(name, std::move(tensor));
}

std::vector<PushRecord> ServerClient::records(int64_t server) {
  const int64_t rank = rank_of(static_cast<size_t>(server));
  send_message(comm_, rank, Request{.kind = RequestKind::kRecords});
  std::vector<PushRecord> records(static_cast<size_t>(receive_message<int64_t>(comm_, rank)));
  comm_.receive(rank, std::as_writable_bytes(std::span(records)));
  return records;
}

}  // namespace trainyard::train

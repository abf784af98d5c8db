// What workers and parameter servers say to each other. A request is answered only when its worker
// waits for the answer, so that no server ever waits for a worker that waits for another server.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/stopwatch.h"
#include "dist/communicator.h"
#include "tensor/tensor.h"
#include "train/servers/parameter_server.h"

namespace trainyard::train {

// How many times as long others may be silent while worker 0 tests and writes.
inline constexpr double kBetweenEpochs = 10;

enum class RequestKind : int64_t {
  kSetState,  // then the shard's states; worker 0
  kGetState,  // answered by the shard's states; worker 0
  kPull,      // answered by an Answer, and the shard's parameters unless its ticket is kNoTicket
  kPush,      // then the shard's gradients
  kEnd,       // of the epoch; answered by an Answer once all workers have said so
  kRecords,   // of the epoch; answered by their number and the records; worker 0
  kFinish,    // the worker says nothing any more
};

struct Request {
  RequestKind kind = RequestKind::kPull;
  int64_t epoch = 0;
  int64_t tickets = 0;  // kPull, kEnd: batches of the epoch, or kOtherTickets
  int64_t updates = 0;  // kSetState: done so far
  int64_t stop = 0;     // kPush: 1 if no further batches are to be given out
  // kPush
  double loss = 0;
  MetricValues metrics = {};
  int64_t images = 0;
  double compute_s = 0;
  double wait_s = 0;
};

// No batch is left in the epoch.
inline constexpr int64_t kNoTicket = -1;
// Another server, the first, gives out the batches.
inline constexpr int64_t kOtherTickets = -1;

struct Answer {
  int64_t ticket = kNoTicket;  // the batch to compute next
  int64_t stopped = 0;         // kEnd: whether a worker asked to stop
  // Of the epoch so far, all workers.
  int64_t gradients = 0;
  int64_t images = 0;
  MetricValues metrics = {};
  double loss = 0;  // sum over images
};

template <typename Message>
void send_message(dist::Communicator& comm, int64_t to, const Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  comm.send(to, std::as_bytes(std::span(&message, 1)));
}

template <typename Message>
Message receive_message(dist::Communicator& comm, int64_t from) {
  static_assert(std::is_trivially_copyable_v<Message>);
  Message message;
  comm.receive(from, std::as_writable_bytes(std::span(&message, 1)));
  return message;
}

// Tensors travel one after the other, row-major.
inline void pack(const Tensor& tensor, std::vector<float>& to) {
  const std::span<const float> values = tensor.values<float>();
  to.insert(to.end(), values.begin(), values.end());
}

// Takes the tensor's elements from the front of `rest`.
inline Tensor unpack(const TensorType& type, std::span<const float>& rest) {
  Tensor tensor(type);
  const std::span<float> to = tensor.values<float>();
  std::copy_n(rest.begin(), to.size(), to.begin());
  rest = rest.subspan(to.size());
  return tensor;
}

}  // namespace trainyard::train

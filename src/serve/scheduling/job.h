// A request that a network can compute: inputs checked, in the network's order.
#pragma once

#include <memory>
#include <vector>

#include "serve/models/network.h"
#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

struct Job {
  InferRequest request;
  InferDone done;
  Shapes shapes;                       // with the rows in front, if the network has a batch
  std::vector<const std::byte*> data;  // null for pictures that are not decoded yet
  int64_t rows = 1;
  int64_t priority = 0;  // smaller goes first
  Clock::time_point deadline = Clock::time_point::max();
  uint64_t order = 0;  // of arrival
};

using JobPointer = std::unique_ptr<Job>;

// Throws RequestError naming the input, what was expected and what was found.
JobPointer make_job(const Network& network, InferRequest request, InferDone done);

// Whether there is something to decode.
bool has_pictures(const Job& job);

// Decodes, resizes and normalizes the pictures of a job, if it has any. Throws Error for what is
// no picture.
void decode_pictures(const Network& network, Job& job);

// Whether two jobs differ in their rows alone.
bool same_but_rows(const Job& a, const Job& b);

}  // namespace trainyard::serve

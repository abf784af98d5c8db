// A request that a network can compute: inputs checked, in the network's order.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/models/network.h"
#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

struct Job {
  InferRequest request;
  InferDone done;
  Shapes shapes;  // with the rows in front, if the network has a batch
  // Null for texts, and for pictures that are not decoded yet.
  std::vector<const std::byte*> data;
  std::vector<std::span<const std::string>> texts;  // of inputs that have them; of others none
  std::vector<size_t> sources;                      // which of the request's inputs each is
  int64_t rows = 1;
  int64_t priority = 0;  // smaller goes first
  Clock::time_point deadline = Clock::time_point::max();
  uint64_t order = 0;                         // of arrival
  std::string cache_key = {};                 // of the answer; empty: it is not kept
  std::shared_ptr<Tensor> decoded = nullptr;  // pictures so far
  size_t next_picture = 0;
};

using JobPointer = std::unique_ptr<Job>;

// Throws RequestError naming the input, what was expected and what was found.
JobPointer make_job(const Network& network, InferRequest request, InferDone done);

// Whether there is something to decode.
bool has_pictures(const Job& job);

struct PixelCount {
  int64_t sum = 0;
  int64_t largest = 0;  // of one picture
};
// Of all pictures that are still to be decoded, by their headers.
PixelCount pixels_to_decode(const Job& job);

// Decodes, resizes and normalizes the next picture of a job; false once there is none left. Throws
// Error for what is no picture.
bool decode_picture(const Network& network, Job& job);
// All that are left.
void decode_pictures(const Network& network, Job& job);

// Whether two jobs differ in their rows alone.
bool same_but_rows(const Job& a, const Job& b);

}  // namespace trainyard::serve

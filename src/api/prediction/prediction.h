// What training or running a network takes on hardware that is not there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/model.h"

namespace trainyard::api {

struct Question {
  std::string device = "a100";  // of `trainyard devices`, like stack and links
  std::string stack = {};       // empty: the one that stands for the device
  std::string precision = "fp32";
  bool inference = false;
  int64_t batch = 32;  // per worker
  std::vector<int64_t> workers = {1};
  int64_t per_host = 8;
  std::string inside = {};   // link between devices of a host; empty: the device's own
  std::string network = {};  // link between hosts; empty: the device's usual one
};

// Predicted, for one number of workers.
struct Prediction {
  int64_t workers = 1;
  double step_s = 0;
  double exposed_communication_s = 0;  // of it
  double images_per_s = 0;
  double memory_bytes = 0;  // of a worker
  bool fits = true;
  std::string limit;  // what the step waits for, in words
};

// The model is of batch 1. Throws Error naming what is unknown, with the nearest names.
std::vector<Prediction> predict(const Model& model, const Question& question);

}  // namespace trainyard::api

// One training step (or inference pass) on one device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/predict/op_time.h"
#include "cluster/predict/profile.h"

namespace trainyard::predict {

enum class Mode : uint8_t { kTraining, kInference };

// Seconds. The host issues kernels while the device works, so that the slower of the two sets the
// pace; `device` and `host` are what each would need alone.
struct StepTime {
  double forward = 0;
  double backward = 0;
  double update = 0;
  double copy = 0;  // of the input, where it is part of the step
  double device = 0;
  double host = 0;
  double compute_bound = 0;  // share of the device's time
  double total() const { return forward + backward + update + copy; }
};

// `updates`: whether a training step ends with the update of the weights.
StepTime predict_step(const NetworkProfile& profile, const Roofline& roofline, double batch,
                      Mode mode, bool updates = true);

struct LayerTime {
  const OpProfile* op = nullptr;
  OpTime time;
};
std::vector<LayerTime> predict_layers(const NetworkProfile& profile, const Roofline& roofline,
                                      double batch, Mode mode);

// Bytes on the device: weights, gradients and optimizer state, values at their peak, and what the
// runtime of a GPU takes for itself.
double predict_memory(const NetworkProfile& profile, const Device& device, double batch,
                      Precision precision, Mode mode);

}  // namespace trainyard::predict

#include "cluster/predict/step.h"

#include <algorithm>
#include <cmath>

namespace trainyard::predict {
namespace {

// Context, libraries and kernel scratch of a GPU runtime.
constexpr double kRuntimeBytes = 500e6;

double combine(double host, double device, bool synchronous) {
  if (synchronous) return host + device;
  if (host <= 0 || device <= 0) return host + device;
  // The norm of order 4: order 1 would be one after the other, infinity a perfect overlap.
  const double host2 = host * host;
  const double device2 = device * device;
  return std::sqrt(std::sqrt(host2 * host2 + device2 * device2));
}

}  // namespace

StepTime predict_step(const NetworkProfile& profile, const Roofline& roofline, double batch,
                      Mode mode, bool updates) {
  StepTime step;
  double forward_kernels = 0;
  double backward_kernels = 0;
  double compute_bound = 0;
  const auto note = [&](const PassTime& pass, double count, double& kernels) {
    kernels += count * pass.kernels;
    if (pass.bound == Bound::kCompute) compute_bound += count * pass.seconds;
    return count * pass.seconds;
  };
  for (const OpProfile& op : profile.ops) {
    if (mode == Mode::kInference) {
      step.forward += note(roofline.inference(op, batch), op.count, forward_kernels);
      continue;
    }
    const OpTime time = roofline.training(op, batch);
    step.forward += note(time.forward, op.count, forward_kernels);
    step.backward += note(time.data_gradient, op.count, backward_kernels) +
                     note(time.weight_gradient, op.count, backward_kernels);
  }
  if (mode == Mode::kTraining && updates) {
    step.update = roofline.update_seconds(profile.parameters);
    forward_kernels += roofline.update_kernels() * profile.parameter_tensors;
  } else if (mode == Mode::kTraining) {
    forward_kernels += roofline.zero_kernels() * profile.parameter_tensors;
  }
  step.device = step.total();
  step.host = roofline.host_seconds(forward_kernels, backward_kernels);
  step.compute_bound = step.device > 0 ? compute_bound / step.device : 0;
  const double stretch =
      step.device > 0 ? combine(step.host, step.device, roofline.synchronous()) / step.device : 1;
  step.forward *= stretch;
  step.backward *= stretch;
  step.update *= stretch;
  step.copy = roofline.copy_seconds(profile.input, batch);
  return step;
}

std::vector<LayerTime> predict_layers(const NetworkProfile& profile, const Roofline& roofline,
                                      double batch, Mode mode) {
  std::vector<LayerTime> layers;
  for (const OpProfile& op : profile.ops) {
    LayerTime layer{&op, {}};
    if (mode == Mode::kInference) {
      layer.time.forward = roofline.inference(op, batch);
    } else {
      layer.time = roofline.training(op, batch);
    }
    layers.push_back(layer);
  }
  return layers;
}

double predict_memory(const NetworkProfile& profile, const Device& device, double batch,
                      Precision precision, Mode mode) {
  const double scale = bytes_per_element(precision) / 4;
  const double runtime = device.is_cpu() ? 0 : kRuntimeBytes;
  if (mode == Mode::kInference) {
    return profile.weight_bytes * scale + profile.inference_bytes * scale * batch + runtime;
  }
  // Weights, gradients and momentum stay in single precision at least.
  const double state = 3 * profile.weight_bytes * std::max(1.0, scale);
  return state + profile.training_bytes * scale * batch + runtime;
}

}  // namespace trainyard::predict

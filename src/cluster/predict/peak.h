// Theory and practice of inference: FLOPs over the published peak, and what is reached.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/predict/device.h"
#include "cluster/predict/measurements.h"
#include "cluster/predict/networks.h"
#include "cluster/predict/predict.h"
#include "cluster/predict/stack.h"

namespace trainyard::predict {

struct PeakRow {
  std::string counted_by;       // whose FLOP count
  double flops = 0;             // of one image, 2 per multiply-add
  double single_s = 0;          // theoretical time of one image
  double double_s = 0;          // 0: the device has no published fp64 peak
  double practical = 0;         // images/s in single precision
  double practical_double = 0;  // in double; 0: not known
  std::string practical_source;
  std::string practical_origin = "predicted";  // or "published"

  double single_images_per_s() const { return 1 / single_s; }
  double double_images_per_s() const { return double_s > 0 ? 1 / double_s : 0; }
  double ratio() const { return practical * single_s; }
  double double_ratio() const { return practical_double * double_s; }
};

// Our own count and the published ones, each against the speed that `model` predicts at `batch`
// and, where there is one, the fastest published measurement on this device.
std::vector<PeakRow> peak_rows(const Network& network, const std::string& name,
                               const Device& device, const Stack& stack, Model model,
                               int64_t batch);

}  // namespace trainyard::predict

// Measures this machine: its peaks, and what each family of operators costs on the engine, as a
// device and a software stack that predictions can use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/predict/device.h"
#include "cluster/predict/measured_fit.h"
#include "cluster/predict/stack.h"
#include "engine/bench.h"
#include "engine/device/device.h"
#include "ir/graph.h"

namespace trainyard::measure {

struct CalibrationGraph {
  std::string name;
  std::function<Graph(int64_t batch)>
      build;  // ends in scores of classes, so that it can be trained
  std::vector<int64_t> inference_batches;
  std::vector<int64_t> training_batches;
};

// All of them, or a few tiny ones that show the way only.
std::vector<CalibrationGraph> calibration_graphs();
std::vector<CalibrationGraph> quick_calibration_graphs();

struct CalibrationOptions {
  int threads = 0;                              // 0: all cores
  std::shared_ptr<device::Device> device = {};  // of libtorch, in f32; null: our engine
  double seconds = 70;                          // for measured runs; compiling comes on top
  std::vector<CalibrationGraph> graphs = calibration_graphs();
  // Called now and then with the share that is done, 0 to 1, and what comes next.
  std::function<void(double share, std::string_view what)> progress;
};

struct ThreadScaling {
  std::string_view what;
  double seconds_one = 0;
  double seconds_all = 0;
};

// What a device of libtorch reaches.
struct DevicePeak {
  double flops_per_s = 0;  // of a product of large matrices, in f32
  double bytes_per_s = 0;  // of a sum of long rows, read and written
};
// Sizes grow until a run takes long enough to be timed; takes about two seconds.
DevicePeak measure_device_peak(const std::shared_ptr<device::Device>& device, int threads);

struct Calibration {
  int threads = 0;
  runtime::MachinePeak peak;           // of our engine alone
  std::vector<ThreadScaling> scaling;  // empty with one thread or a device
  std::vector<predict::MeasuredSample> samples;
  predict::Device device;
  predict::Stack stack;
};

Calibration calibrate(const CalibrationOptions& options);

// What the catalog calls what calibrate() measures: "this", "this-2" with fewer threads than there
// are, "torch-cuda-0". Null: our engine.
std::string calibrated_id(const device::Device* device, int64_t threads);

}  // namespace trainyard::measure

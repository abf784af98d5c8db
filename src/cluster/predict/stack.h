// A software stack and how much of a device it gets out, as fitted to published measurements.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "cluster/predict/measured.h"
#include "cluster/predict/paleo/cost.h"

namespace trainyard::predict {

// The few numbers that say how a stack uses one class of device (GPU or CPU). Shares are of the
// published peaks. docs/predict.md defines each one.
struct Efficiency {
  double conv = 0.55;        // share of the fp32 peak of a large convolution as a matrix product
  double gemm = 0.7;         // the same of a large matrix product
  double matrix = 0.4;       // share of the matrix units' peak, fp16
  double tf32 = 0.4;         // share of the matrix units' peak, tf32
  double int8 = 0.35;        // share of the matrix units' peak, int8
  double fp64 = 0.9;         // of the fp64 peak, beside what single precision loses too
  double half = 0.8;         // speed of fp16 without matrix units, relative to fp32
  double memory = 0.7;       // share of the bandwidth
  double cache = 1.2;        // speed of values that fit into the last cache, relative to memory
  double gradient = 0.95;    // speed of gradient products relative to the forward one
  double winograd = 2.0;     // speed-up over the matrix product where minimal filtering applies
  double fourier = 0.5;      // share of `conv` that products of spectra reach
  double direct = 0.125;     // share of `conv` that depthwise convolutions reach
  double depth = 40;         // inner size at which half of the speed is reached
  double occupancy = 30;     // outputs per lane at which half of the speed is reached
  double fused = 1;          // traffic of what can be computed along with the operator before it
  double normalization = 1;  // traffic of batch normalization, relative to its passes
  double layout = 1;         // extra traffic of a product whose layout matrix units do not read
  double launch_us = 10;     // the host's time to issue one kernel
  double backward_launch = 0.7;  // the same in the backward pass, relative to the forward one
  double step_us = 100;          // the host's time for a step whatever is in it
  // The device's time for a product however small. On a CPU: the wait for each further core at the
  // end of a kernel.
  double kernel_us = 2;
  double serial = 0.01;  // share of a CPU's work that one core does alone
  double copy = 0.4;     // share of the host's link for input that is copied in the step
};

// Where a fit starts for a class of device: what a stack of middling quality reaches.
Efficiency prior_efficiency(std::string_view device_class);

// Names and accessors, for catalogs and for fitting.
struct EfficiencyField {
  std::string_view name;
  double Efficiency::*value;
};
std::span<const EfficiencyField> efficiency_fields();

// Until then (cuDNN 7) every release of the libraries was much faster than the one before.
inline constexpr double kMature = 2018;

struct Stack {
  std::string id;
  std::string name;
  bool winograd = false;
  bool fourier = false;
  bool image_by_image = false;  // convolutions are laid out as matrices, one image at a time
  bool matrix_units = false;
  // What fits share: a framework's stacks, and closer a family's, start from one another.
  std::string framework;
  std::string family;
  bool channels_last = false;    // fp16 values lie as matrix units read them
  bool fuses = false;            // kernels for normalization with what follows it
  bool compiled = false;         // graphs are compiled (XLA, torch.compile)
  bool engine = false;           // an inference engine that folds and fuses (TensorRT)
  bool copies_input = false;     // the copy of the batch from the host is part of the step
  bool opencl = false;           // kernels in OpenCL, without the vendor's libraries
  bool casts_weights = false;    // fp16: kept in fp32, converted in every step (mixed precision)
  bool flash_attention = false;  // scores of attention never leave the chip
  bool graph_launch = false;     // a step's kernels are launched as one graph (CUDA graphs)
  double update_kernels = 1;     // issued for each tensor of parameters when it is updated
  double zero_kernels = 0;       // the same to zero its gradient, in steps without update
  double year = kMature;         // of its libraries
  std::string released;          // "2024-10"; empty: not known
  paleo::PercentOfPeak paleo;    // platform percent of peak for --cost-model paleo
  std::string paleo_source;

  // Gradient exchange.
  bool overlaps = true;
  double bucket_bytes = 64e6;
  // Of the bandwidth of a network, of a link made for GPUs (NVLink) and of PCI Express between the
  // devices of a host. These are what collective libraries usually reach; fits stay near them
  // unless rows ask for something else.
  double network_share = 0.7;
  double inside_share = 0.7;
  double pcie_share = 0.5;
  // What waiting for one another costs: a share of the step per doubling of the workers. With one
  // process for all (nn.DataParallel), the share of the host's work that waits its turn.
  double sync = 0;
  bool one_process = false;

  std::map<std::string, Efficiency, std::less<>> efficiency;  // by class: "gpu", "cpu"
  // Speed relative to what the device's own factors say, where rows of this stack were fitted.
  std::map<std::string, double, std::less<>> device_factor;
  // The host's time relative to launch_us and step_us on the machines that were measured.
  std::map<std::string, double, std::less<>> host_factor;
  std::string fitted_to;                             // the rows the numbers come from
  std::map<std::string, int64_t, std::less<>> rows;  // their number by "device/precision"
  std::set<std::string, std::less<>> networks;       // that they are of
  // Of a stack that was measured by operators on one machine, in place of efficiencies.
  std::shared_ptr<const MeasuredCosts> measured;

  // Throws Error if the stack has no figures for this class of device.
  const Efficiency& for_class(std::string_view device_class) const;
  double factor_for(std::string_view device) const;
  double host_factor_for(std::string_view device) const;
  // Rows on one device; all of them without a precision.
  int64_t rows_on(std::string_view device, std::string_view precision = "") const;
  int64_t all_rows() const;
};

}  // namespace trainyard::predict

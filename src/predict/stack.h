// A software stack and how much of a device it gets out, as fitted to published measurements.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "predict/measured.h"
#include "predict/paleo/cost.h"

namespace trainyard::predict {

// The few numbers that say how a stack uses one class of device (GPU or CPU). Shares are of the
// published peaks. docs/predict.md defines each one.
struct Efficiency {
  double conv = 0.5;      // share of peak of a large convolution as a matrix product
  double gemm = 0.7;      // share of peak of a large matrix product
  double memory = 0.6;    // share of the bandwidth
  double gradient = 1.0;  // speed of gradient products relative to the forward one
  double winograd = 2.2;  // speed-up over the matrix product where minimal filtering applies
  double fourier = 0.4;   // share of `conv` that products of spectra reach
  double matrix = 0.4;    // share of `conv` that matrix units reach, of their own peak
  double depth = 40;      // inner size at which half of the speed is reached
  double launch_us = 12;  // the host's time to issue one kernel
  double occupancy = 12;  // outputs per lane at which half of the speed is reached
};

// Where a fit starts for a class of device: what a stack of middling quality reaches.
Efficiency prior_efficiency(std::string_view device_class);

// Names and accessors, for catalogs and for fitting.
struct EfficiencyField {
  std::string_view name;
  double Efficiency::*value;
};
std::span<const EfficiencyField> efficiency_fields();

struct Stack {
  std::string id;
  std::string name;
  std::string inherits;  // the stack whose efficiency was the starting point of the fit
  bool winograd = false;
  bool fourier = false;
  bool image_by_image = false;  // convolutions are laid out as matrices, one image at a time
  bool matrix_units = false;
  paleo::PercentOfPeak paleo;  // platform percent of peak for --cost-model paleo
  std::string paleo_source;

  // Gradient exchange.
  bool overlaps = true;
  double bucket_bytes = 64e6;
  double network_share = 1;  // of a link's bandwidth
  double inside_share = 1;

  std::map<std::string, Efficiency, std::less<>> efficiency;  // by class: "gpu", "cpu"
  // Speed relative to the published peak, by device where rows for it were fitted, otherwise by
  // kind of device.
  std::map<std::string, double, std::less<>> device_factor;
  std::string fitted_to;  // the rows the numbers come from
  // Of a stack that was measured by operators on one machine, in place of efficiencies.
  std::shared_ptr<const MeasuredCosts> measured;

  // Throws Error if the stack has no figures for this class of device.
  const Efficiency& for_class(std::string_view device_class) const;
  double factor_for(std::string_view device, std::string_view kind) const;
};

}  // namespace trainyard::predict

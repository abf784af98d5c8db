#include "cluster/predict/stack.h"

#include "base/error.h"

namespace trainyard::predict {

// Where a fit starts and what it returns to without rows. The defaults of Efficiency are those of
// GPUs; CPUs reach a larger share with small operands and gain less from transformed convolutions.
Efficiency prior_efficiency(std::string_view device_class) {
  Efficiency prior;
  if (device_class == "cpu") {
    prior.conv = 0.8;
    prior.gradient = 0.9;
    prior.winograd = 1.3;
    prior.fourier = 0.25;
    prior.depth = 150;
    prior.occupancy = 8;
    prior.cache = 1;
    prior.kernel_us = 0.3;
  }
  return prior;
}

// One table for reading, writing and fitting: a new figure is one line here.
std::span<const EfficiencyField> efficiency_fields() {
  static constexpr EfficiencyField kAll[] = {
      {"conv", &Efficiency::conv},
      {"gemm", &Efficiency::gemm},
      {"matrix", &Efficiency::matrix},
      {"tf32", &Efficiency::tf32},
      {"int8", &Efficiency::int8},
      {"fp64", &Efficiency::fp64},
      {"half", &Efficiency::half},
      {"memory", &Efficiency::memory},
      {"cache", &Efficiency::cache},
      {"gradient", &Efficiency::gradient},
      {"winograd", &Efficiency::winograd},
      {"fourier", &Efficiency::fourier},
      {"direct", &Efficiency::direct},
      {"depth", &Efficiency::depth},
      {"occupancy", &Efficiency::occupancy},
      {"fused", &Efficiency::fused},
      {"normalization", &Efficiency::normalization},
      {"layout", &Efficiency::layout},
      {"launch_us", &Efficiency::launch_us},
      {"backward_launch", &Efficiency::backward_launch},
      {"step_us", &Efficiency::step_us},
      {"kernel_us", &Efficiency::kernel_us},
      {"copy", &Efficiency::copy},
      {"serial", &Efficiency::serial},
  };
  return kAll;
}

const Efficiency& Stack::for_class(std::string_view device_class) const {
  const auto found = efficiency.find(device_class);
  TY_REQUIRE(found != efficiency.end(),
             "software stack '{}' has no figures for a {}; see `trainyard devices` for the stacks "
             "and what they run on",
             id, device_class);
  return found->second;
}

double Stack::factor_for(std::string_view device) const {
  const auto found = device_factor.find(device);
  return found != device_factor.end() ? found->second : 1.0;
}

// Keys of `rows` are "device/precision".
int64_t Stack::rows_on(std::string_view device, std::string_view precision) const {
  int64_t sum = 0;
  for (const auto& [key, count] : rows) {
    const std::string_view where = key;
    const size_t slash = where.find('/');
    const bool matches = where.substr(0, slash) == device &&
                         (precision.empty() || where.substr(slash + 1) == precision);
    if (matches) sum += count;
  }
  return sum;
}

int64_t Stack::all_rows() const {
  int64_t sum = 0;
  for (const auto& [key, count] : rows) sum += count;
  return sum;
}

double Stack::host_factor_for(std::string_view device) const {
  const auto found = host_factor.find(device);
  return found != host_factor.end() ? found->second : 1.0;
}

}  // namespace trainyard::predict

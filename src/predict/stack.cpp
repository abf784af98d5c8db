#include "predict/stack.h"

#include "base/error.h"

namespace trainyard::predict {

Efficiency prior_efficiency(std::string_view device_class) {
  Efficiency prior;
  if (device_class == "cpu") {
    prior.conv = 0.6;
    prior.gradient = 0.9;
    prior.winograd = 1.3;
    prior.fourier = 0.25;
    prior.depth = 150;
    prior.occupancy = 8;
  }
  return prior;
}

std::span<const EfficiencyField> efficiency_fields() {
  static constexpr EfficiencyField kFields[] = {
      {"conv", &Efficiency::conv},           {"gemm", &Efficiency::gemm},
      {"memory", &Efficiency::memory},       {"gradient", &Efficiency::gradient},
      {"winograd", &Efficiency::winograd},   {"fourier", &Efficiency::fourier},
      {"matrix", &Efficiency::matrix},       {"depth", &Efficiency::depth},
      {"launch_us", &Efficiency::launch_us}, {"occupancy", &Efficiency::occupancy},
  };
  return kFields;
}

const Efficiency& Stack::for_class(std::string_view device_class) const {
  const auto found = efficiency.find(device_class);
  TY_REQUIRE(found != efficiency.end(),
             "software stack '{}' has no figures for a {}; see `trainyard devices` for the stacks "
             "and what they run on",
             id, device_class);
  return found->second;
}

double Stack::factor_for(std::string_view device, std::string_view kind) const {
  for (const std::string_view key : {device, kind}) {
    if (const auto found = device_factor.find(key); found != device_factor.end()) {
      return found->second;
    }
  }
  // From the fits themselves: a K80 gets 0.7 to 0.9 of what its boost peak promises beside later
  // kinds, under TensorFlow and MXNet alike.
  return kind == "kepler" ? 0.75 : 1.0;
}

}  // namespace trainyard::predict

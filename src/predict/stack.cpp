#include "predict/stack.h"

#include "base/error.h"

namespace trainyard::predict {

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

double Stack::factor_for(std::string_view device) const {
  const auto found = device_factor.find(device);
  return found == device_factor.end() ? 1.0 : found->second;
}

}  // namespace trainyard::predict

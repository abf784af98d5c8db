#include "cluster/predict/device.h"

#include "base/error.h"
#include "base/text.h"

namespace trainyard::predict {
namespace {

constexpr std::array<std::string_view, 5> kPrecisionNames = {"fp64", "fp32", "tf32", "fp16",
                                                             "int8"};

}  // namespace

std::string_view precision_name(Precision precision) {
  return kPrecisionNames[static_cast<size_t>(precision)];
}

Precision precision_from_name(std::string_view name) {
  for (const Precision precision : kPrecisions) {
    if (precision_name(precision) == name) return precision;
  }
  const std::vector<std::string> names(kPrecisionNames.begin(), kPrecisionNames.end());
  throw_error("precision '{}' is not known.{} There are: {}", name, did_you_mean(name, names),
              join(names, ", "));
}

double bytes_per_element(Precision precision) {
  constexpr std::array<double, 5> kBytes = {8, 4, 4, 2, 1};
  return kBytes[static_cast<size_t>(precision)];
}

double Device::peak(Precision precision) const {
  const double half = fp16_matrix > 0 ? fp16_matrix : fp16;
  switch (precision) {
    case Precision::kFp64:
      return fp64;
    case Precision::kTf32:
      return tf32 > 0 ? tf32 : fp32;
    case Precision::kFp16:
      return half > 0 ? half : fp32;
    case Precision::kInt8:
      return int8 > 0 ? int8 : peak(Precision::kFp16);
    case Precision::kFp32:
      break;
  }
  return fp32;
}

double Device::matrix_load() const {
  constexpr double kVolta = 512;
  if (fp16_matrix <= 0 || multiprocessors <= 0 || clock_hz <= 0) return 1;
  return fp16_matrix / (2 * static_cast<double>(multiprocessors) * clock_hz) / kVolta;
}

paleo::Machine Device::paleo_machine() const {
  if (paleo) return *paleo;
  return {clock_hz / 1e6, fp32 / 1e9, bytes_per_s / 1e9};
}

std::string RentableInstance::network_text() const {
  if (network.empty()) return "not known";
  return up_to ? "up to " + network : network;
}

}  // namespace trainyard::predict

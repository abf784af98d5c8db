#include "cluster/predict/this_machine.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/yaml.h"

namespace trainyard::predict {
namespace {

// How rates are written: as speeds, which people know, and a kernel as time. Far bytes have their
// whole cost here.
constexpr std::array<std::string_view, kAmounts> kRates = {"gflops", "near_gbps", "far_gbps",
                                                           "weights_gbps", "kernel_us"};
constexpr auto kBytesRate = static_cast<size_t>(Amount::kBytes);
constexpr auto kFarRate = static_cast<size_t>(Amount::kFar);
constexpr auto kKernelRate = static_cast<size_t>(Amount::kKernels);
constexpr double kBillion = 1e9;
constexpr double kMicro = 1e-6;

// A double-quoted scalar.
std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string rates_yaml(Amounts rates) {
  rates[kFarRate] += rates[kBytesRate];
  std::string out = "{";
  for (size_t i = 0; i < kAmounts; ++i) {
    if (rates[i] <= 0) continue;
    const double value = i == kKernelRate ? rates[i] / kMicro : 1 / (rates[i] * kBillion);
    if (out.size() > 1) out += ", ";
    out += fmt::format("{}: {:.6g}", kRates[i], value);
  }
  return out + "}";
}

Amounts read_rates(const YamlView& view) {
  Amounts rates = {};
  for (const auto& [key, value] : view.members()) {
    const auto found = std::find(kRates.begin(), kRates.end(), key);
    if (found == kRates.end()) {
      value.fail("expected gflops, near_gbps, far_gbps, weights_gbps or kernel_us");
    }
    const auto i = static_cast<size_t>(found - kRates.begin());
    const double number = value.positive();
    rates[i] = i == kKernelRate ? number * kMicro : 1 / (number * kBillion);
  }
  rates[kFarRate] = std::max(0.0, rates[kFarRate] - rates[kBytesRate]);
  return rates;
}

// The member of `names` called `key`, as its index.
template <size_t count, typename Name>
size_t index_of(const std::string& key, const YamlView& view, Name&& name) {
  for (size_t i = 0; i < count; ++i) {
    if (name(i) == key) return i;
  }
  std::string all;
  for (size_t i = 0; i < count; ++i) all += fmt::format("{}{}", i > 0 ? ", " : "", name(i));
  view.fail(fmt::format("expected one of {}", all));
}

}  // namespace

std::string this_machine(int64_t threads, int64_t cores) {
  return threads == cores ? std::string(kThisMachine) : fmt::format("{}-{}", kThisMachine, threads);
}

std::string machine_yaml(const Device& device, const Stack& stack) {
  TY_CHECK(stack.measured != nullptr, "a machine that was not measured");
  std::string out = "# This machine, written by `trainyard calibrate`; docs/predict.md.\n";
  out += fmt::format(
      "devices:\n  {}:\n    name: {}\n    kind: {}\n    fp32_gflops: {:.6g}\n    memory_gb: "
      "{:.6g}\n    bandwidth_gbps: {:.6g}\n",
      device.id, yaml_quoted(device.name), device.kind, device.fp32 / 1e9,
      device.memory_bytes / (1024.0 * 1024.0 * 1024.0), device.bytes_per_s / 1e9);
  if (device.clock_hz > 0) out += fmt::format("    clock_mhz: {:.6g}\n", device.clock_hz / 1e6);
  out += fmt::format("    cores: {}\n    stack: {}\n    source: {}\n", device.cores, device.stack,
                     yaml_quoted(device.source));
  out += fmt::format("stacks:\n  {}:\n    name: {}\n    fitted_to: {}\n    measured:\n", stack.id,
                     yaml_quoted(stack.name), yaml_quoted(stack.fitted_to));
  out +=
      fmt::format("      cache_mb: {:.6g}\n      families:\n", stack.measured->cache_bytes / 1e6);
  for (size_t f = 0; f < kFamilies; ++f) {
    if (stack.measured->seconds[f] == std::array<Amounts, kPasses>{}) continue;
    out += fmt::format("        {}:\n", family_name(static_cast<Family>(f)));
    for (size_t p = 0; p < kPasses; ++p) {
      const Amounts& rates = stack.measured->seconds[f][p];
      if (rates == Amounts{}) continue;
      out += fmt::format("          {}: {}\n", pass_name(static_cast<Pass>(p)), rates_yaml(rates));
    }
  }
  return out;
}

MeasuredCosts read_measured_costs(const YamlView& view) {
  view.only({"cache_mb", "families"});
  MeasuredCosts costs;
  costs.cache_bytes = view.at("cache_mb").positive() * 1e6;
  for (const auto& [family_key, family] : view.at("families").members()) {
    const size_t f = index_of<kFamilies>(
        family_key, family, [](size_t i) { return family_name(static_cast<Family>(i)); });
    for (const auto& [pass_key, pass] : family.members()) {
      const size_t p = index_of<kPasses>(pass_key, pass,
                                         [](size_t i) { return pass_name(static_cast<Pass>(i)); });
      costs.seconds[f][p] = read_rates(pass);
    }
  }
  return costs;
}

}  // namespace trainyard::predict

#include "cluster/predict/stacks_yaml.h"

#include <cmath>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace trainyard::predict {
namespace {

constexpr std::string_view kHeading =
    "# Software stacks and how much of a device they get out; docs/predict.md defines the "
    "figures.\n"
    "# Written by `trainyard validate --fit`, which keeps names, properties and PALEO's shares and "
    "fits the rest.\n";

std::string flow(const std::vector<std::string>& members) {
  return fmt::format("{{{}}}", join(members, ", "));
}

// Only what is true: the file is read by people, and a missing flag is false.
void add_properties(const Stack& stack, std::string& out) {
  const std::pair<std::string_view, bool> flags[] = {{"winograd", stack.winograd},
                                                     {"fourier", stack.fourier},
                                                     {"image_by_image", stack.image_by_image},
                                                     {"matrix_units", stack.matrix_units},
                                                     {"channels_last", stack.channels_last},
                                                     {"fuses", stack.fuses},
                                                     {"compiled", stack.compiled},
                                                     {"engine", stack.engine},
                                                     {"copies_input", stack.copies_input},
                                                     {"opencl", stack.opencl},
                                                     {"casts_weights", stack.casts_weights},
                                                     {"flash_attention", stack.flash_attention},
                                                     {"graph_launch", stack.graph_launch},
                                                     {"one_process", stack.one_process}};
  for (const auto& [name, value] : flags) {
    if (value) out += fmt::format("    {}: true\n", name);
  }
  if (stack.year < kMature) out += fmt::format("    year: {:g}\n", stack.year);
  if (stack.update_kernels != 1) {
    out += fmt::format("    update_kernels: {:g}\n", stack.update_kernels);
  }
  if (stack.zero_kernels != 0) {
    out += fmt::format("    zero_kernels: {:g}\n", stack.zero_kernels);
  }
}

void add_exchange(const Stack& stack, std::string& out) {
  out += fmt::format("    overlaps: {}\n    bucket_mb: {:g}\n", stack.overlaps,
                     stack.bucket_bytes / 1e6);
  const std::pair<std::string_view, double> shares[] = {{"network_share", stack.network_share},
                                                        {"inside_share", stack.inside_share},
                                                        {"pcie_share", stack.pcie_share}};
  for (const auto& [name, value] : shares) out += fmt::format("    {}: {:g}\n", name, value);
  if (stack.sync != 0) out += fmt::format("    sync: {:g}\n", stack.sync);
}

template <typename Map>
std::string numbers(const Map& map) {
  std::vector<std::string> members;
  for (const auto& [name, value] : map) members.push_back(fmt::format("{}: {:.4g}", name, value));
  return flow(members);
}

// Four digits: more would change with every fit without changing a prediction.
void add_fitted(const Stack& stack, std::string& out) {
  for (const auto& [name, efficiency] : stack.efficiency) {
    std::vector<std::string> members;
    for (const EfficiencyField& field : efficiency_fields()) {
      members.push_back(fmt::format("{}: {:.4g}", field.name, efficiency.*field.value));
    }
    out += fmt::format("    {}: {}\n", name, flow(members));
  }
  if (!stack.device_factor.empty()) {
    out += fmt::format("    devices: {}\n", numbers(stack.device_factor));
  }
  if (!stack.host_factor.empty()) {
    out += fmt::format("    hosts: {}\n", numbers(stack.host_factor));
  }
  if (!stack.rows.empty()) {
    std::vector<std::string> members;
    for (const auto& [where, count] : stack.rows) {
      members.push_back(fmt::format("{}: {}", where, count));
    }
    out += fmt::format("    rows: {}\n    networks: [{}]\n", flow(members),
                       fmt::join(stack.networks, ", "));
  }
  if (!stack.fitted_to.empty()) out += fmt::format("    fitted_to: \"{}\"\n", stack.fitted_to);
}

std::string factors_yaml(const DeviceFactors& factors) {
  std::string out = fmt::format(
      "# What the same fits found of devices: [computing, memory], beside their published "
      "figures.\n"
      "factors:\n  throttle: {{vector: {:.4g}, matrix: {:.4g}}}\n  feeding: {:.4g}\n",
      factors.vector_throttle, factors.matrix_throttle, factors.feeding);
  const auto add = [&](std::string_view name, const auto& map) {
    out += fmt::format("  {}:\n", name);
    for (const auto& [id, factor] : map) {
      out += fmt::format("    {}: [{:.4g}, {:.4g}]\n", id, factor.compute, factor.memory);
    }
  };
  if (!factors.kinds.empty()) add("kinds", factors.kinds);
  if (!factors.devices.empty()) add("devices", factors.devices);
  return out;
}

}  // namespace

std::string stacks_yaml(const Catalog& catalog) {
  std::string out(kHeading);
  out += "stacks:\n";
  for (const Stack& stack : catalog.stacks()) {
    if (stack.measured != nullptr) continue;  // calibrated, not fitted to rows
    out += fmt::format("  {}:\n    name: \"{}\"\n", stack.id, stack.name);
    if (!stack.framework.empty()) out += fmt::format("    framework: {}\n", stack.framework);
    if (!stack.released.empty()) out += fmt::format("    released: \"{}\"\n", stack.released);
    if (!stack.family.empty()) out += fmt::format("    family: {}\n", stack.family);
    add_properties(stack, out);
    out += fmt::format("    paleo: [{}, {}]\n    paleo_source: \"{}\"\n", stack.paleo.compute,
                       stack.paleo.network, stack.paleo_source);
    add_exchange(stack, out);
    add_fitted(stack, out);
  }
  return out + factors_yaml(catalog.factors()) + intervals_yaml(catalog.intervals());
}

}  // namespace trainyard::predict

// The catalogs: what is built in, extended or overridden by the user's own files.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/predict/device.h"
#include "cluster/predict/interval.h"
#include "cluster/predict/stack.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::predict {

// What fits found about devices beside their published figures.
struct DeviceFactors {
  struct Factor {
    double compute = 1;
    double memory = 1;
  };
  std::map<std::string, Factor, std::less<>> kinds;
  std::map<std::string, Factor, std::less<>> devices;  // beyond their kind
  // How far a busy device goes from its boost clock (0) to its base clock (1).
  double vector_throttle = 0;
  double matrix_throttle = 0;
  // The power of Device::matrix_load() that matrix units lose waiting for operands.
  double feeding = 0;
};

class Catalog {
 public:
  // The built-in files alone.
  static Catalog built_in();
  // The built-in files, then the YAML files of ~/.config/trainyard in order of their names, then
  // `files`. Each may hold any of the sections devices, links, instances, stacks, factors and
  // intervals; a later entry replaces an earlier one of the same name. Throws Error with file, line
  // and field.
  static Catalog load(std::span<const std::string> files);

  std::span<const Device> devices() const { return devices_; }
  std::span<const Link> links() const { return links_; }
  std::span<const RentableInstance> offers() const { return offers_; }
  std::span<const Stack> stacks() const { return stacks_; }

  // These throw Error with the nearest names.
  const Device& device(std::string_view id) const;
  const Link& link(std::string_view id) const;
  // Between hosts of such devices; an empty `id` is what they usually have.
  const Link& between(const Device& device, std::string_view id) const;
  const Stack& stack(std::string_view id) const;
  // The stack that stands for `device` if none is named, in every precision, so that they can be
  // compared: on current GPUs the newest channels-last PyTorch stack without compilation that was
  // measured on the device, or else the newest; none that is older than the device if another is.
  const Stack& default_stack(const Device& device) const;
  // By the price of one device: the cheapest whole instance with it, or accelerators alone, or
  // null.
  const RentableInstance* cheapest(std::string_view device) const;
  // Throws Error with the nearest names.
  const RentableInstance& offer(std::string_view instance) const;

  void add(std::string_view text, const std::string& origin);
  void replace(Stack stack);
  const DeviceFactors& factors() const { return factors_; }
  void set_factors(DeviceFactors factors);
  const Intervals& intervals() const { return intervals_; }
  void set_intervals(Intervals intervals) { intervals_ = std::move(intervals); }

 private:
  void add_section(const YamlView& view, std::string_view section);
  void add_instances(const YamlView& view);

  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::vector<Instance> instances_;
  std::vector<RentableInstance> offers_;  // of the instances
  std::vector<Stack> stacks_;
  DeviceFactors factors_;
  Intervals intervals_;
};

// ~/.config/trainyard, whose YAML files extend every catalog; empty without a home.
std::filesystem::path user_catalog_folder();

// "cpu" or "gpu": which figures of a stack apply.
std::string_view device_class(const Device& device);

}  // namespace trainyard::predict

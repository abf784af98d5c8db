// The catalogs: what is built in, extended or overridden by the user's own files.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/device.h"
#include "predict/stack.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::predict {

class Catalog {
 public:
  // The built-in files alone.
  static Catalog built_in();
  // The built-in files, then the YAML files of ~/.config/trainyard in order of their names, then
  // `files`. Each may hold any of the sections devices, links, prices and stacks; a later entry
  // replaces an earlier one of the same name. Throws Error with file, line and field.
  static Catalog load(std::span<const std::string> files);

  std::span<const Device> devices() const { return devices_; }
  std::span<const Link> links() const { return links_; }
  std::span<const Price> prices() const { return prices_; }
  std::span<const Stack> stacks() const { return stacks_; }

  // These throw Error with the nearest names.
  const Device& device(std::string_view id) const;
  const Link& link(std::string_view id) const;
  const Stack& stack(std::string_view id) const;
  // The stack that stands for `device` if none is named.
  const Stack& default_stack(const Device& device) const;
  // The cheapest whole instance with this device, or the accelerator alone, or null.
  const Price* cheapest(std::string_view device) const;

  void add(std::string_view text, const std::string& origin);
  void replace(Stack stack);

 private:
  void add_section(const YamlView& view, std::string_view section);

  std::vector<Device> devices_;
  std::vector<Link> links_;
  std::vector<Price> prices_;
  std::vector<Stack> stacks_;
};

// ~/.config/trainyard, whose YAML files extend every catalog; empty without a home.
std::filesystem::path user_catalog_folder();

// "cpu" or "gpu": which figures of a stack apply.
std::string_view device_class(const Device& device);

}  // namespace trainyard::predict

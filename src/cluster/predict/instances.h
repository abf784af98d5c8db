// Machines of clouds with their prices: the built-in table, and what of it can be offered.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cluster/predict/device.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::predict {

// catalog/instances.csv.
std::span<const Instance> built_in_instances();

// An instance of a user's catalog, whose links are those of `device` unless it says others.
Instance read_instance(const YamlView& view);

// Null if no price of so many is known.
const Instance* find_accelerators(std::span<const Instance> instances, std::string_view cloud,
                                  std::string_view accelerator, int64_t count);

// Whether accelerators that are rented apart are offered with this machine.
bool takes_accelerators(const Instance& machine);

struct HourlyPrice {
  double usd = 0;
  bool complete = true;  // false: of the accelerators alone, no price of the machine is published
  std::string date;      // of the older part: a sum is as old as that
  std::string source;
};

// Of the machine with `accelerators`, which may be null. No value if none is published.
std::optional<HourlyPrice> hourly_price(const Instance& machine, const Instance* accelerators,
                                        bool spot);

// All that can be predicted for and has a price, in the order of the table.
std::vector<RentableInstance> offers_of(std::span<const Instance> instances);

}  // namespace trainyard::predict

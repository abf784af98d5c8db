// The measured machine as an entry of the catalog: its device and its stack in one file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/predict/device.h"
#include "cluster/predict/measured.h"
#include "cluster/predict/stack.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::predict {

// The device that `trainyard calibrate` makes: "this" with all cores of the machine, "this-2" with
// two threads of more.
inline constexpr std::string_view kThisMachine = "this";
std::string this_machine(int64_t threads, int64_t cores);

// A catalog file; Catalog::add() reads it back, rates to six digits.
std::string machine_yaml(const Device& device, const Stack& stack);

// The section `measured` of a stack. Throws Error with file, line and field.
MeasuredCosts read_measured_costs(const YamlView& view);

}  // namespace trainyard::predict

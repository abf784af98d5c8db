// The measured machine as an entry of the catalog: its device and its stack in one file.
#pragma once

#include <string>
#include <string_view>

#include "predict/device.h"
#include "predict/measured.h"
#include "predict/stack.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::predict {

// Device and stack that `trainyard calibrate` makes.
inline constexpr std::string_view kThisMachine = "this";
inline constexpr std::string_view kThisStack = "trainyard-this";

// A catalog file; Catalog::add() reads it back, rates to six digits.
std::string machine_yaml(const Device& device, const Stack& stack);

// The section `measured` of a stack. Throws Error with file, line and field.
MeasuredCosts read_measured_costs(const YamlView& view);

}  // namespace trainyard::predict

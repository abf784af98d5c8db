// Fitted stacks as a catalog file.
#pragma once

#include <string>

#include "cluster/predict/catalog.h"

namespace trainyard::predict {

// All stacks but those measured on one machine, and the factors of devices.
std::string stacks_yaml(const Catalog& catalog);

}  // namespace trainyard::predict

// How much a model's configuration may ask for.
#pragma once

#include <string_view>

#include "serve/models/model_config.h"

namespace trainyard::serve {

// Configurations come over the network too. Throws Error that names the field and its bounds.
void check_bounds(const ModelConfig& config, std::string_view origin);

}  // namespace trainyard::serve

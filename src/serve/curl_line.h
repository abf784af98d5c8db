// What a user may paste into a shell to try a model.
#pragma once

#include <string>

#include "serve/models/model_version.h"

namespace trainyard::serve {

// Works as it stands: zeros of the network's own shape, or a picture. Whatever names a file gives
// to its inputs, a shell runs nothing but curl, and a terminal shows nothing but text.
std::string curl_line(const ModelVersion& model, const std::string& address, bool token);

}  // namespace trainyard::serve

// Requests that are a picture and nothing else.
#pragma once

#include <string_view>

#include "serve/model_version.h"

namespace trainyard::serve {

// A JPEG or PNG file, by its first bytes.
bool is_picture(std::string_view body);

// Asks for the best five classes of an output that has classes, and for all others as JSON: what
// somebody with curl wants to see.
void prefer_classes(const ModelVersion& model, InferRequest& request);

}  // namespace trainyard::serve

// The token that clients must bear where a server wants one.
#pragma once

#include <string_view>

#include "http/http.h"

namespace trainyard::serve {

// Throws RequestError (kUnauthorized) unless the request bears this token.
void require_bearer(const HttpRequest& request, std::string_view token);

}  // namespace trainyard::serve

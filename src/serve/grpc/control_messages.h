// All calls but inference: their messages are those of open_inference.proto, which lies in the
// program, and what they ask and answer is what the calls of the same meaning over HTTP do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/http.h"

namespace trainyard::serve {

struct HttpForm {
  std::string_view method;
  std::string target;
  std::string body;
};

// `method` is the last part of a call's name, as "ModelMetadata". Nothing: there is no such call.
// Throws Error for what is not its message.
std::optional<HttpForm> read_control(std::string_view method, const std::string& message);

// The message of an answer over HTTP. Throws RequestError for one that tells an error.
std::string write_control(std::string_view method, const HttpResponse& response);

// The text of {"error": "…"}.
std::string error_text(const HttpResponse& response);

}  // namespace trainyard::serve

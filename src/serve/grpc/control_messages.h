// All calls but inference: their messages are those of open_inference.proto, which lies in the
// program, and what they ask and answer is what the calls of the same meaning over HTTP do.
#pragma once

#include <memory>
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

class ControlMessages {
 public:
  ControlMessages();
  ~ControlMessages();
  ControlMessages(const ControlMessages&) = delete;
  ControlMessages& operator=(const ControlMessages&) = delete;

  // `method` is the last part of a call's name, as "ModelMetadata". Nothing: there is no such call.
  // Throws Error for what is not its message.
  std::optional<HttpForm> read(std::string_view method, const std::string& message) const;
  // The message of an answer over HTTP. Throws RequestError for one that tells an error.
  std::string write(std::string_view method, const HttpResponse& response) const;

 private:
  struct Messages;
  std::unique_ptr<Messages> messages_;
};

// The text of {"error": "…"}.
std::string error_text(const HttpResponse& response);

}  // namespace trainyard::serve

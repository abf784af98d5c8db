// Why a request is refused, as HTTP says it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace trainyard::serve {

enum class Status : int {
  kOk = 200,
  kBadRequest = 400,
  kUnauthorized = 401,
  kForbidden = 403,
  kNotFound = 404,
  kMethodNotAllowed = 405,
  kRequestTimeout = 408,
  kLengthRequired = 411,
  kTooLarge = 413,
  kUnsupportedMedia = 415,
  kMisdirected = 421,
  kTooManyRequests = 429,
  kHeadersTooLarge = 431,
  kInternal = 500,
  kNotImplemented = 501,
  kUnavailable = 503,
};

// Ends one request with a status and a text; never the server. Error, thrown by what lies below,
// counts as kBadRequest, anything else as kInternal.
class RequestError : public std::runtime_error {
 public:
  RequestError(Status status, const std::string& text, int retry_after_s = 0)
      : std::runtime_error(text), status_(status), retry_after_s_(retry_after_s) {}

  Status status() const { return status_; }
  // 0: says nothing.
  int retry_after_s() const { return retry_after_s_; }

 private:
  Status status_;
  int retry_after_s_;
};

// Another method than the ones that a path knows, which the answer names (RFC 9110, 15.5.6).
class WrongMethod : public RequestError {
 public:
  WrongMethod(const std::string& text, std::string allowed)
      : RequestError(Status::kMethodNotAllowed, text), allowed_(std::move(allowed)) {}

  const std::string& allowed() const { return allowed_; }

 private:
  std::string allowed_;
};

template <typename... Args>
[[noreturn]] void refuse(Status status, fmt::format_string<Args...> format, Args&&... args) {
  throw RequestError(status, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace trainyard::serve

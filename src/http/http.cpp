#include "http/http.h"

#include <algorithm>

#include "base/json.h"
#include "base/printable.h"

namespace trainyard::serve {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (same_name(key, name)) return value;
  }
  return {};
}

void HttpResponse::add_header(std::string_view name, std::string_view value) {
  headers.append(name).append(": ").append(value).append("\r\n");
}

// Texts quote what clients have sent, whatever bytes that was.
HttpResponse error_response(Status status, std::string_view text) {
  return {.status = status, .body = Json::object({{"error", printable(text)}}).dump(-1)};
}

std::string_view reason_phrase(Status status) {
  switch (status) {
    case Status::kOk:
      return "OK";
    case Status::kBadRequest:
      return "Bad Request";
    case Status::kUnauthorized:
      return "Unauthorized";
    case Status::kForbidden:
      return "Forbidden";
    case Status::kNotFound:
      return "Not Found";
    case Status::kMethodNotAllowed:
      return "Method Not Allowed";
    case Status::kRequestTimeout:
      return "Request Timeout";
    case Status::kLengthRequired:
      return "Length Required";
    case Status::kTooLarge:
      return "Content Too Large";
    case Status::kUnsupportedMedia:
      return "Unsupported Media Type";
    case Status::kMisdirected:
      return "Misdirected Request";
    case Status::kTooManyRequests:
      return "Too Many Requests";
    case Status::kHeadersTooLarge:
      return "Request Header Fields Too Large";
    case Status::kInternal:
      return "Internal Server Error";
    case Status::kNotImplemented:
      return "Not Implemented";
    case Status::kUnavailable:
      return "Service Unavailable";
  }
  return "Unknown";
}

}  // namespace trainyard::serve

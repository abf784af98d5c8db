#include "serve/page.h"

#include <fmt/format.h>

#include "base/error.h"
#include "serve/embedded.h"

namespace trainyard::serve {
namespace {

// One file: nothing is fetched from elsewhere, so it works offline.
std::string html() {
  constexpr std::string_view kWithout =
      "<p>This program was built without Node, so there is no page. <a href=\"/openapi.json\">The "
      "calls</a> and <a href=\"/metrics\">metrics</a> are there.</p>";
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" "
      "href=\"data:,\"><title>trainyard serve</title><style>{}"
      "</style></head><body>{}<script>{}</script></body></html>",
      web_style(), web_script().empty() ? kWithout : "", web_script());
}

}  // namespace

std::optional<Page> find_page(std::string_view path) {
  if (path == "/" || path == "/docs") return Page{"text/html; charset=utf-8", html()};
  if (path == "/openapi.json") {
    return Page{"application/json", std::string(embedded_text(embedded_files(), "openapi.json"))};
  }
  if (path == "/open_inference.proto") {
    return Page{"text/plain; charset=utf-8",
                std::string(embedded_text(embedded_files(), "open_inference.proto"))};
  }
  return std::nullopt;
}

}  // namespace trainyard::serve

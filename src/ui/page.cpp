#include "ui/page.h"

#include <fmt/format.h>

namespace trainyard::ui {
namespace {

std::string html() {
  constexpr std::string_view kWithout =
      "<p>This program was built without Node, so there is no page. <a href=\"/api/runs\">The "
      "runs</a> are there as JSON.</p>";
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" href=\"data:,\">"
      "<title>Trainyard runs</title><link rel=\"stylesheet\" href=\"/ui.css\"></head><body>{}"
      "<script src=\"/ui.js\"></script></body></html>",
      web_script().empty() ? kWithout : "");
}

}  // namespace

std::string_view content_policy() {
  return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
         "data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

std::optional<PageFile> find_page(std::string_view path) {
  if (path == "/") return PageFile{"text/html; charset=utf-8", html()};
  if (path == "/ui.js")
    return PageFile{"text/javascript; charset=utf-8", std::string(web_script())};
  if (path == "/ui.css") return PageFile{"text/css; charset=utf-8", std::string(web_style())};
  return std::nullopt;
}

}  // namespace trainyard::ui

#include "serve/page.h"

namespace trainyard::serve {

std::optional<Page> find_page(std::string_view path) {
  if (path == "/") return Page{"text/plain; charset=utf-8", "Healthy"};
  return std::nullopt;
}

}  // namespace trainyard::serve

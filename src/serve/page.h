// The pages that people look at.
#pragma once

#include <optional>
#include <string_view>

namespace trainyard::serve {

struct Page {
  std::string_view content_type;
  std::string_view body;
};

// Nothing if no page is at that path.
std::optional<Page> find_page(std::string_view path);

}  // namespace trainyard::serve

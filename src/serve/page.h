// The pages that people look at.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainyard::serve {

struct Page {
  std::string_view content_type;
  std::string body;
};

// Nothing if no page is at that path.
std::optional<Page> find_page(std::string_view path);

// Built from web/; the script is empty if it was built without Node.
std::string_view web_script();
std::string_view web_style();

}  // namespace trainyard::serve

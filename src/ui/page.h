// The page and its parts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainyard::ui {

struct PageFile {
  std::string_view content_type;
  std::string body;
};

// Nothing if no part of the page is at that path.
std::optional<PageFile> find_page(std::string_view path);
// Scripts and styles of this server alone, none inside the page; no frames.
std::string_view content_policy();

// Built from web/; the script is empty if it was built without Node.
std::string_view web_script();
std::string_view web_style();

}  // namespace trainyard::ui

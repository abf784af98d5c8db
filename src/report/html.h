// Documents as one HTML file that needs no other file and no network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"

namespace trainyard::report {

std::string html_escaped(std::string_view text);
// Escaped, with `code` and **strong** as elements, and numbers that stay in a line with their unit.
std::string marked_html(std::string_view text);
// The items of a paragraph that is a list: each begins with "- " in a line of its own. Empty for
// one that is none.
std::vector<std::string> list_items(std::string_view text);

// `command` goes under the title. Charts are drawn by a script in the page; if the program was
// built without it (no Node), their tables are shown instead, and the page says so. Heat maps as
// pictures need no script of their own, which makes a page small enough for a cell of a notebook.
enum class HeatMaps : uint8_t { kDrawnByScript, kPictures };
std::string html_page(const Document& document, const std::string& command,
                      HeatMaps heat_maps = HeatMaps::kDrawnByScript);

// The script and the style of every page, from web/; empty if the program was built without Node.
std::string_view web_script();
// The same without heat maps; a fifteenth smaller once compressed, which cells of notebooks need.
std::string_view web_basic_script();
std::string_view web_style();

}  // namespace trainyard::report

// What a page shows, as a report: one file that needs no server.
#pragma once

#include <string>

#include "base/json.h"

namespace trainyard::ui {

// The page of {"title", "lead", "blocks": […]}, whose blocks are {"heading": TEXT}, {"text": TEXT},
// {"code": TEXT}, {"table": {"columns": [{"name", "number"}], "rows": [[TEXT, …], …]}}, {"chart":
// {"kind": "line" or "scatter", "title", "caption", "x", "y": {"name", "log"}, "series": [{"name",
// "origin", "points": [[x, y], …]}]}} or {"picture": {"png": base64, "caption"}}. Throws Error for
// anything else.
std::string saved_view(const Json& view);

}  // namespace trainyard::ui

// Files of a run that a page may show.
#pragma once

#include <string>

#include "http/http.h"
#include "ui/run_index.h"

namespace trainyard::ui {

// A page that others have made: it runs its scripts and may ask nothing of this server.
serve::HttpResponse in_sandbox(std::string page);

// report.html in a sandbox, pictures and texts of the run's own folder, by name; the end of a long
// text. Throws RequestError for others.
serve::HttpResponse run_file(const Run& run, const std::string& name);

// Who computed, exchanged and waited when: the longest events of trace.json, or else the last steps
// of several workers; null where there is neither.
Json timeline_of(const Run& run);

}  // namespace trainyard::ui

// What a search found: a table of its trials, their settings side by side, and the best again.
#pragma once

#include <filesystem>

#include "report/document.h"
#include "studies/search/search.h"

namespace trainyard::cli {

report::Document search_document(const recipes::SearchResult& result,
                                 const std::filesystem::path& folder);

}  // namespace trainyard::cli

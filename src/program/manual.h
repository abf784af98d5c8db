// Manual pages: one of the program and one of each command.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace trainyard::cli {

// trainyard.1 and trainyard-COMMAND.1, from description(), into a folder that is made if need be.
// They say no date, so that the same program writes the same pages.
void write_manual(const Json& description, const std::filesystem::path& folder);

// Text as it stands in a page: nothing in it is taken for a request or an escape.
std::string roff_text(const std::string& text);

}  // namespace trainyard::cli

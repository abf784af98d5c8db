// What there is: labs, what one runs, and the questions of the course.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "program/lab/choices.h"
#include "report/document.h"

namespace trainyard::lab {

// Those built in, in order.
std::vector<Lab> all_labs();

// All labs with their titles; loading checks them too.
report::Document list_document();

// Settings and commands of one, and which of these are done.
report::Document show_document(const Lab& lab, const Choices& choices,
                               const std::filesystem::path& directory);

// Every question of the course whose id begins with `prefix`, with the labs and sections that
// answer it. Throws Error if there is none.
report::Document course_list_document(const std::string& prefix);

// Where the part of docs/labs.md begins that labs_page() gives: the questions of the course, and of
// every lab its question, sections and settings. It has no results, which could become stale.
inline constexpr std::string_view kPageMarker =
    "<!-- Made of the labs by `trainyard lab list --page docs/labs.md`. -->";
std::string labs_page();

}  // namespace trainyard::lab

// A job in the formats of platforms.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/jobs/description/draft.h"
#include "cluster/jobs/formats/format.h"

namespace trainyard::jobs {

// The formats that `names` lists: ids, or "all". Throws Error with the nearest names.
std::vector<const Format*> formats_of(std::span<const std::string> names);

// Throws Error at the field of the job that the platform cannot satisfy, or that it would refuse.
Rendering render(const Job& job, const Format& format);

// How to submit, watch and stop it, what was changed and what could not be expressed; Markdown.
std::string guide_of(const Rendering& rendering);

// Writes the files and guides of all renderings into `folder`; returns the paths.
std::vector<std::string> write_renderings(std::span<const Rendering> renderings,
                                          const std::string& folder);

}  // namespace trainyard::jobs

// Documents about jobs: renderings, findings, plans, comparisons, platforms.
#pragma once

#include <span>
#include <string>

#include "cluster/jobs/compare.h"
#include "cluster/jobs/job_file.h"
#include "cluster/jobs/overview.h"
#include "cluster/jobs/plan.h"
#include "report/document.h"

namespace trainyard::report {

// `paths`: the files that were written; empty: the files are shown.
Document rendering_document(std::span<const jobs::Rendering> renderings,
                            std::span<const std::string> paths,
                            std::span<const std::string> warnings);
Document check_document(const std::string& file, const jobs::CheckResult& result);
Document import_document(const jobs::Job& job);
Document plan_document(const jobs::Job& job, const jobs::Plan& plan);
Document compare_document(const jobs::Job& job, std::span<const jobs::Rendering> renderings,
                          std::span<const jobs::ComparedRow> rows);
// `only`: ids of platforms; empty: all.
Document platforms_document(std::span<const std::string> only);

}  // namespace trainyard::report

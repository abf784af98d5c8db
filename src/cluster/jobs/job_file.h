// Files of jobs of any kind, recognized by what they hold.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "cluster/jobs/formats/format.h"

namespace trainyard::jobs {

struct JobFile {
  std::string text;
  std::shared_ptr<const YamlDocument> document;
  const Format* format = nullptr;  // null: job.yaml

  std::string_view kind() const { return format == nullptr ? "job.yaml" : format->id; }
};

// `kind` is a platform, "job" or empty for what it looks like. Throws Error if the file cannot be
// read or is nothing that is known.
JobFile open_job_file(const std::string& path, const std::string& kind = "");
JobFile parse_job_file(std::string text, const std::string& origin, const std::string& kind = "");

struct CheckResult {
  std::string kind;
  std::vector<Finding> findings;

  bool ok() const;  // no errors
};

// Everything that is wrong with the file, or may be.
CheckResult check_job_file(const JobFile& file);

// The job that the file describes. Throws Error with file, line and field.
Job import_job_file(const JobFile& file);

}  // namespace trainyard::jobs

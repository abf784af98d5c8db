// Jobs for tests.
#pragma once

#include <string>

#include "cluster/jobs/description/job.h"
#include "cluster/jobs/embedded.h"

namespace trainyard::jobs {

inline Job job_of(const std::string& text) {
  std::vector<std::string> warnings;
  return read_job(text, "job.yaml", warnings);
}

// The commented example of `jobs new`.
inline Job example() {
  return job_of(std::string(embedded_file("example.yaml")));
}

}  // namespace trainyard::jobs

// A platform's job format: how a job is written, checked beyond its schema, and read back.
#pragma once

#include <span>
#include <string_view>

#include "cluster/jobs/description/draft.h"
#include "cluster/jobs/description/job.h"
#include "cluster/jobs/description/schema.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::jobs {

struct Format {
  std::string_view id;       // as --to takes it
  std::string_view title;    // "Amazon SageMaker"
  std::string_view options;  // its section under `platforms`
  // The schema in catalog/jobs for a file of this format.
  std::string_view (*schema)(const Json& root);
  // Throws Error at the field of the job that the platform cannot satisfy.
  void (*render)(Draft& draft);
  // What a schema cannot say.
  void (*check)(const YamlView& root, Findings& findings);
  // The job that a file describes; throws Error with file, line and field.
  Job (*import)(const YamlView& root);
  // Whether a file of unknown kind is one of these.
  bool (*recognize)(const Json& root);
};

std::span<const Format* const> all_formats();
// Throws Error with the nearest names.
const Format& find_format(std::string_view id);

}  // namespace trainyard::jobs

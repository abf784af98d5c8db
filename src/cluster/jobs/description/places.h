// Where data lies, and how a command line speaks of it before a platform is chosen.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/jobs/description/job.h"

namespace trainyard::jobs {

// "s3://bucket/a/b": scheme s3, host bucket, path a/b. A plain path has no scheme or host.
struct Uri {
  std::string scheme;
  std::string host;
  std::string path;
};
Uri parse_uri(std::string_view text);

// The URI of an input, output or of "checkpoints" for a platform: its own under
// platforms.P.uris, or the job's. Throws Error for a name under uris that the job does not have.
std::string uri_for(const Job& job, std::string_view platform, const std::string& name,
                    const std::string& uri);

// What stands where a platform knows a place: its path in the container, or a variable.
struct PlacePath {
  std::string placeholder;  // "{inputs.train}"
  std::string shown;        // "/opt/ml/input/data/train"
};

// All placeholders of the job, each as `shown` says (kind: inputs, outputs or checkpoints). The
// last argument of `shown` is the URI for the platform.
using Shown = std::function<std::string(std::string_view kind, const DataPlace& place)>;
std::vector<PlacePath> known_places(const Job& job, std::string_view platform, const Shown& shown);

// Words with placeholders replaced; throws Error for a placeholder that the job has no place for.
std::vector<std::string> filled(const Job& job, const std::vector<std::string>& words,
                                const std::vector<PlacePath>& places);
// The other way round: what is shown becomes a placeholder again.
std::vector<std::string> emptied(const std::vector<std::string>& words,
                                 const std::vector<PlacePath>& places);

// The command of a job that starts again: `resume`, or what trainyard train needs for it; empty if
// there is none but the command itself.
std::vector<std::string> resume_command(const Job& job);

}  // namespace trainyard::jobs

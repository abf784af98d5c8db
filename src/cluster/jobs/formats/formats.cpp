// The table of formats.
#include "base/error.h"
#include "base/text.h"
#include "cluster/jobs/formats/format.h"

namespace trainyard::jobs {

extern const Format kSageMaker;
extern const Format kVertex;
extern const Format kAzureMl;
extern const Format kIbm;
extern const Format kMpiJob;
extern const Format kPyTorchJob;
extern const Format kTrainJob;
extern const Format kSlurm;
extern const Format kSkyPilot;

std::span<const Format* const> all_formats() {
  static constexpr const Format* kFormats[] = {&kSageMaker, &kVertex, &kAzureMl,
                                               &kIbm,       &kMpiJob, &kPyTorchJob,
                                               &kTrainJob,  &kSlurm,  &kSkyPilot};
  return kFormats;
}

const Format& find_format(std::string_view id) {
  std::vector<std::string> names;
  for (const Format* format : all_formats()) {
    if (format->id == id) return *format;
    names.emplace_back(format->id);
  }
  throw_error("there is no platform '{}'.{} Platforms: {}", id, did_you_mean(id, names),
              join(names, ", "));
}

}  // namespace trainyard::jobs

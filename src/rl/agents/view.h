// What `trainyard rl` prints.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/image.h"
#include "report/document.h"
#include "rl/agents/bench.h"
#include "rl/agents/play.h"
#include "rl/agents/run.h"
#include "rl/env/recording.h"

namespace trainyard::cli {

report::Document environments_document();
// Data: {files: [{file, environment, steps, mismatches, worst}], mismatches}.
report::Document recordings_document(std::span<const rl::RecordingCheck> checks);

struct SeedRun {
  int64_t seed = 0;
  std::string directory;
  rl::RunResult result;
};
// Of one seed or several, whose evaluations get a band.
report::Document training_document(const rl::RlConfig& config, std::span<const SeedRun> runs);
report::Document evaluation_document(const rl::RlConfig& config, const rl::Evaluation& result);
report::Document episode_document(const rl::RlConfig& config, const rl::PlayedEpisode& episode,
                                  const std::string& file, const data::Image& sheet);
// How transitions with these errors are replayed, proportionally and by rank. Throws Error for too
// many errors and Failure for one that is not finite.
report::Document priorities_document(std::span<const double> errors, double alpha, double beta);
report::Document bench_document(const rl::RlConfig& config, const rl::BenchResult& result);

}  // namespace trainyard::cli

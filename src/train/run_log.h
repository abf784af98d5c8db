// What every way of training has in common: where the run stands, when it ends, what it writes
// down.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "base/utilization.h"
#include "runs/checkpoint.h"
#include "runs/events.h"
#include "runs/metrics.h"
#include "runs/run_directory.h"
#include "train/reports.h"
#include "train/train_config.h"

namespace trainyard::train {

// One per rank. The rank that leads has a run directory and writes; the others only count. Used in
// this order: restore(), begin(), epochs while goes_on(), result(). Not thread-safe.
class RunLog {
 public:
  // `hash` is that of the settings that decide the numbers. `directory` is null on ranks that do
  // not lead; everything given outlives the log.
  RunLog(const TrainConfig& config, std::string hash, const runs::RunDirectory* directory,
         const TrainHooks& hooks);

  bool leads() const { return directory_ != nullptr; }
  const TrainHooks& hooks() const { return hooks_; }
  runs::CheckpointInfo& info() { return info_; }
  const runs::CheckpointInfo& info() const { return info_; }

  // The latest checkpoint, if there is one: info() is then its, and the caller takes its tensors,
  // which are exactly `types`. Throws Error for a checkpoint of another run.
  std::optional<runs::Checkpoint> restore(std::span<const runs::NamedType> types);
  // Opens the files where the run stands, and starts the clock.
  void begin();

  bool goes_on() const;
  bool out_of_steps() const { return config_.max_steps > 0 && info_.step >= config_.max_steps; }
  // Somebody wants to stop before the end.
  void interrupt() { result_.interrupted = true; }
  // Since the run began, resumed parts added up.
  double seconds() const { return seconds_before_ + watch_.seconds(); }

  // On the rank that leads.
  // A line of metrics.jsonl; what was sampled since the last goes to utilization.jsonl.
  void write_line(const Json& line);
  runs::MetricsWriter& metrics() { return *metrics_; }
  runs::EventWriter& events() { return *events_; }

  using States = std::function<std::vector<runs::StateTensor>()>;
  // Writes a checkpoint; does nothing on ranks that do not lead.
  void save(const States& states, bool best);
  // Decides whether the epoch is the best and whether the target is reached, writes its line, saves
  // a checkpoint (info() counts the epoch from then on) and calls the hook.
  void end_epoch(EpochReport report, const States& states);

  TrainResult result();
  // The checkpoint whose weights the run's network gets; none: those it ends with.
  std::optional<std::filesystem::path> exported_checkpoint() const;
  // What the network of the run says of itself: what the hooks bring, and which weights it has.
  std::map<std::string, std::string> metadata() const;

 private:
  bool out_of_patience() const;
  bool note_best(const Evaluation& test);
  void write_epoch(const EpochReport& report);
  void write_histograms(int64_t step, const States& states);

  const TrainConfig& config_;
  const runs::RunDirectory* directory_;
  const TrainHooks& hooks_;
  runs::CheckpointInfo info_;
  std::optional<runs::CheckpointFolder> checkpoints_;
  std::optional<runs::MetricsWriter> metrics_;
  std::optional<runs::MetricsWriter> utilization_;
  std::optional<runs::EventWriter> events_;
  double seconds_before_ = 0;
  Stopwatch watch_;
  std::optional<UtilizationSampler> sampler_;
  TrainResult result_;
};

}  // namespace trainyard::train

// runs/<name>/: the folder that a run leaves behind, and the way back into it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace trainyard::runs {

// A name for a run that is given none, model-data-date-time, which no other process gets: an empty
// folder under `root`, which a run of this name then takes. It is removed with this object if none
// did.
class ReservedName {
 public:
  ReservedName(const std::filesystem::path& root, std::string_view model, std::string_view data);
  ~ReservedName();
  ReservedName(const ReservedName&) = delete;
  ReservedName& operator=(const ReservedName&) = delete;

  std::string name() const { return path_.filename().string(); }

 private:
  std::filesystem::path path_;
};

// Throws Error if runs or studies of this name would lie elsewhere than in their folder.
void require_plain_name(std::string_view name);

// One process at a time holds a run directory, as long as this object lives; nothing is left in the
// folder by that.
class RunDirectory {
 public:
  // A folder <root>/<name>, new or empty, with machine.json in it. An empty name becomes
  // model-data-date-time. Throws Error if there is such a run already, Failure if the folder cannot
  // be made.
  static RunDirectory create(const std::filesystem::path& root, std::string_view name,
                             std::string_view model, std::string_view data);
  // An existing one: a path, or a name under `root`. Throws Error with the nearest names if there
  // is none, and if another process is writing it.
  static RunDirectory resume(const std::filesystem::path& root, std::string_view name_or_path);

  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  // Samples of what machine and process were busy with; as metrics.jsonl, but by the clock.
  std::filesystem::path utilization() const { return path_ / "utilization.jsonl"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

 private:
  explicit RunDirectory(std::filesystem::path path);

  std::filesystem::path path_;
  int fd_ = -1;
};

// " Did you mean …?" among the runs beside a folder that is none; nothing if none is near.
std::string did_you_mean_run(const std::filesystem::path& missing);

}  // namespace trainyard::runs

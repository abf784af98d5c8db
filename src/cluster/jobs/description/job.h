// A training job without a platform: what job.yaml says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace trainyard {
class YamlDocument;
}

namespace trainyard::jobs {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// An input or output of the job.
struct DataPlace {
  std::string name;
  std::string uri;
  std::string mode = {};  // mount, download, stream, upload; empty: as the platform likes
};

// The accelerator of a job whose file does not say which one.
constexpr std::string_view kAnyAccelerator = "gpu";

enum class Launcher : uint8_t { kNone, kMpi, kTorch };
std::string_view launcher_name(Launcher launcher);

struct Workload {
  std::string model;
  int64_t batch = 0;  // of all processes together
  double epochs = 0;
  int64_t images = 0;
  std::string precision = "fp32";
};

struct Job {
  std::string name;
  std::string description = {};
  std::string image = {};
  std::string code = {};
  // May hold {inputs.NAME}, {outputs.NAME} and {checkpoints}.
  std::vector<std::string> command = {};
  std::vector<std::string> resume = {};
  Pairs environment = {};
  Pairs secrets = {};  // variable, reference
  std::vector<DataPlace> inputs = {};
  std::vector<DataPlace> outputs = {};
  std::string checkpoints = {};
  std::string accelerator = {};
  int64_t count = 0;
  int64_t cpus = 0;
  int64_t memory_gib = 0;
  int64_t disk_gib = 0;
  int64_t nodes = 1;
  int64_t processes_per_node = 1;
  Launcher launcher = Launcher::kNone;
  int64_t time_limit_s = 0;  // 0: none
  bool spot = false;
  int64_t retries = 0;
  Pairs tags = {};
  Pairs metrics = {};  // name, regular expression
  std::optional<Workload> workload = {};
  Json platforms = Json::object();
  // What it was read from; null for a job that was put together.
  std::shared_ptr<const YamlDocument> source = {};

  int64_t processes() const { return nodes * processes_per_node; }
  // A setting of `platform`, or `fallback`.
  std::string option(std::string_view platform, std::string_view key,
                     std::string_view fallback = "") const;
  int64_t number_option(std::string_view platform, std::string_view key, int64_t fallback) const;
  // The image that `platform` shall use.
  std::string image_for(std::string_view platform) const;
  // Throws Error with file, line and field where the job has them.
  [[noreturn]] void fail(std::string_view field, const std::string& problem) const;
};

// The fields that `job` sets, by the names of job.yaml ("machine.count"); what a renderer has to
// express or to say that it cannot.
std::vector<std::string> set_fields(const Job& job);
// All fields, in the order of job.yaml.
const std::vector<std::string>& all_fields();

// `job.yaml` as a job. Throws Error with file, line and field: unknown keys with the nearest ones,
// anchors, texts that could end a line. `warnings` takes what looks like a secret in plain text,
// and accelerators that the command cannot use.
Job read_job(std::string_view text, const std::string& origin, std::vector<std::string>& warnings);

// Why the accelerators of the job would stand idle; empty if there are none, or if the command may
// use them.
std::string idle_accelerators(const Job& job);

// As job.yaml; read_job gives the same job.
std::string job_yaml(const Job& job);
Json job_json(const Job& job);

// 5400 -> "1h30m", and back. Throws Error for what is no duration.
std::string duration_text(int64_t seconds);
int64_t parse_duration(std::string_view text);

}  // namespace trainyard::jobs

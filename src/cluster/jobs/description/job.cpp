#include "cluster/jobs/description/job.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/yaml.h"

namespace trainyard::jobs {
namespace {

const Json* find_option(const Json& platforms, std::string_view platform, std::string_view key) {
  const Json* options = platforms.find(platform);
  return options == nullptr ? nullptr : options->find(key);
}

}  // namespace

std::string_view launcher_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::kNone:
      return "none";
    case Launcher::kMpi:
      return "mpi";
    case Launcher::kTorch:
      return "torch";
  }
  return "";
}

std::string Job::option(std::string_view platform, std::string_view key,
                        std::string_view fallback) const {
  const Json* value = find_option(platforms, platform, key);
  if (value == nullptr || value->is_null()) return std::string(fallback);
  return value->is_string() ? value->as_string() : value->dump(-1);
}

int64_t Job::number_option(std::string_view platform, std::string_view key,
                           int64_t fallback) const {
  const Json* value = find_option(platforms, platform, key);
  return value != nullptr && value->is_int() ? value->as_int() : fallback;
}

std::string Job::image_for(std::string_view platform) const {
  return option(platform, "image", image);
}

// Points at the line of the file, or of the nearest section around a field that is missing.
void Job::fail(std::string_view field, const std::string& problem) const {
  if (source == nullptr) throw_error("{}: {}", field, problem);
  YamlView view = source->root();
  // As much of the way as the file has.
  for (size_t begin = 0; begin < field.size();) {
    const size_t end = std::min(field.find('.', begin), field.size());
    const std::optional<YamlView> next = view.find(field.substr(begin, end - begin));
    if (!next) break;
    view = *next;
    begin = end + 1;
  }
  if (view.path() == field) view.fail(problem);
  throw_error("{}:{}: field '{}': {}", source->origin(), view.line(), field, problem);
}

// In the order in which tables list them. A rendering has to say, note or decline each that a job
// sets (Draft::take), so that nothing of a description is lost silently.
const std::vector<std::string>& all_fields() {
  static const std::vector<std::string> kFields = {"name",
                                                   "description",
                                                   "image",
                                                   "code",
                                                   "command",
                                                   "resume",
                                                   "environment",
                                                   "secrets",
                                                   "inputs",
                                                   "outputs",
                                                   "checkpoints",
                                                   "machine.accelerator",
                                                   "machine.count",
                                                   "machine.cpus",
                                                   "machine.memory_gib",
                                                   "machine.disk_gib",
                                                   "nodes",
                                                   "processes_per_node",
                                                   "launcher",
                                                   "time_limit",
                                                   "spot",
                                                   "retries",
                                                   "tags",
                                                   "metrics"};
  return kFields;
}

// Defaults do not count as set: a platform that cannot express spot is no worse for a job without.
std::vector<std::string> set_fields(const Job& job) {
  std::vector<std::string> fields = {"name", "command", "nodes"};
  const auto add = [&](bool set, const char* field) {
    if (set) fields.emplace_back(field);
  };
  add(!job.description.empty(), "description");
  add(!job.image.empty(), "image");
  add(!job.code.empty(), "code");
  add(!job.resume.empty(), "resume");
  add(!job.environment.empty(), "environment");
  add(!job.secrets.empty(), "secrets");
  add(!job.inputs.empty(), "inputs");
  add(!job.outputs.empty(), "outputs");
  add(!job.checkpoints.empty(), "checkpoints");
  add(!job.accelerator.empty(), "machine.accelerator");
  add(job.count > 0, "machine.count");
  add(job.cpus > 0, "machine.cpus");
  add(job.memory_gib > 0, "machine.memory_gib");
  add(job.disk_gib > 0, "machine.disk_gib");
  add(job.processes_per_node > 1, "processes_per_node");
  add(job.launcher != Launcher::kNone, "launcher");
  add(job.time_limit_s > 0, "time_limit");
  add(job.spot, "spot");
  add(job.retries > 0, "retries");
  add(!job.tags.empty(), "tags");
  add(!job.metrics.empty(), "metrics");
  return fields;
}

namespace {

// `--device torch:cuda…`, in one word or two.
bool asks_for_gpu(const std::vector<std::string>& command) {
  constexpr std::string_view kFlag = "--device";
  constexpr std::string_view kGpu = "torch:cuda";
  for (size_t i = 0; i < command.size(); ++i) {
    if (!command[i].starts_with(kFlag)) continue;
    const std::string_view rest = std::string_view(command[i]).substr(kFlag.size());
    if (rest.starts_with("=") && rest.substr(1).starts_with(kGpu)) return true;
    if (rest.empty() && i + 1 < command.size() && command[i + 1].starts_with(kGpu)) return true;
  }
  return false;
}

}  // namespace

// Networks of this program run on processors unless they are told otherwise; the exercises with
// vectors use devices.
std::string idle_accelerators(const Job& job) {
  if (job.count == 0) return "";
  const auto ours = [](const std::string& word) {
    return word == "trainyard" || word.ends_with("/trainyard");
  };
  const auto found = std::find_if(job.command.begin(), job.command.end(), ours);
  if (found == job.command.end() || found + 1 == job.command.end()) return "";
  const std::string& action = *(found + 1);
  if (action == "vecadd" || action == "device" || asks_for_gpu(job.command)) return "";
  return fmt::format(
      "'trainyard {}' runs on processors alone unless its device is torch:cuda, so {} {} on each "
      "of {} nodes would be paid for and stand idle; leave out machine.accelerator, or name the "
      "device",
      action, job.count, job.accelerator, job.nodes);
}

std::string duration_text(int64_t seconds) {
  std::string text;
  const auto add = [&](int64_t unit, char letter) {
    if (seconds >= unit) text += fmt::format("{}{}", seconds / unit, letter);
    seconds %= unit;
  };
  add(86400, 'd');
  add(3600, 'h');
  add(60, 'm');
  add(1, 's');
  return text;
}

int64_t parse_duration(std::string_view text) {
  int64_t seconds = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t number = 0;
    const auto [next, problem] = std::from_chars(at, end, number);
    constexpr int64_t kMost = 1'000'000'000;
    TY_REQUIRE(problem == std::errc() && next != end && number < kMost,
               "'{}' is no duration such as 1d12h30m", text);
    const char unit = *next;
    const int64_t length = unit == 'd'   ? 86400
                           : unit == 'h' ? 3600
                           : unit == 'm' ? 60
                           : unit == 's' ? 1
                                         : 0;
    TY_REQUIRE(length > 0, "'{}' is no duration such as 1d12h30m", text);
    seconds += number * length;
    at = next + 1;
  }
  return seconds;
}

}  // namespace trainyard::jobs

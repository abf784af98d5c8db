#include "train/job.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::train {
namespace {

// From the last checkpoint, if the run got so far that it can be resumed.
void prepare_restart(JobRequest& request) {
  if (request.resume.empty()) {
    const std::filesystem::path path = std::filesystem::path(request.root) / request.name;
    if (!std::filesystem::exists(path / "config.yaml")) {
      // The folder may exist and be half of one, so the next attempt takes another.
      request.name += "-again";
      return;
    }
    request.resume = path.string();
  }
  // config.yaml of the run has both by now.
  request.name.clear();
  request.config_file.clear();
  // The batch of the whole stays what it was.
  request.batch_per_worker = 0;
}

}  // namespace

std::vector<std::string> arguments_of(const JobRequest& request) {
  TrainConfig config = request.config;
  std::vector<std::string> words = settings_of(config).arguments(request.given);
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  add("--config", request.config_file);
  add("--runs-dir", request.root);
  add("--name", request.name);
  add("--resume", request.resume);
  if (request.batch_per_worker > 0) {
    add("--batch-per-worker", std::to_string(request.batch_per_worker));
  }
  return words;
}

void check(const RestartPolicy& policy) {
  TY_REQUIRE(policy.restarts >= 0, "--restarts is {}, expected 0 or more", policy.restarts);
  TY_REQUIRE(!policy.elastic || policy.restarts > 0, "--elastic needs --restarts N");
}

int run_restarting(JobRequest& request, const RestartPolicy& policy, const JobHooks& hooks) {
  int64_t& workers = request.config.workers;
  for (int64_t restart = 0;; ++restart) {
    const int code = hooks.start(request);
    if (code == 0 || hooks.stop_requested()) return code;
    if (restart == policy.restarts) {
      throw_failure("the job of {} workers ended with exit code {}", workers, code);
    }
    prepare_restart(request);
    if (policy.elastic && workers > 1) workers -= 1;
    hooks.note(fmt::format("restart {} of {} with {} workers from the last checkpoint", restart + 1,
                           policy.restarts, workers));
  }
}

}  // namespace trainyard::train

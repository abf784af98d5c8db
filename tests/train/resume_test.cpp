// The pieces of a run directory together: a process that is killed at any moment and resumed leaves
// what an uninterrupted one leaves.
#include <chrono>
#include <set>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/random.h"
#include "runs/checkpoint.h"
#include "runs/metrics.h"
#include "runs/run_directory.h"
#include "support/temporary_folder.h"

namespace trainyard::train {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSteps = 120;
constexpr int64_t kStepsPerCheckpoint = 7;

// Stands for training: each step changes every element and depends on all before it.
void run_to_the_end(const fs::path& root) {
  const bool resumed = fs::exists(root / "run" / "config.yaml");
  const runs::RunDirectory run = resumed ? runs::RunDirectory::resume(root, "run")
                                         : runs::RunDirectory::create(root, "run", "net", "none");
  if (!resumed) write_file(run.config(), "{}\n");
  runs::CheckpointFolder checkpoints(run.checkpoints(), 2);
  Tensor weights = Tensor::zeros({DType::kF32, Shape{4096}});
  runs::CheckpointInfo info = {.model = "net", .config_hash = "", .values = {{"sum", 0.0}}};
  if (const auto latest = checkpoints.latest()) {
    const runs::Checkpoint checkpoint(*latest);
    checkpoint.require_fits("net", "", std::vector<runs::NamedType>{{"weights", weights.type()}});
    weights = checkpoint.tensor("weights").clone();
    info = checkpoint.info();
  }
  runs::MetricsWriter metrics(run.metrics(), info.step);
  const std::vector<runs::StateTensor> state = {
      {"weights", weights.type(), [&] { return weights.clone(); }}};
  while (info.step < kSteps) {
    ++info.step;
    for (float& w : weights.values<float>()) w = w * 0.9F + 1.0F / static_cast<float>(info.step);
    info.values["sum"] += static_cast<double>(weights.values<float>()[0]);
    metrics.append(Json::object({{"step", info.step}, {"sum", info.values["sum"]}}));
    if (info.step % kStepsPerCheckpoint == 0 || info.step == kSteps) {
      checkpoints.save(info, state, /*best=*/info.step == kStepsPerCheckpoint);
    }
  }
}

// Whether the process came to its end before its timer killed it.
bool run_and_kill(const fs::path& root, std::chrono::microseconds after) {
  const pid_t child = fork();
  if (child == 0) {
    // The process's own clock, so that a busy machine does not let it run to the end. Nothing
    // handles SIGALRM: it ends the process where it stands.
    const itimerval timer = {.it_interval = {}, .it_value = {0, after.count()}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    try {
      run_to_the_end(root);
    } catch (const std::exception& problem) {
      std::fputs(problem.what(), stderr);
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) != 0);
  return WIFEXITED(status);
}

// The first file that is not one of a run's own, such as a temporary one.
std::string stray_file(const fs::path& folder) {
  const std::set<std::string> known = {"", ".yaml", ".json", ".jsonl", ".safetensors"};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!known.contains(entry.path().extension().string())) return entry.path().string();
  }
  return "";
}

TEST(Resume, KilledAtAnyMomentItEndsLikeAnUninterruptedRun) {
  constexpr uint64_t kSeed = 11;
  constexpr int kLeastKills = 3;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const TemporaryFolder whole("resume_test_whole");
  const auto begin = std::chrono::steady_clock::now();
  run_to_the_end(whole.path());
  const std::chrono::duration<double, std::micro> whole_time =
      std::chrono::steady_clock::now() - begin;
  const TemporaryFolder killed("resume_test_killed");
  const RandomStream random(kSeed);
  // A first kill may come before the run directory is complete; such a run is begun anew. So is one
  // that comes to its end unharmed, since disks are sometimes fast, with less time to live.
  int kills = 0;
  double most = 0.5 * whole_time.count();
  for (uint64_t i = 0; i < 400; ++i) {
    const auto after =
        std::chrono::microseconds(100 + random.below(i, static_cast<uint64_t>(most)));
    if (!run_and_kill(killed.path(), after)) {
      ++kills;
      if (!fs::exists(killed.path() / "run" / "config.yaml")) fs::remove_all(killed.path() / "run");
      continue;
    }
    if (kills >= kLeastKills) break;
    fs::remove_all(killed.path() / "run");
    kills = 0;
    most = std::max(1000.0, most / 2);
  }
  run_to_the_end(killed.path());
  EXPECT_GE(kills, kLeastKills);
  EXPECT_EQ(stray_file(killed.path() / "run"), "");
  for (const char* file :
       {"metrics.jsonl", "checkpoints/latest.safetensors", "checkpoints/best.safetensors"}) {
    EXPECT_EQ(read_file(killed.path() / "run" / file), read_file(whole.path() / "run" / file))
        << file;
  }
}

}  // namespace
}  // namespace trainyard::train

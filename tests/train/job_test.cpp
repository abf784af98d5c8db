#include "train/job.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::train {
namespace {

using Words = std::vector<std::string>;

// A job whose attempts end with these codes; what each was asked.
struct Attempts {
  std::vector<int> codes;
  std::vector<Words> asked = {};
  std::vector<std::string> notes = {};
  bool stop = false;
  std::function<void(const JobRequest&)> before_end = [](const JobRequest&) {};

  JobHooks hooks() {
    JobHooks hooks;
    hooks.start = [this](const JobRequest& request) {
      asked.push_back(arguments_of(request));
      before_end(request);
      return codes.at(asked.size() - 1);
    };
    hooks.stop_requested = [this] { return stop; };
    hooks.note = [this](const std::string& text) { notes.push_back(text); };
    return hooks;
  }
};

JobRequest request_in(const std::filesystem::path& root) {
  JobRequest request;
  request.config.workers = 3;
  request.config.learning_rate = 0.1;
  request.given = {"workers", "learning-rate"};
  request.config_file = "my.yaml";
  request.root = root.string();
  request.name = "run";
  request.batch_per_worker = 16;
  return request;
}

TEST(Job, RestartsFromTheRunWithOneWorkerLess) {
  const TemporaryFolder folder("job");
  JobRequest request = request_in(folder.path());
  Attempts attempts{{137, 137, 0}};
  attempts.before_end = [&](const JobRequest&) {
    std::filesystem::create_directories(folder / "run");
    write_file(folder.path() / "run" / "config.yaml", "model: lenet5\n");
  };
  EXPECT_EQ(run_restarting(request, {.restarts = 2, .elastic = true}, attempts.hooks()), 0);
  const std::string root = folder.path().string();
  ASSERT_EQ(attempts.asked.size(), 3U);
  EXPECT_EQ(attempts.asked[0],
            (Words{"--learning-rate", "0.1", "--workers", "3", "--config", "my.yaml", "--runs-dir",
                   root, "--name", "run", "--batch-per-worker", "16"}));
  EXPECT_EQ(attempts.asked[1], (Words{"--learning-rate", "0.1", "--workers", "2", "--runs-dir",
                                      root, "--resume", root + "/run"}));
  EXPECT_EQ(attempts.asked[2][3], "1");
  EXPECT_EQ(attempts.notes[1], "restart 2 of 2 with 1 workers from the last checkpoint");
}

TEST(Job, StartsAnewWhereThereIsNothingToResume) {
  const TemporaryFolder folder("job");
  JobRequest request = request_in(folder.path());
  Attempts attempts{{1, 0}};
  EXPECT_EQ(run_restarting(request, {.restarts = 1}, attempts.hooks()), 0);
  EXPECT_EQ(request.name, "run-again");
  EXPECT_EQ(request.config_file, "my.yaml");
  EXPECT_EQ(request.config.workers, 3);
  EXPECT_EQ(attempts.asked[1][3], "3");
}

TEST(Job, GivesUpWhenRestartsAreUsedUpOrItIsStopped) {
  const TemporaryFolder folder("job");
  JobRequest request = request_in(folder.path());
  Attempts failing{{9, 9}};
  EXPECT_THROW(run_restarting(request, {.restarts = 1}, failing.hooks()), Failure);
  EXPECT_EQ(failing.asked.size(), 2U);

  Attempts stopped{{1, 0}};
  stopped.stop = true;
  EXPECT_EQ(run_restarting(request, {.restarts = 5}, stopped.hooks()), 1);
  EXPECT_EQ(stopped.asked.size(), 1U);
}

TEST(Job, RefusesPoliciesThatDoNothing) {
  EXPECT_THROW(check(RestartPolicy{.restarts = -1}), Error);
  EXPECT_THROW(check(RestartPolicy{.elastic = true}), Error);
  check(RestartPolicy{.restarts = 1, .elastic = true});
}

}  // namespace
}  // namespace trainyard::train

#include "rl/env/child_environment.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "support/process_ends.h"
#include "support/temporary_folder.h"

namespace trainyard::rl {
namespace {

TEST(ChildEnvironment, APythonProgramIsOne) {
  const auto corridor = make_environment("exec:python3 " TY_EXAMPLES "/rl/corridor.py", 2);
  EXPECT_EQ(corridor->spec().name, "corridor");
  EXPECT_EQ(corridor->spec().time_limit, 50);
  std::vector<float> observations(4);
  corridor->reset(1, observations);
  EXPECT_EQ(observations[1], 1.0F);
  const std::vector<int32_t> right = {1, 1};
  std::vector<Outcome> outcomes(2);
  int steps = 0;
  for (; steps < 20 && !outcomes[0].ended(); ++steps) {
    corridor->step(right, observations, outcomes);
  }
  EXPECT_TRUE(outcomes[0].terminated);
  EXPECT_EQ(outcomes[0].reward, 1.0F);
  EXPECT_EQ(observations[0], 1.0F);
}

// What the message says of a program whose lines these are.
std::string complaint(const std::string& script) {
  const TemporaryFolder folder("child");
  write_file(folder / "game.sh", script);
  try {
    const auto game = start_children("sh " + (folder / "game.sh").string(), 1, 1);
    std::vector<float> observation(1);
    game->reset(1, observation);
    const int32_t action = 0;
    Outcome outcome;
    game->step({&action, 1}, observation, {&outcome, 1});
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing";
}

TEST(ChildEnvironment, SaysWhatIsWrongWithAProgram) {
  const std::string hello = "echo '{\"shape\": [1], \"actions\": 2}'\n";
  const std::string start = hello + "read line\necho '{\"observation\": [0]}'\nread line\n";
  const std::pair<std::string, const char*> cases[] = {
      {"sleep 20", "has been silent for 1 s"},
      {"exit 3", "has ended"},
      {"echo hello", "answers with no JSON object"},
      {"echo hello", "its line: hello"},
      {"echo '{\"shape\": [0], \"actions\": 2}'", "does not describe itself"},
      {hello + "read line\necho '{\"observation\": [0, 1]}'", "no observation of 1 numbers"},
      {hello + "read line\necho '{\"observation\": [null]}'", "not finite"},
      {hello + "read line\necho '{\"observation\": [1e39]}'", "not finite"},
      {start + "echo '{\"observation\": [0], \"reward\": 1e39, \"terminated\": true}'",
       "gives no outcome: the reward is 1e+39"},
      {start + "kill -9 $$", "has ended"},
      {start + "echo '{\"observation\": [0], \"terminated\": true}'", "reward"},
  };
  for (const auto& [script, expected] : cases) {
    EXPECT_NE(complaint(script).find(expected), std::string::npos)
        << script << "\n-> " << complaint(script);
  }
}

TEST(ChildEnvironment, WhatAScriptStartedEndsWithIt) {
  const TemporaryFolder folder("child");
  const std::filesystem::path number = folder / "number";
  write_file(folder / "game.sh", "sleep 60 & echo $! > " + number.string() +
                                     "\necho '{\"shape\": [1], \"actions\": 2}'\nwait");
  start_children("sh " + (folder / "game.sh").string(), 1, 5).reset();
  const pid_t sleeper = std::stoi(read_file(number));
  EXPECT_TRUE(process_ends(sleeper));
}

TEST(ChildEnvironment, AMissingProgramIsAFailure) {
  EXPECT_THROW(make_environment("exec:/nowhere/game", 1), Failure);
  EXPECT_THROW(make_environment("exec:", 1), Error);
}

}  // namespace
}  // namespace trainyard::rl

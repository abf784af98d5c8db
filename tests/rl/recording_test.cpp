#include "rl/env/recording.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "support/temporary_folder.h"

namespace trainyard::rl {
namespace {

const std::filesystem::path kRecordings = std::filesystem::path(TY_RL_DIR) / "recordings";

TEST(Recording, EveryEnvironmentAgrees) {
  const std::vector<RecordingCheck> checks = check_recordings(kRecordings);
  ASSERT_EQ(checks.size(), 11U);
  for (const RecordingCheck& check : checks) {
    EXPECT_EQ(check.mismatches, 0) << check.file << ": " << check.first;
    EXPECT_GT(check.steps, 10) << check.file;
    EXPECT_LE(check.worst, kStateTolerance) << check.file;
  }
}

RecordingCheck check_changed(const char* name, const std::function<void(Json&)>& change) {
  const TemporaryFolder folder("recording");
  Json recording = Json::parse(read_file(kRecordings / name), name);
  Json::Array trajectories = recording.at("trajectories").items();
  change(trajectories[0]);
  recording["trajectories"] = Json(trajectories);
  write_file(folder / name, recording.dump(-1));
  return check_recording(folder / name);
}

Json changed(const Json& list, size_t index, Json value) {
  Json::Array items = list.items();
  items[index] = std::move(value);
  return Json(items);
}

TEST(Recording, NoticesARewardStateOrPictureThatDiffers) {
  const RecordingCheck reward = check_changed("minatar_breakout.json", [](Json& run) {
    run["rewards"] = changed(run.at("rewards"), 3, 1);
  });
  EXPECT_EQ(reward.mismatches, 1);
  EXPECT_NE(reward.first.find("step 3: reward 0, recorded 1"), std::string::npos) << reward.first;
  const RecordingCheck state = check_changed("cartpole_v1.json", [](Json& run) {
    Json::Array numbers = run.at("states").items()[2].items();
    numbers[1] = numbers[1].as_number() + 1e-6;
    run["states"] = changed(run.at("states"), 2, Json(numbers));
  });
  EXPECT_GE(state.mismatches, 2) << "this step, and the next, which starts from here";
  EXPECT_GE(state.worst, 0.9e-6);
  const RecordingCheck picture = check_changed("minatar_freeway.json", [](Json& run) {
    run["on"] = changed(run.at("on"), 7, Json::array());
  });
  EXPECT_EQ(picture.mismatches, 1);
}

TEST(Recording, NoticesOtherDraws) {
  const RecordingCheck check = check_changed("minatar_seaquest.json", [](Json& run) {
    run["draws"] = changed(run.at("draws"), 5, Json::array());
  });
  EXPECT_EQ(check.mismatches, 1);
  EXPECT_NE(check.first.find("where the recording has none"), std::string::npos) << check.first;
}

TEST(Recording, RefusesWhatIsNone) {
  const TemporaryFolder folder("recording");
  EXPECT_THROW(check_recordings(folder.path()), Error);
  EXPECT_THROW(check_recordings(folder / "absent"), Error);
  write_file(folder / "a.json", "{\"env\": \"CartPole-v1\"");
  EXPECT_THROW(check_recordings(folder.path()), Error);
  write_file(folder / "a.json", "{\"env\": \"Tetris\", \"trajectories\": [{\"name\": \"x\"}]}");
  EXPECT_THROW(check_recordings(folder.path()), Error);
}

}  // namespace
}  // namespace trainyard::rl
